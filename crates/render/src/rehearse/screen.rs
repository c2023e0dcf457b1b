//! How much of a rehearsal fits the first screen: the weightiest forecasts show their objects and their command, the others their sentence.

use ketcd_cluster::rehearse::Forecast;
use ketcd_cluster::verify::Weight;

/// The lines of a terminal that nobody made larger, without the one in which the prompt comes back.
pub(super) const SCREEN_LINES: usize = 23;

/// Its columns.
pub(super) const SCREEN_COLUMNS: usize = 80;

/// How much is shown of a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// Nothing: it is counted.
    Counted,
    /// Its sentence.
    Sentence,
    /// The objects, too.
    Objects,
    /// The command, too.
    Command,
    /// Every object and every command, each on a line.
    All,
}

/// The lines that a text takes.
pub(super) fn lines_of(text: &str) -> usize {
    text.chars().count().div_ceil(SCREEN_COLUMNS).max(1)
}

/// Says how much is shown of each forecast where so many lines are taken by something else; `lines` says how many its parts take. Where not all sentences
/// fit, those of low weight are counted, and of medium weight as many as have to be. Those of high weight are shown in any case.
pub(super) fn details(forecasts: &[&Forecast], taken: usize, lines: impl Fn(&Forecast) -> Lines) -> Vec<Detail> {
    let all: Vec<Lines> = forecasts.iter().map(|forecast| lines(forecast)).collect();
    let mut order: Vec<usize> = (0..forecasts.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(forecasts[*at].weight));
    let needed = |shown: usize| {
        // That others are there takes a line.
        let count_line = usize::from(shown < order.len());
        taken + count_line + order[..shown].iter().map(|at| all[*at].sentence).sum::<usize>()
    };
    let above = |weight: Weight| forecasts.iter().filter(|forecast| forecast.weight > weight).count();
    let (high, weighs) = (above(Weight::Medium), above(Weight::Low));
    let shown = if needed(order.len()) <= SCREEN_LINES {
        order.len()
    } else {
        (high..=weighs).rev().find(|shown| needed(*shown) <= SCREEN_LINES).unwrap_or(high.max(weighs.min(1)))
    };
    let mut details = vec![Detail::Counted; forecasts.len()];
    let mut left = SCREEN_LINES.saturating_sub(needed(shown));
    for at in order[..shown].iter().copied() {
        let (objects, command) = (all[at].objects, all[at].command);
        details[at] = if objects + command <= left {
            left -= objects + command;
            Detail::Command
        } else if objects <= left {
            left -= objects;
            Detail::Objects
        } else {
            Detail::Sentence
        };
    }
    details
}

/// The lines that the parts of a forecast take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    /// Its sentence.
    pub sentence: usize,
    /// The first objects; 0 where there are none.
    pub objects: usize,
    /// The first command; 0 where there is none.
    pub command: usize,
}

#[cfg(test)]
mod tests {
    use ketcd_cluster::rehearse::ForecastKind;

    use super::*;

    fn check(weights: &[Weight], taken: usize, wanted: &[Detail]) {
        let forecasts: Vec<Forecast> =
            weights.iter().map(|weight| Forecast::new(ForecastKind::Events, *weight, "it is so", Vec::new())).collect();
        let forecasts: Vec<&Forecast> = forecasts.iter().collect();
        assert_eq!(details(&forecasts, taken, |_| Lines { sentence: 1, objects: 1, command: 1 }), wanted, "{weights:?} {taken}");
    }

    #[test]
    fn the_weightiest_are_shown_with_most() {
        use Detail::{Command, Counted, Objects, Sentence};
        use Weight::{High, Low, Medium};
        check(&[Low, High, Medium], 10, &[Command, Command, Command]);
        check(&[Low, High, Medium], 17, &[Sentence, Command, Objects]);
        check(&[Low, High, Medium], 20, &[Sentence, Sentence, Sentence]);
        check(&[Low, High, Medium], 21, &[Counted, Sentence, Counted]);
        check(&[Low, High, Low, Medium], 20, &[Counted, Sentence, Counted, Sentence]);
        check(&[Medium, High, High], 21, &[Counted, Sentence, Sentence]);
        check(&[High, High, Medium], 99, &[Sentence, Sentence, Counted]);
        check(&[Low], 99, &[Counted]);
        check(&[], 99, &[]);
    }
}

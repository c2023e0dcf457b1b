//! How much of a rehearsal fits the first screen: the weightiest forecasts show their objects and their command, the others their sentence.

use ketcd_cluster::rehearse::Forecast;
use ketcd_cluster::verify::Weight;

/// The lines of a terminal that nobody made larger.
pub(super) const SCREEN_LINES: usize = 24;

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

/// Says how much is shown of each forecast where so many lines are taken by something else. Each is given with its sentence and the number of lines that
/// its command takes.
pub(super) fn details(forecasts: &[&Forecast], taken: usize, lines: impl Fn(&Forecast) -> Lines) -> Vec<Detail> {
    let all: Vec<Lines> = forecasts.iter().map(|forecast| lines(forecast)).collect();
    let sentences = |of: &[Detail]| -> usize {
        of.iter().zip(&all).filter(|(detail, _)| **detail >= Detail::Sentence).map(|(_, lines)| lines.sentence).sum()
    };
    let (mut details, mut taken) = (vec![Detail::Sentence; forecasts.len()], taken);
    if taken + sentences(&details) > SCREEN_LINES {
        // That they are there takes a line.
        taken += 1;
        let is_low = |at: usize| forecasts[at].weight == Weight::Low;
        (0..forecasts.len()).filter(|at| is_low(*at)).for_each(|at| details[at] = Detail::Counted);
    }
    let mut left = SCREEN_LINES.saturating_sub(taken + sentences(&details));
    let mut order: Vec<usize> = (0..forecasts.len()).filter(|at| details[*at] == Detail::Sentence).collect();
    order.sort_by_key(|at| std::cmp::Reverse(forecasts[*at].weight));
    for at in order {
        let (objects, command) = (all[at].objects, all[at].command);
        if objects + command <= left {
            (details[at], left) = (Detail::Command, left - objects - command);
        } else if objects <= left {
            (details[at], left) = (Detail::Objects, left - objects);
        }
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
        check(&[Low, High, Medium], 18, &[Sentence, Command, Objects]);
        check(&[Low, High, Medium], 21, &[Sentence, Sentence, Sentence]);
        check(&[Low, High, Medium], 22, &[Counted, Sentence, Sentence]);
        check(&[High, High, Medium], 99, &[Sentence, Sentence, Sentence]);
    }
}

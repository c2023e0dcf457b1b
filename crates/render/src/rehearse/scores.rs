//! What became of the forecast, as text: what was wrong first, then what was right, then what a running cluster does not show.

use std::collections::BTreeMap;
use std::io;

use ketcd_cluster::rehearse::{Outcome, Scored};

use super::text::RehearsalAmount;
use crate::style::{ADDED, FAINT, REMOVED, STRONG, Style, StyledWrite, WARNING, paint};
use crate::visible::visible;
use crate::words::grouped;
use crate::words::rehearsal::{affected_name, kind_words};

/// How many objects that did not come as forecast are shown on the first screen.
const MAX_WRONG_SHOWN: usize = 20;

/// Writes the forecast as it came; `live` names the running cluster.
///
/// # Errors
/// The stream's.
pub fn write_scores(scored: &[Scored], live: &str, amount: RehearsalAmount, out: &mut dyn StyledWrite) -> io::Result<()> {
    let count = |outcome: Outcome| scored.iter().filter(|one| one.outcome == outcome).count();
    let (right, wrong, hidden) = (count(Outcome::Right), count(Outcome::Wrong), count(Outcome::NotObservable));
    let word = match (wrong, right) {
        (1.., _) => paint(REMOVED, "WRONG"),
        (0, 1..) => paint(ADDED, "RIGHT"),
        (0, 0) => paint(WARNING, "NOT OBSERVABLE"),
    };
    let counts = format!("{} right, {} wrong, {} not observable", grouped(right), grouped(wrong), grouped(hidden));
    writeln!(out, "{word}: {counts} in {}", visible(live))?;
    for outcome in Outcome::ALL {
        let of_outcome: Vec<&Scored> = scored.iter().filter(|one| one.outcome == outcome).collect();
        if amount == RehearsalAmount::All || outcome == Outcome::Wrong {
            write_each(&of_outcome, outcome, if amount == RehearsalAmount::Screen { MAX_WRONG_SHOWN } else { usize::MAX }, out)?;
        } else {
            write_counts(&of_outcome, outcome, out)?;
        }
    }
    Ok(())
}

/// A line for each object.
fn write_each(scored: &[&Scored], outcome: Outcome, shown: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    for (place, one) in scored.iter().take(shown).enumerate() {
        let name = affected_name(&one.affected);
        let name = if name.is_empty() { kind_words(one.kind) } else { format!("{}: {name}", kind_words(one.kind)) };
        line(label(outcome, place), &format!("{}  {}", paint(STRONG, name), visible(&one.evidence)), out)?;
    }
    let more = scored.len().saturating_sub(shown);
    if more > 0 {
        line((outcome, ""), &paint(FAINT, format!("{} more (-o wide shows all)", grouped(more))).to_string(), out)?;
    }
    Ok(())
}

/// A line for each kind of forecast and each reason.
fn write_counts(scored: &[&Scored], outcome: Outcome, out: &mut dyn StyledWrite) -> io::Result<()> {
    let mut counts: BTreeMap<_, (usize, &str)> = BTreeMap::new();
    for one in scored {
        let (count, _) = counts.entry((one.kind, reason(one))).or_insert((0, &one.evidence));
        *count += 1;
    }
    for (place, ((kind, _), (count, evidence))) in counts.iter().enumerate() {
        let text = format!("{} {}  {}", grouped(*count), paint(STRONG, kind_words(*kind)), visible(evidence));
        line(label(outcome, place), &text, out)?;
    }
    Ok(())
}

/// What one line says of several objects: their evidence, unless it names the object.
fn reason(of: &Scored) -> &str {
    if of.evidence.bytes().any(|byte| byte.is_ascii_digit()) { "" } else { &of.evidence }
}

fn label(outcome: Outcome, place: usize) -> (Outcome, &'static str) {
    let word = match outcome {
        Outcome::Wrong => "wrong",
        Outcome::Right => "right",
        Outcome::NotObservable => "not seen",
    };
    (outcome, if place == 0 { word } else { "" })
}

fn line((outcome, label): (Outcome, &str), text: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
    let style: Style = match outcome {
        Outcome::Wrong => REMOVED,
        Outcome::Right => ADDED,
        Outcome::NotObservable => FAINT,
    };
    writeln!(out, "{}{text}", paint(style, format!("{label:<10}")))
}

#[cfg(test)]
mod tests {
    use ketcd_cluster::rehearse::ForecastKind;

    use super::super::made_up::affected;
    use super::*;
    use crate::style::plain;

    fn scored(kind: ForecastKind, name: &str, outcome: Outcome, evidence: &str) -> Scored {
        Scored { kind, affected: affected("Pod", "shop", name), outcome, evidence: evidence.to_owned() }
    }

    #[test]
    fn what_was_wrong_comes_first() {
        let all = [
            scored(ForecastKind::UnknownPods, "web-0", Outcome::Right, "the API has no such pod"),
            scored(ForecastKind::UnknownPods, "web-1", Outcome::Right, "the API has no such pod"),
            scored(ForecastKind::LostObjects, "web-2", Outcome::Wrong, "it is there, with the same uid"),
            scored(ForecastKind::Tokens, "web-3\x1b", Outcome::NotObservable, "only a request shows it"),
        ];
        assert_eq!(
            plain(|out| write_scores(&all, "https://10.0.0.1:2379", RehearsalAmount::Screen, out)),
            "\
WRONG: 2 right, 1 wrong, 1 not observable in https://10.0.0.1:2379
wrong     lost objects: pod/shop/web-2  it is there, with the same uid
right     2 unknown pods  the API has no such pod
not seen  1 tokens  only a request shows it
"
        );
        let wide = plain(|out| write_scores(&all, "live", RehearsalAmount::All, out));
        assert!(wide.contains("not seen  tokens: pod/shop/web-3\\x1b  only a request shows it"), "{wide}");
        let many = vec![all[2].clone(); 2 * MAX_WRONG_SHOWN];
        assert!(plain(|out| write_scores(&many, "live", RehearsalAmount::Screen, out)).ends_with("20 more (-o wide shows all)\n"));
        assert_eq!(plain(|out| write_scores(&many, "live", RehearsalAmount::Forecasts, out)).lines().count(), 1 + 2 * MAX_WRONG_SHOWN);
        assert!(plain(|out| write_scores(&all[..2], "live", RehearsalAmount::Screen, out)).starts_with("RIGHT: 2 right, 0 wrong"));
        assert!(plain(|out| write_scores(&[], "live", RehearsalAmount::Screen, out)).starts_with("NOT OBSERVABLE: 0 right"));
    }
}

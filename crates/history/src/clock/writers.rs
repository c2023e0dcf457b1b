//! The clocks of all who are not the API server: held against its stamps, one writer at a time.

use std::collections::HashMap;
use std::fmt;

use super::stamp::{MICROS_PER_SECOND, Micros, Stamp, StampKind, WriterId};
use super::steps::Steps;

/// With at least this many stamps, the two most extreme ones are not believed on their own.
const MIN_STAMPS_FOR_EXTREMES: usize = 8;

/// The fewest stamps by which a writer's clock is evaluated.
const MIN_STAMPS_FOR_CLOCK: usize = 2;

/// A writer whose clock does not agree with the API server's.
#[derive(Clone, Debug, PartialEq)]
pub struct Skew {
    /// The node or component, for example `node n3`.
    pub writer: String,
    /// How far the clock is ahead of the API server's (behind: negative), in seconds: at least `least`, at most `most`.
    pub least: f64,
    /// See `least`; the two are swapped where the clock is not steady.
    pub most: f64,
    /// How many of its stamps say so.
    pub stamps: usize,
}

impl Skew {
    /// The best single number for the offset, in seconds; positive is ahead.
    pub fn offset(&self) -> f64 {
        (self.least + self.most) / 2.0
    }
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.least.min(self.most), self.least.max(self.most));
        let way = if self.offset() > 0.0 { "ahead of" } else { "behind" };
        let range = if self.offset() > 0.0 { format!("{least:.1} to {most:.1}") } else { format!("{:.1} to {:.1}", -most, -least) };
        write!(
            f,
            "the clock of {} is {:.1} s {way} the API server's ({range} s, by {} of its times)",
            self.writer,
            self.offset().abs(),
            self.stamps
        )
    }
}

/// The offset a clock must have: its stamps less the times at which the reference says they were written.
#[derive(Clone, Debug, Default)]
struct Offsets {
    /// Each at most the offset.
    low: Vec<Micros>,
    /// Each at least the offset.
    high: Vec<Micros>,
}

/// Which writers may be used as evidence.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    skewed: HashMap<WriterId, ()>,
    pub(super) skews: Vec<Skew>,
}

impl Evaluation {
    /// Whether `stamp`, which is not the reference's own, counts: its writer's clock is right, and it does not lie in the future.
    pub(super) fn may_use(&self, stamp: &Stamp, latest: &Steps) -> bool {
        !self.skewed.contains_key(&stamp.writer) && latest.at_or_after(stamp.revision).is_none_or(|latest| stamp.at <= latest)
    }
}

/// Judges every writer by the reference's envelope.
pub(super) fn evaluate(stamps: &[Stamp], names: &[String], earliest: &Steps, latest: &Steps) -> Evaluation {
    let mut offsets: HashMap<WriterId, Offsets> = HashMap::new();
    for stamp in stamps.iter().filter(|stamp| !stamp.is_reference()) {
        let writer = offsets.entry(stamp.writer).or_default();
        if let Some(latest) = latest.at_or_after(stamp.revision) {
            writer.low.push(stamp.at - latest);
        }
        // Who may have tried several times is late without a wrong clock.
        if let (StampKind::Now { .. }, Some(upper), Some(earliest)) = (stamp.kind, stamp.latest(), earliest.at_or_before(stamp.revision)) {
            writer.high.push(upper - earliest);
        }
    }
    let mut evaluation = Evaluation::default();
    for (writer, mut found) in offsets {
        let stamps = found.low.len().max(found.high.len());
        let least = extreme(&mut found.low, |a, b| b.cmp(a));
        let most = extreme(&mut found.high, Ord::cmp);
        let ahead = least.is_some_and(|least| least > 0);
        let behind = most.is_some_and(|most| most < 0);
        if ahead || behind {
            evaluation.skewed.insert(writer, ());
            // One odd time is not trusted, but it does not show a wrong clock either: somebody may have written it by hand.
            if stamps < MIN_STAMPS_FOR_CLOCK {
                continue;
            }
            let (least, most) = (least.or(most).unwrap_or(0), most.or(least).unwrap_or(0));
            let seconds = |micros: Micros| micros as f64 / MICROS_PER_SECOND as f64;
            evaluation.skews.push(Skew { writer: names[writer.0 as usize].clone(), least: seconds(least), most: seconds(most), stamps });
        }
    }
    evaluation.skews.sort_by(|a, b| b.offset().abs().total_cmp(&a.offset().abs()).then_with(|| a.writer.cmp(&b.writer)));
    evaluation
}

/// The most extreme value, or with many the third: a single late or odd write does not make a skew.
fn extreme(values: &mut [Micros], order: impl Fn(&Micros, &Micros) -> std::cmp::Ordering) -> Option<Micros> {
    values.sort_unstable_by(order);
    values.get(if values.len() >= MIN_STAMPS_FOR_EXTREMES { 2 } else { 0 }).copied()
}

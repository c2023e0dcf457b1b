//! The revisions of changes that no answer names: a free one that their time allows.
//!
//! etcd gives every change a revision of its own, in order of time. What is known bounds the rest: a revision that was answered before a request was
//! received is older than what that request made, and one whose request was received after the answer is newer.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// A revision that is known.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The revision.
    pub revision: i64,
    /// When the request that wrote it was received, in microseconds; `None` where that is not known.
    pub from: Option<i64>,
    /// When it was first answered, in microseconds; `None` where that is not known.
    pub to: Option<i64>,
}

/// A change without a revision.
#[derive(Clone, Copy, Debug)]
pub struct Unplaced {
    /// When its request was received, in microseconds.
    pub from: i64,
    /// When its request was answered, in microseconds.
    pub to: i64,
    /// A revision that it came after, by what else is known of its object.
    pub after: i64,
    /// A revision that it came before; `i64::MAX` where none is known.
    pub before: i64,
}

/// Where a change goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The revision.
    pub revision: i64,
    /// The place among the changes of the revision: 0 but where no revision is free.
    pub sub_revision: i64,
}

/// Returns where each change goes. Those that are bounded most go first, so that each has a revision of its own wherever that is possible.
#[must_use]
pub fn place(known: &[Written], unplaced: &[Unplaced]) -> Vec<Placed> {
    let bounds = Bounds::of(known);
    let mut waiting: Vec<(i64, i64, usize)> = unplaced.iter().enumerate().map(|(at, change)| bounds.of_change(change, at)).collect();
    waiting.sort_unstable();
    let mut placed = vec![Placed { revision: 0, sub_revision: 0 }; unplaced.len()];
    let (mut open, mut late) = (BinaryHeap::new(), Vec::new());
    let (mut next, mut slot) = (0, 0);
    while next < waiting.len() || !open.is_empty() {
        if open.is_empty() {
            slot = slot.max(waiting[next].0);
        }
        while bounds.taken.contains(&slot) {
            slot += 1;
        }
        while let Some(&(low, high, at)) = waiting.get(next).filter(|(low, ..)| *low <= slot) {
            // Among those that must be placed as early, the one that was answered first.
            open.push(Reverse((high, unplaced[at].to, at, low)));
            next += 1;
        }
        let Some(Reverse((high, _, at, low))) = open.pop() else { continue };
        if high < slot {
            late.push((low - 1, at));
            continue;
        }
        placed[at].revision = slot;
        slot += 1;
    }
    late.sort_by_key(|&(revision, at)| (revision, unplaced[at].to, at));
    let mut last = (0, 0);
    for (revision, at) in late {
        let revision = revision.max(1);
        let sub_revision = if last.0 == revision { last.1 + 1 } else { 1 };
        last = (revision, sub_revision);
        placed[at] = Placed { revision, sub_revision };
    }
    placed
}

/// What is known of revisions, ascending.
struct Bounds {
    revisions: Vec<i64>,
    taken: HashSet<i64>,
    /// From when on each can have been written; later ones are not earlier.
    low: Vec<i64>,
    /// Until when each was written; earlier ones are not later.
    high: Vec<i64>,
}

impl Bounds {
    fn of(known: &[Written]) -> Self {
        let mut known = known.to_vec();
        known.sort_by_key(|written| written.revision);
        let mut high: Vec<i64> = known.iter().map(|written| written.to.unwrap_or(i64::MAX)).collect();
        for at in (1..high.len()).rev() {
            high[at - 1] = high[at - 1].min(high[at]);
        }
        let mut low: Vec<i64> = Vec::with_capacity(known.len());
        for (written, &high) in known.iter().zip(&high) {
            // A request that changed nothing names a revision of long before.
            let from = written.from.filter(|&from| from <= high).unwrap_or(i64::MIN);
            low.push(from.max(low.last().copied().unwrap_or(i64::MIN)));
        }
        let revisions: Vec<i64> = known.iter().map(|written| written.revision).collect();
        Self { taken: revisions.iter().copied().collect(), revisions, low, high }
    }

    /// The first and the last revision that a change can have, and its place.
    fn of_change(&self, change: &Unplaced, at: usize) -> (i64, i64, usize) {
        let older = self.high.partition_point(|&high| high < change.from);
        let newer = self.low.partition_point(|&low| low <= change.to);
        let low = older.checked_sub(1).map_or(0, |last| self.revisions[last]).max(change.after);
        let high = self.revisions.get(newer).copied().unwrap_or(i64::MAX).min(change.before);
        (low + 1, high - 1, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(revision: i64, from: i64, to: i64) -> Written {
        Written { revision, from: Some(from), to: Some(to) }
    }

    fn unplaced(from: i64, to: i64) -> Unplaced {
        Unplaced { from, to, after: 0, before: i64::MAX }
    }

    #[test]
    fn a_change_gets_the_free_revision_of_its_time() {
        let known = [written(10, 100, 110), written(11, 120, 130), written(14, 200, 210), written(15, 300, 310)];
        let placed =
            |changes: &[Unplaced]| place(&known, changes).iter().map(|placed| (placed.revision, placed.sub_revision)).collect::<Vec<_>>();
        assert_eq!(placed(&[unplaced(140, 150)]), [(12, 0)]);
        assert_eq!(placed(&[unplaced(160, 170), unplaced(140, 150)]), [(13, 0), (12, 0)]);
        // After all that is known.
        assert_eq!(placed(&[unplaced(400, 410), unplaced(420, 430)]), [(16, 0), (17, 0)]);
        // No revision is free between 14 and 15.
        assert_eq!(placed(&[unplaced(220, 230), unplaced(240, 250)]), [(14, 1), (14, 2)]);
        // What is known of its object bounds it too.
        assert_eq!(placed(&[Unplaced { after: 12, ..unplaced(140, 150) }, unplaced(145, 150)]), [(13, 0), (12, 0)]);
    }

    #[test]
    fn a_request_that_changed_nothing_bounds_nothing() {
        // Revision 3 is named by a request of long after.
        let known = [written(3, 500, 510), written(10, 100, 110), written(12, 200, 210)];
        assert_eq!(place(&known, &[unplaced(150, 160)]), [Placed { revision: 11, sub_revision: 0 }]);
    }
}

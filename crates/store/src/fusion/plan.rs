//! Which of several sources are read for which revisions, so that of thousands only those are open that a question needs at a time.

use super::part::{POOL_BYTES, POOL_FILES, Part, PartState};

/// Revisions that are read from the same parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedSpan {
    /// The first.
    pub from: i64,
    /// The last.
    pub to: i64,
    /// The parts, ascending.
    pub parts: Vec<usize>,
}

/// Whether the files that may have something of the revisions from `from` on can all be open at once.
pub(super) fn fits(parts: &[Part], from: i64) -> bool {
    let closed: Vec<u64> = parts.iter().filter(|part| part.newest() >= from).map(closed_bytes).filter(|&bytes| bytes > 0).collect();
    closed.len() <= POOL_FILES || closed.iter().sum::<u64>() <= POOL_BYTES
}

/// Says which parts are read for the revisions from `from` to `to`.
///
/// Where not all files can be open at once, a stretch is read from those that have all of its changes and, where none has, from the first one
/// that begins behind it: what others still have of its time that one has too.
pub(super) fn segments(parts: &[Part], from: i64, to: i64) -> Vec<PlannedSpan> {
    let reaching = |part: &Part, revision: i64| part.newest() >= revision;
    if fits(parts, from) {
        let parts = (0..parts.len()).filter(|&number| reaching(&parts[number], from)).collect();
        return vec![PlannedSpan { from, to, parts }];
    }
    let mut ends: Vec<i64> =
        parts.iter().flat_map(|part| [part.complete_after(), part.newest()]).filter(|end| (from..to).contains(end)).collect();
    ends.push(to);
    ends.sort_unstable();
    ends.dedup();
    let mut segments: Vec<PlannedSpan> = Vec::new();
    let mut begin = from;
    for end in ends {
        let parts = of_stretch(parts, begin, end);
        match segments.last_mut().filter(|last| last.parts == parts) {
            Some(last) => last.to = end,
            None => segments.push(PlannedSpan { from: begin, to: end, parts }),
        }
        begin = end + 1;
    }
    segments
}

/// The parts for a stretch in which no part begins or ends.
fn of_stretch(parts: &[Part], from: i64, to: i64) -> Vec<usize> {
    let mut chosen: Vec<usize> =
        (0..parts.len()).filter(|&number| closed_bytes(&parts[number]) == 0 && parts[number].newest() >= to).collect();
    let mut closed: Vec<usize> =
        (0..parts.len()).filter(|&number| closed_bytes(&parts[number]) > 0 && parts[number].newest() >= to).collect();
    closed
        .sort_by_key(|&number| (parts[number].complete_after() >= from, parts[number].complete_after().max(from), parts[number].newest()));
    let mut bytes = 0;
    for (place, number) in closed.into_iter().enumerate() {
        let is_complete = parts[number].complete_after() < from;
        bytes += closed_bytes(&parts[number]);
        if place > 0 && (!is_complete || (place >= POOL_FILES && bytes > POOL_BYTES)) {
            break;
        }
        chosen.push(number);
        if !is_complete {
            break;
        }
    }
    chosen.sort_unstable();
    chosen
}

/// The bytes of a file that is opened when it is needed.
fn closed_bytes(part: &Part) -> u64 {
    match part.held {
        PartState::Open(_) => 0,
        PartState::Closed { bytes, .. } => bytes.max(1),
    }
}

//! The API server's own stamps: the largest set in which times and revisions ascend together.

use super::stamp::{MICROS_PER_SECOND, Stamp};

/// Below this share of stamps out of order no problem is reported: requests overtake each other across a second's turn.
const USUAL_DISORDER: f64 = 0.02;

/// Marks the reference stamps that belong to the longest run in which time does not go backwards. What is left out (a clock set wrong
/// for a while, an object restored with old times) contradicts the majority.
pub(super) fn chain(stamps: &[Stamp]) -> Vec<bool> {
    let mut tails: Vec<usize> = Vec::new();
    let mut previous = vec![usize::MAX; stamps.len()];
    for (place, stamp) in stamps.iter().enumerate().filter(|(_, stamp)| stamp.is_reference()) {
        let length = tails.partition_point(|&tail| stamps[tail].at <= stamp.at);
        if length > 0 {
            previous[place] = tails[length - 1];
        }
        if length == tails.len() {
            tails.push(place);
        } else {
            tails[length] = place;
        }
    }
    let mut kept = vec![false; stamps.len()];
    let mut next = tails.last().copied().unwrap_or(usize::MAX);
    while next != usize::MAX {
        kept[next] = true;
        next = previous[next];
    }
    kept
}

/// Reports a problem where more than a few stamps are out of order.
pub(super) fn problems(stamps: &[Stamp], chain: &[bool]) -> Vec<String> {
    let reference = stamps.iter().zip(chain).filter(|(stamp, _)| stamp.is_reference());
    let (mut all, mut out, mut kept_at, mut worst) = (0usize, 0usize, None, 0);
    for (stamp, &kept) in reference {
        all += 1;
        if kept {
            kept_at = Some(stamp.at);
        } else if let Some(at) = kept_at.filter(|at| (stamp.at - at).abs() > 2 * MICROS_PER_SECOND) {
            out += 1;
            worst = worst.max((stamp.at - at).abs());
        }
    }
    if out == 0 || (out as f64) < USUAL_DISORDER * all as f64 {
        return Vec::new();
    }
    let seconds = worst / MICROS_PER_SECOND;
    vec![format!(
        "{out} of {all} times set by API servers contradict the others by up to {seconds} s: a clock was set, or the servers' clocks differ"
    )]
}

//! Which changes no request explains though the log would hold it.
//!
//! What a log holds is seen in it: a policy that leaves out a resource, a user or a verb leaves out all of them. So a change is compared with others of
//! its class, of the same resource, the same way of changing and the same manager; and where nearly every change of every resource has its request, the
//! policy leaves out nothing. A stretch without any request is a missing part of the log.

use std::collections::HashMap;

use super::windows::Windows;
use crate::authorship::{Authorship, Unexplained};
use crate::change::{ChangeFacts, Did};
use crate::reader::LogSpan;

/// For each change without request, so many of its class have one.
const EXPLAINED_PER_UNEXPLAINED: usize = 3;

/// The fewest changes in a row without a request that show that a part of the log is missing.
const MIN_GAP_CHANGES: usize = 8;

/// Resources with fewer changes say nothing about a policy.
const MIN_POLICY_CHANGES: usize = 3;

/// Where a policy leaves nothing out, at least this part of the changes of each resource has its request, in percent.
const NEARLY_ALL: usize = 90;

/// How many changes have a request, and how many have none.
#[derive(Clone, Copy, Default)]
struct Tally {
    with: usize,
    without: usize,
}

/// What changes are compared with.
#[derive(PartialEq, Eq, Hash)]
struct Class<'c> {
    group: &'c str,
    resource: &'c str,
    did: Did,
    was_marked: bool,
    marks: bool,
    manager: &'c str,
}

impl<'c> Class<'c> {
    fn of(change: &'c ChangeFacts) -> Self {
        Self {
            group: &change.group,
            resource: &change.resource,
            did: change.did,
            was_marked: change.was_marked,
            marks: change.marks_deletion || change.binds,
            manager: change.stamps.first().map_or("", |stamp| &stamp.manager),
        }
    }
}

/// Returns the changes that no request explains, by their places, and the stretches of revisions whose requests are missing.
pub(super) fn unexplained(
    changes: &[ChangeFacts],
    found: &[Option<Authorship>],
    windows: &Windows,
    (span, holes): (Option<LogSpan>, &[LogSpan]),
) -> (Vec<(usize, Unexplained)>, Vec<(i64, i64)>) {
    let Some(span) = span else { return Default::default() };
    let (from, to) = (span.from.as_microsecond(), span.to.as_microsecond());
    let is_in_time = |at: usize| {
        let (low, high) = windows.of_change(at);
        low >= from && high <= to
    };
    let counted: Vec<usize> = (0..changes.len()).filter(|&at| is_in_time(at) && !changes[at].is_expired).collect();
    let (mut classes, mut resources) = (HashMap::<_, Tally>::new(), HashMap::<_, Tally>::new());
    for &at in &counted {
        let change = &changes[at];
        let add = |tally: &mut Tally| if found[at].is_some() { tally.with += 1 } else { tally.without += 1 };
        add(classes.entry(Class::of(change)).or_default());
        add(resources.entry((&change.group, &change.resource)).or_default());
    }
    let is_whole = resources.values().all(leaves_nothing_out) && resources.values().any(|tally| tally.with >= MIN_POLICY_CHANGES);
    let gaps = gaps(changes, found, &counted, |change| resources[&(&change.group, &change.resource)]);
    let order = counted.clone();
    let told = counted.into_iter().filter(|&at| found[at].is_none()).filter_map(|at| {
        let change = &changes[at];
        let (class, resource) = (classes[&Class::of(change)], resources[&(&change.group, &change.resource)]);
        let is_missing = gaps.iter().any(|(from, to)| (*from..=*to).contains(&change.revision));
        let is_missing = is_missing || is_in_hole(holes, windows.of_change(at));
        let is_held =
            class.with >= EXPLAINED_PER_UNEXPLAINED * class.without || is_whole && class.without <= class.with + MIN_POLICY_CHANGES;
        match change {
            _ if resource.with == 0 && !is_whole => None,
            ChangeFacts { is_same: true, .. } => Some((at, Unexplained::SameBytes)),
            ChangeFacts { is_misplaced: true, .. } => Some((at, Unexplained::Misplaced)),
            _ => (is_held && !is_missing).then_some((at, Unexplained::NoRequest)),
        }
    });
    (in_rows(told.collect(), &order), gaps)
}

/// The fewest changes in a row without a request that are more likely missing from the log than written directly to etcd.
const MIN_UNLOGGED_RUN: usize = 3;

/// Tells changes that stand alone between explained ones from those that stand in a row.
fn in_rows(mut told: Vec<(usize, Unexplained)>, order: &[usize]) -> Vec<(usize, Unexplained)> {
    let place = |at: usize| order.binary_search(&at).unwrap_or_default();
    for row in told.chunk_by_mut(|(one, _), (next, _)| place(*one) + 1 == place(*next)).filter(|row| row.len() >= MIN_UNLOGGED_RUN) {
        row.iter_mut().filter(|(_, why)| *why == Unexplained::NoRequest).for_each(|(_, why)| *why = Unexplained::NoRequests);
    }
    told
}

/// Whether the request of a change may be among those that the log lost. Lines are written when requests are answered, some at once and some later.
fn is_in_hole(holes: &[LogSpan], (low, high): (i64, i64)) -> bool {
    const HOLE_LEAD_MICROS: i64 = 5_000_000;
    const HOLE_TAIL_MICROS: i64 = 1_000_000;
    holes.iter().any(|hole| {
        let (from, to) =
            (hole.from.as_microsecond().saturating_sub(HOLE_LEAD_MICROS), hole.to.as_microsecond().saturating_add(HOLE_TAIL_MICROS));
        high >= from && low <= to
    })
}

/// Whether the changes of a resource show no policy that leaves some of them out.
fn leaves_nothing_out(tally: &Tally) -> bool {
    let all = tally.with + tally.without;
    all < MIN_POLICY_CHANGES || tally.with * 100 >= all * NEARLY_ALL
}

/// The stretches in which no change has a request, of resources that mostly have them.
fn gaps<'c>(
    changes: &'c [ChangeFacts],
    found: &[Option<Authorship>],
    counted: &[usize],
    tally: impl Fn(&'c ChangeFacts) -> Tally,
) -> Vec<(i64, i64)> {
    let (mut gaps, mut run): (Vec<(i64, i64)>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut end = |run: &mut Vec<i64>| {
        if let (true, [first, .., last]) = (run.len() >= MIN_GAP_CHANGES, &run[..]) {
            gaps.push((*first, *last));
        }
        run.clear();
    };
    for &at in counted {
        let Tally { with, without } = tally(&changes[at]);
        match &found[at] {
            Some(_) => end(&mut run),
            None if with > without => run.push(changes[at].revision),
            None => {}
        }
    }
    end(&mut run);
    gaps
}

//! The order of decisions: what the queue, the priorities and the writes say of it.
//!
//! One loop takes pods from the queue (`ScheduleOne`), by priority, then by the time they were queued (PrioritySort). Bindings are written in
//! parallel, so in any order; a refusal is written before the next pod is taken (`handleSchedulingFailure`), unless the gate SchedulerAsyncAPICalls is on.

use std::collections::BTreeMap;

use crate::cluster::PodInfo;
use crate::release::Listing;

use super::ledger::{Decision, Ledger};
use super::neighbours::MAX_SWAP_REVISIONS;
use super::relisted::{RelistedPod, Relisting};

/// An attempt whose place among the decisions is asked for.
pub(crate) struct Subject<'a> {
    /// The pod.
    pub pod: &'a PodInfo,
    /// The revision since which it waits.
    pub queued: i64,
    /// Whether it was never refused or held back before.
    pub fresh: bool,
    /// The takeover since which it waits in a new queue, if it was never refused or held back before.
    pub relisted: Option<i64>,
    /// In which order a new process lists pods.
    pub listing: Listing,
    /// The first revision that shows the attempt.
    pub written: i64,
    /// Whether it was refused.
    pub refused: bool,
    /// Whether the loop stands until a refusal is written.
    pub waits_for_refusals: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before the attempt.
    Before,
    After,
    /// Either: nothing in etcd decides.
    Either,
}

/// The place of an attempt among the decisions.
pub(super) struct AttemptPlace<'a> {
    subject: &'a Subject<'a>,
    /// Refusals that were written before the next pod was taken.
    refusals: Vec<&'a Decision>,
    /// The list that the pod's turn follows, where it is known.
    relisting: Option<Relisting>,
    /// The attempt began after this revision was written.
    pub after: i64,
    /// The attempt had seen its state before this revision was written.
    pub before: i64,
}

impl<'a> AttemptPlace<'a> {
    /// Finds it. `others` are decisions about other pods of the same scheduler, among those of the ledger.
    pub(super) fn of(subject: &'a Subject<'a>, others: &[&'a Decision], ledger: &Ledger) -> Self {
        let refusals = others.iter().filter(|other| subject.waits_for_refusals && other.is_refusal());
        let refusals: Vec<&Decision> = refusals.copied().collect();
        let relisting = Relisting::of(subject, ledger);
        let after = taken_after(subject.turn(), &refusals, relisting.as_ref());
        let mut later: Vec<&Decision> = others.iter().filter(|other| other.fresh && subject.fresh).copied().collect();
        later.retain(|other| other.queued > subject.queued && other.queued < subject.written);
        later.sort_by_key(|other| -other.queued);
        // For each priority, the earliest revision before which pods of it and queued later were decided.
        let mut earliest: BTreeMap<i32, i64> = BTreeMap::new();
        let bound = |earliest: &BTreeMap<i32, i64>, priority: i32, written: i64| {
            earliest.range(..=priority).map(|(_, revision)| *revision).fold(written, i64::min)
        };
        for other in later {
            let priority = other.pod.spec.priority;
            let before = bound(&earliest, priority, other.written);
            earliest.insert(priority, before);
        }
        let before = bound(&earliest, subject.pod.spec.priority, subject.written);
        Self { subject, refusals, relisting, after, before }
    }

    /// When another decision of the same scheduler was made.
    pub(super) fn order(&self, other: &Decision) -> Order {
        let (own, others) = (self.subject.turn(), other.turn());
        let list = self.relisting.as_ref();
        if other.written <= self.after || others.is_ahead(own, list) {
            Order::Before
        } else if other.queued >= self.before || own.is_ahead(others, list) {
            Order::After
        } else if self.subject.refused && self.subject.waits_for_refusals && other.written < self.subject.written
            || others.passes(own, self.after)
        {
            Order::Before
        } else {
            let after = taken_after(others, &self.refusals, list);
            if self.subject.written < after || own.passes(others, after) { Order::After } else { Order::Either }
        }
    }
}

#[derive(Clone, Copy)]
struct QueueTurn<'a> {
    queued: i64,
    priority: i32,
    fresh: bool,
    relisted: Option<i64>,
    listed: RelistedPod<'a>,
}

impl<'a> QueueTurn<'a> {
    fn new(pod: &'a PodInfo, queued: i64, (fresh, relisted): (bool, Option<i64>)) -> Self {
        Self { queued, priority: pod.spec.priority, fresh, relisted, listed: RelistedPod::new(pod, queued) }
    }

    /// Whether the queue held it ahead of another one from the beginning.
    fn is_ahead(&self, other: Self, list: Option<&Relisting>) -> bool {
        let came_first = match (self.relisted, other.relisted) {
            (None, None) => self.fresh && other.fresh && self.queued < other.queued,
            (Some(takeover), None) => other.fresh && other.queued > takeover,
            (None, Some(_)) => false,
            (takeover, others) => takeover == others && list.is_some_and(|list| list.is_first(&self.listed, &other.listed)),
        };
        came_first && self.priority >= other.priority
    }

    /// Whether it came into the queue later than another one, which was taken only after revision `after`, and passed it by its priority.
    fn passes(&self, other: Self, after: i64) -> bool {
        let was_there = match (self.relisted, other.relisted) {
            (None, None) => self.fresh && other.fresh && self.queued < after,
            // The process may not have heard of what was created shortly before it took over.
            (Some(takeover), Some(others)) => takeover == others && self.queued < takeover - MAX_SWAP_REVISIONS,
            _ => false,
        };
        was_there && self.priority > other.priority
    }
}

impl Subject<'_> {
    fn turn(&self) -> QueueTurn<'_> {
        QueueTurn::new(self.pod, self.queued, (self.fresh, self.relisted))
    }
}

impl Decision {
    fn turn(&self) -> QueueTurn<'_> {
        QueueTurn::new(&self.pod, self.queued, (self.fresh, self.relisted))
    }
}

/// The last revision before which a pod cannot have been taken from the queue: it was created then, a new process took over, or one ahead of it was
/// refused.
fn taken_after(turn: QueueTurn, refusals: &[&Decision], list: Option<&Relisting>) -> i64 {
    let ahead = refusals.iter().filter(|other| other.turn().is_ahead(turn, list));
    let queued = turn.relisted.map_or(turn.queued, |takeover| takeover.max(turn.queued));
    ahead.map(|other| other.written).fold(queued, i64::max)
}

impl Ledger {
    /// The last revision before `limit` that shows the loop had gone on to another pod.
    pub(super) fn last_step(&self, subject: &Subject, limit: i64) -> Option<i64> {
        let others = self.since(subject.queued).filter(|decision| decision.pod.uid != subject.pod.uid);
        others.map(|decision| decision.written).filter(|written| *written < limit).max()
    }
}

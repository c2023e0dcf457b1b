//! The order of decisions: what the queue, the priorities and the writes say of it.
//!
//! One loop takes pods from the queue (`ScheduleOne`), by priority, then by the time they were queued (PrioritySort). Bindings are written in
//! parallel, so in any order; a refusal is written before the next pod is taken (`handleSchedulingFailure`), unless the gate SchedulerAsyncAPICalls is on.

use std::collections::BTreeMap;

use crate::cluster::PodInfo;

use super::ledger::{Decision, Ledger};

/// An attempt whose place among the decisions is asked for.
pub(crate) struct Subject<'a> {
    /// The pod.
    pub pod: &'a PodInfo,
    /// The revision since which it waits.
    pub queued: i64,
    /// Whether it was never refused or held back before.
    pub fresh: bool,
    /// The first revision that shows the attempt.
    pub written: i64,
    /// Whether it was refused.
    pub refused: bool,
    /// Whether the loop stands until a refusal is written.
    pub waits_for_refusals: bool,
}

/// When another decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before the attempt.
    Before,
    /// After it.
    After,
    /// Either: nothing in etcd decides.
    Either,
}

/// The place of an attempt among the decisions.
pub(super) struct Place<'a> {
    subject: &'a Subject<'a>,
    /// Refusals that were written before the next pod was taken.
    refusals: Vec<&'a Decision>,
    /// The attempt began after this revision was written.
    pub after: i64,
    /// The attempt had seen its state before this revision was written.
    pub before: i64,
}

impl<'a> Place<'a> {
    /// Finds it. `others` are decisions about other pods of the same scheduler.
    pub(super) fn of(subject: &'a Subject<'a>, others: &[&'a Decision]) -> Self {
        let refusals = others.iter().filter(|other| subject.waits_for_refusals && other.is_refusal());
        let refusals: Vec<&Decision> = refusals.copied().collect();
        let after = taken_after(subject.turn(), &refusals);
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
        Self { subject, refusals, after, before }
    }

    /// When another decision of the same scheduler was made.
    pub(super) fn order(&self, other: &Decision) -> Order {
        let (own, others) = (self.subject.turn(), other.turn());
        if other.written <= self.after || others.is_ahead(own) {
            Order::Before
        } else if other.queued >= self.before || own.is_ahead(others) {
            Order::After
        } else if self.subject.refused && self.subject.waits_for_refusals && other.written < self.subject.written
            || others.passes(own, self.after)
        {
            Order::Before
        } else if own.passes(others, taken_after(others, &self.refusals)) {
            Order::After
        } else {
            Order::Either
        }
    }
}

/// A pod's turn in the queue.
#[derive(Clone, Copy)]
struct Turn {
    queued: i64,
    priority: i32,
    fresh: bool,
}

impl Turn {
    /// Whether the queue held it ahead of another one from the beginning.
    fn is_ahead(self, other: Self) -> bool {
        self.fresh && other.fresh && self.queued < other.queued && self.priority >= other.priority
    }

    /// Whether it came into the queue later than another one, which was taken only after revision `after`, and passed it by its priority.
    fn passes(self, other: Self, after: i64) -> bool {
        self.fresh && other.fresh && self.queued < after && self.priority > other.priority
    }
}

impl Subject<'_> {
    fn turn(&self) -> Turn {
        Turn { queued: self.queued, priority: self.pod.spec.priority, fresh: self.fresh }
    }
}

impl Decision {
    fn turn(&self) -> Turn {
        Turn { queued: self.queued, priority: self.pod.spec.priority, fresh: self.fresh }
    }
}

/// The last revision before which a pod cannot have been taken from the queue: it was created then, or one ahead of it was refused.
fn taken_after(turn: Turn, refusals: &[&Decision]) -> i64 {
    let ahead = refusals.iter().filter(|other| other.turn().is_ahead(turn));
    ahead.map(|other| other.written).fold(turn.queued, i64::max)
}

impl Ledger {
    /// The last revision before `limit` that shows the loop had gone on to another pod.
    pub(super) fn last_step(&self, subject: &Subject, limit: i64) -> Option<i64> {
        let others = self.since(subject.queued).filter(|decision| decision.pod.uid != subject.pod.uid);
        others.map(|decision| decision.written).filter(|written| *written < limit).max()
    }
}

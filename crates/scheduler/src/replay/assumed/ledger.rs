//! Decisions as the history shows them, each with the revisions between which it was made and ended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::cluster::{PodInfo, PodKey};
use crate::replay::restarted::{Concern, RestartedSchedulers};

/// How many decisions are kept.
const KEPT: usize = 8192;

/// How an assumption ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The binding was written.
    Bound,
    /// The pod was refused: if it was assumed, it is forgotten.
    Refused,
    /// The pod was deleted, or it finished.
    Gone,
    /// The scheduler process ended: its cache is lost.
    Lost,
}

/// A decision about a pod.
#[derive(Debug)]
pub(super) struct Decision {
    /// The pod as it waited.
    pub pod: Arc<PodInfo>,
    /// The revision since which it waited: its creation or its last refusal.
    pub queued: i64,
    /// Whether its place in the queue follows from its creation.
    pub fresh: bool,
    /// The first revision that shows the decision.
    pub written: i64,
    /// The node, once it is known.
    pub node: Option<Arc<str>>,
    /// The revision that ended the assumption.
    pub end: Option<(i64, End)>,
}

impl Decision {
    /// The revision that ended it; far away while it is open.
    pub(super) fn ended(&self) -> i64 {
        self.end.map_or(i64::MAX, |(revision, _)| revision)
    }

    /// Whether it refused the pod and never assumed it.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.end, Some((revision, End::Refused)) if revision == self.written)
    }
}

/// The decisions of a history, in the order of the writes that show them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    decisions: VecDeque<Decision>,
    /// Decisions without an end, by their number.
    open: HashMap<PodKey, usize>,
    /// How many decisions are no longer kept.
    dropped: usize,
    /// The revisions at which another scheduler process took over, and whose.
    restarts: Vec<(i64, RestartedSchedulers)>,
}

impl Ledger {
    /// Records the first sign of a decision.
    pub(crate) fn begin(&mut self, pod: Arc<PodInfo>, queued: i64, written: i64, node: Option<Arc<str>>) {
        let key = pod.key();
        if self.open.contains_key(&key) {
            return;
        }
        if self.decisions.len() == KEPT && self.decisions.pop_front().is_some() {
            self.dropped += 1;
        }
        let fresh = self.is_fresh(&pod, queued, written);
        self.open.insert(key, self.dropped + self.decisions.len());
        self.decisions.push_back(Decision { pod, queued, fresh, written, node, end: None });
    }

    /// Records how a decision ended, if one is open.
    pub(crate) fn finish(&mut self, key: &PodKey, revision: i64, end: End, node: Option<Arc<str>>) {
        let Some(number) = self.open.remove(key) else { return };
        let Some(decision) = number.checked_sub(self.dropped).and_then(|at| self.decisions.get_mut(at)) else { return };
        decision.end = Some((revision, end));
        decision.node = node.or(decision.node.take());
    }

    /// Whether a decision about the pod is open and its node known.
    pub(crate) fn is_placed(&self, key: &PodKey) -> bool {
        let number = self.open.get(key).and_then(|number| number.checked_sub(self.dropped));
        number.and_then(|at| self.decisions.get(at)).is_some_and(|decision| decision.node.is_some())
    }

    /// Records that another scheduler process took over: what the one before had assumed is forgotten, and the queue begins anew.
    pub(crate) fn restart(&mut self, revision: i64, schedulers: RestartedSchedulers) {
        let is_lost = |number: usize| {
            let decision = number.checked_sub(self.dropped).and_then(|at| self.decisions.get(at));
            decision.is_some_and(|decision| schedulers.concern(&decision.pod.spec.scheduler_name) == Concern::Certain)
        };
        let lost: Vec<PodKey> = self.open.iter().filter(|(_, number)| is_lost(**number)).map(|(key, _)| key.clone()).collect();
        lost.iter().for_each(|key| self.finish(key, revision, End::Lost, None));
        self.restarts.push((revision, schedulers));
    }

    /// Whether a pod that waited from `queued` to `until` was never refused, held back or queued again: its place in the queue follows from its
    /// creation.
    pub(crate) fn is_fresh(&self, pod: &PodInfo, queued: i64, until: i64) -> bool {
        let is_requeued = |schedulers: &RestartedSchedulers| schedulers.concern(&pod.spec.scheduler_name) != Concern::None;
        let requeued = self.restarts.iter().any(|(restart, of)| *restart > queued && *restart <= until && is_requeued(of));
        pod.scheduled.is_none() && pod.spec.pod_group.is_none() && !requeued
    }

    /// The decisions that did not end before `revision`, in the order of the writes that show them.
    pub(super) fn since(&self, revision: i64) -> impl DoubleEndedIterator<Item = &Decision> {
        self.decisions.iter().filter(move |decision| decision.ended() > revision)
    }
}

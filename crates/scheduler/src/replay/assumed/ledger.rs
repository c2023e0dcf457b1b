//! Decisions as the history shows them, each with the revisions between which it was made and ended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::cluster::{PodInfo, PodKey};
use crate::replay::takeover::{Concern, RestartedSchedulers};

const MAX_DECISIONS_KEPT: usize = 8192;

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
    /// The pod was decided about again: it had been forgotten by then.
    Forgotten,
}

#[derive(Debug)]
pub(super) struct Decision {
    /// The pod as it waited.
    pub pod: Arc<PodInfo>,
    /// The revision since which it waited: its creation or its last refusal.
    pub queued: i64,
    /// Whether its place in the queue follows from its creation.
    pub fresh: bool,
    /// The takeover since which it waited in a new queue, if its place in that one follows from the list of pods.
    pub relisted: Option<i64>,
    /// The first revision that shows the decision.
    pub written: i64,
    /// The node, once it is known.
    pub node: Option<Arc<str>>,
    /// The revision that undid what shows the decision: the pod is forgotten soon after.
    pub undone: Option<i64>,
    /// The revision that ended the assumption.
    pub end: Option<(i64, End)>,
}

impl Decision {
    /// The revision that ended it; far away while it is open.
    pub(super) fn ended(&self) -> i64 {
        self.end.map_or(i64::MAX, |(revision, _)| revision)
    }

    /// The revision since which the pod may have been forgotten, where it was decided about again.
    pub(super) fn forgotten_since(&self) -> Option<i64> {
        match self.end {
            Some((_, End::Forgotten)) => Some(self.undone.unwrap_or(self.written)),
            _ => self.undone,
        }
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
    /// Records a sign of a decision. Where it contradicts the one that is open, that one had been forgotten.
    pub(crate) fn begin(&mut self, pod: Arc<PodInfo>, queued: i64, written: i64, node: Option<Arc<str>>) {
        let key = pod.key();
        let mut queued = (queued, self.is_fresh(&pod, queued, written), self.relisted(&pod, queued, written));
        if let Some(open) = self.open_decision(&key) {
            let is_same = open.undone.is_none() && (open.node.is_none() || open.node == node);
            if node.is_none() || is_same {
                open.node = node.or(open.node.take());
                return;
            }
            queued = (open.undone.unwrap_or(open.written), false, None);
            self.finish(&key, written, End::Forgotten, None);
        }
        if self.decisions.len() == MAX_DECISIONS_KEPT && self.decisions.pop_front().is_some() {
            self.dropped += 1;
        }
        self.open.insert(key, self.dropped + self.decisions.len());
        let (queued, fresh, relisted) = queued;
        self.decisions.push_back(Decision { pod, queued, fresh, relisted, written, node, undone: None, end: None });
    }

    /// Records that what shows a decision was undone.
    pub(crate) fn undo(&mut self, key: &PodKey, revision: i64) {
        if let Some(open) = self.open_decision(key) {
            open.undone.get_or_insert(revision);
        }
    }

    /// Records how a decision ended, if one is open.
    pub(crate) fn finish(&mut self, key: &PodKey, revision: i64, end: End, node: Option<Arc<str>>) {
        if let Some(decision) = self.open_decision(key) {
            decision.end = Some((revision, end));
            decision.node = node.or(decision.node.take());
        }
        self.open.remove(key);
    }

    fn open_decision(&mut self, key: &PodKey) -> Option<&mut Decision> {
        let number = self.open.get(key)?.checked_sub(self.dropped)?;
        self.decisions.get_mut(number)
    }

    /// The last decision about a pod that had been forgotten by `until`: since when it may have been, and the revision that shows it.
    pub(crate) fn forgotten(&self, pod: &PodInfo, until: i64) -> Option<(i64, i64)> {
        let of_pod = self.decisions.iter().rev().filter(|decision| decision.pod.uid == pod.uid);
        let mut ended = of_pod.filter_map(|decision| Some((decision.forgotten_since()?, decision.end?)));
        ended.find_map(|(since, (end, how))| (how == End::Forgotten && end <= until).then_some((since, end)))
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
        is_new(pod) && self.last_restart(pod, queued, until).is_none()
    }

    /// The takeover since which a pod that waited from `queued` to `until`, and was never refused or held back, waited in a new queue.
    pub(crate) fn relisted(&self, pod: &PodInfo, queued: i64, until: i64) -> Option<i64> {
        let (takeover, concern) = self.last_restart(pod, queued, until)?;
        (is_new(pod) && concern == Concern::Certain).then_some(takeover)
    }

    /// The last takeover that concerns a pod, after `since` up to `until`.
    fn last_restart(&self, pod: &PodInfo, since: i64, until: i64) -> Option<(i64, Concern)> {
        let between = self.restarts.iter().rev().filter(|(restart, _)| *restart > since && *restart <= until);
        let mut concerns = between.map(|(restart, of)| (*restart, of.concern(&pod.spec.scheduler_name)));
        concerns.find(|(_, concern)| *concern != Concern::None)
    }

    /// The last takeover up to `until` by another process that certainly decides about a pod.
    pub(crate) fn taken_over(&self, pod: &PodInfo, until: i64) -> i64 {
        let certain =
            |(restart, of): &&(i64, RestartedSchedulers)| *restart <= until && of.concern(&pod.spec.scheduler_name) == Concern::Certain;
        self.restarts.iter().rev().find(certain).map_or(0, |(restart, _)| *restart)
    }

    /// The names of the other pods of a pod's `schedulerName` whose decisions are shown nearest to a revision.
    pub(crate) fn nearest(&self, pod: &PodInfo, revision: i64, count: usize) -> Vec<String> {
        let is_alike = |other: &&Decision| other.pod.spec.scheduler_name == pod.spec.scheduler_name && other.pod.uid != pod.uid;
        let mut found: Vec<&Decision> = self.decisions.iter().filter(is_alike).collect();
        found.sort_by_key(|other| (other.written - revision).abs());
        let mut names: Vec<String> = Vec::new();
        for name in found.into_iter().map(|other| other.pod.full_name()) {
            if names.len() < count && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The decisions that did not end before `revision`, in the order of the writes that show them.
    pub(super) fn since(&self, revision: i64) -> impl DoubleEndedIterator<Item = &Decision> {
        self.decisions.iter().filter(move |decision| decision.ended() > revision)
    }
}

/// Whether a pod was never refused or held back, and is queued by itself.
fn is_new(pod: &PodInfo) -> bool {
    pod.scheduled.is_none() && pod.spec.pod_group.is_none()
}

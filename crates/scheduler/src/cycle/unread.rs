//! What filters cannot know because an object they look up, or count, is there but cannot be read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cluster::unreadable;
use crate::cluster::{Unreadable, WatchedKind};
use crate::framework::{Candidate, Cycle, NodeJudgement, Verdict};

/// What a cycle's filters came upon.
pub(crate) struct Unread {
    /// Whether there is any object that cannot be read; without one nothing is watched.
    any: bool,
    /// Pods that cannot be read but may run on a node.
    pods: Vec<Arc<Unreadable>>,
    /// Which filters, by place, look at pods.
    look_at_pods: Vec<bool>,
    /// By a filter's place the object that leaves it unknown on every node.
    everywhere: Mutex<BTreeMap<usize, Arc<Unreadable>>>,
}

impl Unread {
    /// For the filters of one cycle.
    pub(crate) fn new(cycle: &Cycle) -> Self {
        Self {
            any: cycle.state.has_unreadable(),
            pods: cycle.state.unreadable_pods().filter(|pod| !pod.idle && !is_of(pod, cycle)).cloned().collect(),
            look_at_pods: cycle.profile.filters.iter().map(|entry| entry.plugin.looks_at_pods()).collect(),
            everywhere: Mutex::default(),
        }
    }

    /// What the filter at place `at` says of a node, unless that rests on what cannot be read.
    pub(crate) fn or_unknown(&self, at: usize, candidate: &Candidate, filter: impl FnOnce() -> Verdict) -> Verdict {
        if !self.any {
            return filter();
        }
        let (verdict, met) = unreadable::collect(filter);
        // What is asked of the node's own objects concerns it alone; anything else may be prepared once for all nodes.
        let (own, shared): (Vec<_>, Vec<_>) =
            met.iter().partition(|unread| matches!(unread.key.kind, WatchedKind::CsiNode | WatchedKind::Node));
        let mut everywhere = self.everywhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = shared.first() {
            everywhere.entry(at).or_insert_with(|| (*first).clone());
        }
        if let Some(unread) = everywhere.get(&at).or_else(|| own.first().copied()) {
            return unknown(unread);
        }
        // A pod more can make a node refuse, but not let it pass.
        let pod = self.pods.iter().find(|pod| self.look_at_pods[at] && pod.may_be_on(&candidate.name));
        match pod.filter(|_| verdict == Verdict::Pass) {
            Some(pod) => unknown(pod),
            None => verdict,
        }
    }

    /// Makes unknown on all nodes what a filter came upon only after it had judged some.
    pub(crate) fn spread(&self, nodes: &mut [NodeJudgement]) {
        for (at, unread) in self.everywhere.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            nodes.iter_mut().filter_map(|node| node.verdicts.get_mut(*at)).for_each(|verdict| *verdict = unknown(unread));
        }
    }
}

fn is_of(unread: &Unreadable, cycle: &Cycle) -> bool {
    unread.key.namespace == cycle.pod.namespace && unread.key.name == cycle.pod.name
}

fn unknown(unread: &Unreadable) -> Verdict {
    Verdict::Unknown { missing: unread.to_string().into() }
}

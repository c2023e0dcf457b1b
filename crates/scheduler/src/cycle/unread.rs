//! Filters whose verdict is unknown because an object they look up, or count, exists but cannot be read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cluster::unreadable::Encounters;
use crate::cluster::{Unreadable, WatchedKind};
use crate::framework::{Candidate, Cycle, NodeJudgement, Verdict};

/// The unreadable objects that a cycle's filters encountered.
pub(crate) struct Unread {
    /// Whether the state has an unreadable object at all; without one, lookups are not collected.
    any: bool,
    /// Where lookups report them.
    encounters: Arc<Encounters>,
    /// Unreadable pods that may run on a node.
    pods: Vec<Arc<Unreadable>>,
    /// Which filters, by position, look at pods.
    look_at_pods: Vec<bool>,
    /// By position of a filter: the object that makes its verdict unknown on every node.
    everywhere: Mutex<BTreeMap<usize, Arc<Unreadable>>>,
}

impl Unread {
    /// Prepares for the filters of one cycle.
    pub(crate) fn new(cycle: &Cycle) -> Self {
        Self {
            any: cycle.state.has_unreadable(),
            encounters: cycle.state.encounters(),
            pods: cycle.state.unreadable_pods().filter(|pod| !pod.idle && !is_of(pod, cycle)).cloned().collect(),
            look_at_pods: cycle.profile.filters.iter().map(|entry| entry.plugin.looks_at_pods()).collect(),
            everywhere: Mutex::default(),
        }
    }

    /// Runs the filter at position `at` on a node. The verdict is `Unknown` if it depends on an object that cannot be read.
    pub(crate) fn or_unknown(&self, at: usize, candidate: &Candidate, filter: impl FnOnce() -> Verdict) -> Verdict {
        if !self.any {
            return filter();
        }
        let (verdict, met) = self.encounters.collect(filter);
        // A lookup of the node's own objects concerns that node alone; any other may have been prepared once for all nodes.
        let (own, shared): (Vec<_>, Vec<_>) =
            met.iter().partition(|unread| matches!(unread.key.kind, WatchedKind::CsiNode | WatchedKind::Node));
        let mut everywhere = self.everywhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = shared.first() {
            everywhere.entry(at).or_insert_with(|| (*first).clone());
        }
        if let Some(unread) = everywhere.get(&at).or_else(|| own.first().copied()) {
            return unknown(unread);
        }
        // One more pod can make a node be rejected, but not make it pass.
        let pod = self.pods.iter().find(|pod| self.look_at_pods[at] && pod.may_be_on(&candidate.name));
        match pod.filter(|_| verdict == Verdict::Pass) {
            Some(pod) => unknown(pod),
            None => verdict,
        }
    }

    /// Makes verdicts unknown on all nodes where a filter encountered an unreadable object only after some nodes were evaluated.
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

//! A scheduling cycle: the pod, the snapshot of the cluster it is evaluated against, and the profile that schedules it.
//!
//! Upstream passes these to plugins as arguments, and plugins keep what they computed in a `CycleState`; here a plugin's closures borrow from this
//! one value.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, NodeCounts, NodeInfo, PodInfo};

use super::group::{GroupScope, ListedNodes};
use super::plugin::PreFilterExtensions;
use super::profile::Profile;

/// A pod to schedule, the state to schedule it in (upstream's snapshot, made by `UpdateSnapshot`), and the profile.
pub struct Cycle<'a> {
    /// The pod, without a node.
    pub pod: &'a PodInfo,
    /// The cluster. The pod itself may be in it, without a node.
    pub state: &'a ClusterState,
    /// The profile that schedules it.
    pub profile: &'a Profile,
    /// What the cycle of the pod's group restricts, if it is tried in one.
    pub scope: Option<&'a GroupScope>,
}

impl<'a> Cycle<'a> {
    /// The cycle of a pod on its own.
    pub fn new(pod: &'a PodInfo, state: &'a ClusterState, profile: &'a Profile) -> Self {
        Self { pod, state, profile, scope: None }
    }

    /// The nodes that are evaluated: all of them, or those of the placement.
    pub fn nodes(&self) -> impl Iterator<Item = &'a NodeInfo> {
        let within = self.scope.and_then(|scope| scope.within.as_ref());
        self.state.nodes().filter(move |node| within.is_none_or(|names| names.contains(&node.name)))
    }

    /// The nodes on which a term of other pods counts: in a group's cycle only those listed when the cycle began.
    pub fn listed<'n>(&self, nodes: &'n NodeCounts, list: impl Fn(&ListedNodes) -> &BTreeSet<u32>) -> Cow<'n, NodeCounts> {
        match self.scope.and_then(|scope| scope.listed.as_deref()) {
            None => Cow::Borrowed(nodes),
            Some(listed) => {
                Cow::Owned(nodes.iter().filter(|(node, _)| list(listed).contains(node)).map(|(node, count)| (*node, *count)).collect())
            }
        }
    }

    /// The filter that keeps counts over many nodes, by its position, with its counts.
    pub(crate) fn prefilter_extensions(&self) -> Option<(usize, Box<dyn PreFilterExtensions>)> {
        self.profile.filters.iter().enumerate().find_map(|(at, entry)| Some((at, entry.plugin.prefilter_extensions(self)?)))
    }

    /// Pods nominated to nodes that this pod must leave room for, by node.
    pub fn nominated_pods(&self) -> BTreeMap<Arc<str>, Vec<Arc<PodInfo>>> {
        let mut by_node: BTreeMap<Arc<str>, Vec<Arc<PodInfo>>> = BTreeMap::new();
        // Without priorities the queue is a FIFO, which knows no nominations (`core/scheduling_queue.go` FIFO, default up to 1.10).
        for other in self.state.nominated().filter(|_| self.profile.gates.on("PodPriority")) {
            let itself = other.namespace == self.pod.namespace && other.name == self.pod.name;
            if let Some(node) = other.nominated_node_name.clone().filter(|_| !itself && other.spec.priority >= self.pod.spec.priority) {
                by_node.entry(node).or_default().push(other.clone());
            }
        }
        by_node
    }
}

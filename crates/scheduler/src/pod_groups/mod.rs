//! The pod groups of a state: their hierarchy and their pods.

mod hierarchy;

use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo};
use crate::framework::Cycle;

pub(crate) use hierarchy::{GroupId, Hierarchy, MAX_DEPTH};

/// Returns how many pods of the pod's group were bound when the cycle began.
pub(crate) fn scheduled(cycle: &Cycle) -> usize {
    let on_nodes = || {
        let group = cycle.pod.spec.pod_group.as_deref().map(|name| GroupId::of_pods(&cycle.pod.namespace, name));
        group.map_or(0, |group| placed(cycle.state, &group).count())
    };
    cycle.scope.map_or_else(on_nodes, |scope| scope.scheduled)
}

pub(crate) fn placed<'s>(state: &'s ClusterState, group: &'s GroupId) -> impl Iterator<Item = &'s Arc<PodInfo>> {
    let of = move |pod: &&Arc<PodInfo>| pod.namespace == group.namespace && pod.spec.pod_group.as_ref() == Some(&group.name);
    state.pods().filter(of).filter(|pod| pod.is_on_node())
}

//! Assumed pods (upstream's `assume`, `AssumePod`) whose binding waits for their volumes: the scheduler's cache counts them on their nodes.
//!
//! Before it binds such a pod, VolumeBinding (`PreBind`, `pkg/scheduler/framework/plugins/volumebinding/binder.go`) names the node in an annotation
//! of each claim that is to be provisioned; a rejection written later removes the pod from the node.

use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, PodKey};

use super::own_writes::{SELECTED_NODE, delayed_claims};

/// Returns those of `waiting` that the scheduler assumes on a node, as if they were bound there. Each comes with the revision since which it waits
/// (its creation or its last rejection). `evaluated`, the pod under evaluation, is never among them.
pub(super) fn pods<'a>(waiting: impl Iterator<Item = (&'a PodKey, i64)>, evaluated: &PodInfo, state: &ClusterState) -> Vec<Arc<PodInfo>> {
    let current = waiting.filter_map(|((namespace, name), since)| Some((state.pod(namespace, name)?, since)));
    let open = current.filter(|(pod, _)| pod.node_name.is_none() && !pod.finished && !pod.terminating && pod.uid != evaluated.uid);
    let mut found: Vec<Arc<PodInfo>> = open
        .filter_map(|(pod, since)| Some(Arc::new(PodInfo { node_name: Some(selected_node(pod, since, state)?), ..(**pod).clone() })))
        .collect();
    found.sort_by_key(|pod| pod.key());
    found
}

/// Returns the node that an unbound claim of the pod was annotated with after revision `since`.
fn selected_node(pod: &PodInfo, since: i64, state: &ClusterState) -> Option<Arc<str>> {
    delayed_claims(pod, state).iter().find_map(|name| {
        let claim = state.listers().claims.get(&pod.namespace, name)?;
        let unbound = claim.spec.as_ref().is_none_or(|spec| spec.volume_name.as_deref().unwrap_or_default().is_empty());
        let written: i64 = claim.metadata.resource_version.as_deref()?.parse().ok()?;
        let selected = claim.metadata.annotations.as_ref()?.get(SELECTED_NODE)?;
        (unbound && written > since).then(|| selected.as_str().into())
    })
}

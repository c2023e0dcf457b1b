//! Pods that the scheduler has placed and not bound yet, because it waits for their volumes: its cache counts them on their nodes.
//!
//! Before it binds such a pod, VolumeBinding (`PreBind`, `pkg/scheduler/framework/plugins/volumebinding/binder.go`) names the node in the
//! annotation of each claim that is to be provisioned; a refusal written later takes the pod off again.

use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, PodKey};

use super::own_writes::{SELECTED_NODE, delayed_claims};

/// Those of `waiting`, each with the revision since when it waits (its creation or its last refusal), that the scheduler assumes on a node,
/// as if they were bound there; `judged` is never among them.
pub(super) fn pods<'a>(waiting: impl Iterator<Item = (&'a PodKey, i64)>, judged: &PodInfo, state: &ClusterState) -> Vec<Arc<PodInfo>> {
    let current = waiting.filter_map(|((namespace, name), since)| Some((state.pod(namespace, name)?, since)));
    let open = current.filter(|(pod, _)| pod.node_name.is_none() && !pod.finished && !pod.terminating && pod.uid != judged.uid);
    let mut found: Vec<Arc<PodInfo>> = open
        .filter_map(|(pod, since)| Some(Arc::new(PodInfo { node_name: Some(selected_node(pod, since, state)?), ..(**pod).clone() })))
        .collect();
    found.sort_by_key(|pod| pod.key());
    found
}

/// The node that an unbound claim of the pod was told to be provisioned for, after revision `since`.
fn selected_node(pod: &PodInfo, since: i64, state: &ClusterState) -> Option<Arc<str>> {
    delayed_claims(pod, state).iter().find_map(|name| {
        let claim = state.listers().claims.get(&pod.namespace, name)?;
        let unbound = claim.spec.as_ref().is_none_or(|spec| spec.volume_name.as_deref().unwrap_or_default().is_empty());
        let written: i64 = claim.metadata.resource_version.as_deref()?.parse().ok()?;
        let selected = claim.metadata.annotations.as_ref()?.get(SELECTED_NODE)?;
        (unbound && written > since).then(|| selected.as_str().into())
    })
}

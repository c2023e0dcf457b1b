//! Writes that show a decision before the binding: what PreBind plugins write for a pod that is assumed.
//!
//! VolumeBinding names the node in an annotation of each claim that is to be provisioned, and the claim in each volume it takes
//! (`BindPodVolumes`, `plugins/volumebinding/binder.go`); DynamicResources reserves claims for the pod (`bindClaim`,
//! `plugins/dynamicresources/dynamicresources.go`); since 1.35 (NominatedNodeNameForExpectation) the pod is nominated to its node before all of that.

use std::sync::Arc;

use crate::Release;
use crate::api::core::PersistentVolume;
use crate::api::resource::ResourceClaim;
use crate::cluster::{CachedObject, ClusterState, ObjectChange, PodInfo};
use crate::replay::own_writes::{binds, claims_volume, delayed_claims, reserves, selected_node};
use crate::volumes::VolumeAffinity;

/// Whether a change shows that one of the `waiting` pods was assumed; the pod, and its node if the change names it.
pub(crate) fn shown_by(
    change: &ObjectChange,
    waiting: impl Iterator<Item = Arc<PodInfo>>,
    state: &ClusterState,
    release: Release,
) -> Option<(Arc<PodInfo>, Option<Arc<str>>)> {
    let first = || waiting.filter(|pod| is_written_for(change, pod, state)).min_by_key(|pod| pod.key());
    match (&change.before, &change.after) {
        (Some(CachedObject::PersistentVolumeClaim(before)), Some(CachedObject::PersistentVolumeClaim(after))) => {
            let node = selected_node(after).filter(|_| binds(before, after))?;
            Some((first()?, Some(node)))
        }
        (before, Some(CachedObject::PersistentVolume(volume))) => {
            claim_of(volume).filter(|claim| claim_before(before.as_ref()) != Some(*claim))?;
            Some((first()?, only_node(volume, state, release)))
        }
        (Some(CachedObject::ResourceClaim(before)), Some(CachedObject::ResourceClaim(after))) if reserved(before) != reserved(after) => {
            let pod = first()?;
            let node = pod.nominated_node_name.clone();
            Some((pod, node))
        }
        (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) => {
            let node = after.nominated_node_name.clone().filter(|_| is_expected(before, after))?;
            Some((after.clone(), Some(node)))
        }
        _ => None,
    }
}

/// The pod among the `waiting` ones whose assumption a change undoes: a claim that no longer names its node (a provisioner could not serve it), devices
/// that are no longer reserved for it (`Unreserve`), a nomination that was taken back.
pub(crate) fn undone_by(
    change: &ObjectChange,
    mut waiting: impl Iterator<Item = Arc<PodInfo>>,
    state: &ClusterState,
) -> Option<Arc<PodInfo>> {
    match (&change.before, &change.after) {
        (Some(CachedObject::PersistentVolumeClaim(before)), Some(CachedObject::PersistentVolumeClaim(after))) => {
            selected_node(before).filter(|_| selected_node(after).is_none())?;
            waiting.find(|pod| pod.namespace == change.key.namespace && delayed_claims(pod, state).contains(&change.key.name))
        }
        (Some(CachedObject::ResourceClaim(before)), Some(CachedObject::ResourceClaim(after))) if reserved(before) != reserved(after) => {
            waiting.find(|pod| reserves(before, pod) && !reserves(after, pod))
        }
        (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) if after.nominated_node_name.is_none() => {
            is_expected(before, after).then(|| after.clone())
        }
        _ => None,
    }
}

/// Whether a change binds a volume or reserves devices for a pod that is assumed. The scheduler knows of it when the pod is assumed, before it is
/// written (`AssumePodVolumes`, `inFlightAllocations`).
pub(crate) fn is_written_for(change: &ObjectChange, pod: &PodInfo, state: &ClusterState) -> bool {
    match (&change.before, &change.after) {
        (Some(CachedObject::PersistentVolumeClaim(before)), Some(CachedObject::PersistentVolumeClaim(after))) => {
            let own = || pod.namespace == change.key.namespace && delayed_claims(pod, state).contains(&change.key.name);
            selected_node(after).is_some() && binds(before, after) && own()
        }
        (before, Some(after @ CachedObject::PersistentVolume(_))) => {
            let claims = delayed_claims(pod, state);
            claims_volume(Some(after), pod, &claims) && !claims_volume(before.as_ref(), pod, &claims)
        }
        (Some(CachedObject::ResourceClaim(before)), Some(CachedObject::ResourceClaim(after))) => {
            reserves(after, pod) && !reserves(before, pod)
        }
        _ => false,
    }
}

/// Whether a pod was nominated because it is about to be bound. A preemptor is nominated by the write that refuses it.
fn is_expected(before: &PodInfo, after: &PodInfo) -> bool {
    let waits = before.uid == after.uid && before.node_name.is_none() && after.node_name.is_none() && !after.terminating;
    waits && before.scheduled.is_none() && after.scheduled.is_none() && before.nominated_node_name != after.nominated_node_name
}

/// The claim that a volume is taken for, by namespace and name.
fn claim_of(volume: &PersistentVolume) -> Option<(&str, &str)> {
    let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
    Some((claim.namespace.as_deref()?, claim.name.as_deref()?))
}

fn claim_before(volume: Option<&CachedObject>) -> Option<(&str, &str)> {
    if let Some(CachedObject::PersistentVolume(volume)) = volume { claim_of(volume) } else { None }
}

/// Whom a claim for devices is reserved for, by uid.
fn reserved(claim: &ResourceClaim) -> Vec<&str> {
    claim.status.iter().flat_map(|status| status.reserved_for.iter().flatten()).map(|consumer| &*consumer.uid).collect()
}

/// The only node that can reach a volume.
fn only_node(volume: &PersistentVolume, state: &ClusterState, release: Release) -> Option<Arc<str>> {
    let affinity = VolumeAffinity::of(volume, release);
    let mut nodes = state.nodes().filter(|node| affinity.matches(node));
    let node = nodes.next()?;
    nodes.next().is_none().then(|| node.name.clone())
}

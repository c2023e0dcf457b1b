//! The attempt's own writes: volumes and claims bound for the pod, devices reserved, victims deleted.

use std::sync::Arc;

use crate::api::core::PersistentVolumeClaim;
use crate::api::resource::ResourceClaim;
use crate::cluster::{CachedObject, ClusterState, ObjectChange, ObjectKey, PodInfo, VolumeSource, WatchedKind};

use crate::explanation::{Attempt, AttemptOutcome};

/// The annotation that names a claim's node.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Returns the objects the attempt changed, each as it was before the first of those changes. `changes` are those since the attempt began, oldest
/// first.
pub(crate) fn before_own_writes<'a>(
    pod: &PodInfo,
    nominated: Option<&str>,
    changes: impl Iterator<Item = &'a ObjectChange>,
    state: &ClusterState,
) -> Vec<(ObjectKey, Option<CachedObject>)> {
    let claims = delayed_claims(pod, state);
    let mut found: Vec<(ObjectKey, Option<CachedObject>)> = Vec::new();
    for change in changes {
        let own = match change.key.kind {
            WatchedKind::PersistentVolumeClaim => {
                change.key.namespace == pod.namespace && claims.contains(&change.key.name) && change.before.is_some()
            }
            WatchedKind::PersistentVolume => claims_volume(change.after.as_ref(), pod, &claims),
            WatchedKind::ResourceClaim => {
                change.before.is_some() && change.key.namespace == pod.namespace && uses_claim(pod, &change.key.name)
            }
            WatchedKind::Pod => is_victim(change, pod, nominated),
            _ => false,
        };
        if own && !found.iter().any(|(key, _)| *key == change.key) {
            found.push((change.key.clone(), change.before.clone()));
        }
    }
    found
}

/// Returns the revision of the first change that only the attempt itself can have made, if there is one: it cannot have seen later changes.
/// `changes` are those since it began, oldest first, each with its revision.
pub(crate) fn first_own_write(
    attempt: &Attempt,
    nominated: Option<&str>,
    changes: &[(i64, &ObjectChange)],
    state: &ClusterState,
) -> Option<i64> {
    let pod = &attempt.pod;
    let claims = delayed_claims(pod, state);
    let own = |change: &ObjectChange| match (&change.before, &change.after) {
        (Some(CachedObject::PersistentVolumeClaim(before)), Some(CachedObject::PersistentVolumeClaim(after))) => {
            change.key.namespace == pod.namespace && claims.contains(&change.key.name) && binds(before, after)
        }
        (before, Some(CachedObject::PersistentVolume(_))) => {
            claims_volume(change.after.as_ref(), pod, &claims) && !claims_volume(before.as_ref(), pod, &claims)
        }
        (Some(CachedObject::ResourceClaim(before)), Some(CachedObject::ResourceClaim(after))) => {
            reserves(after, pod) && !reserves(before, pod)
        }
        (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) if before.uid == pod.uid => {
            // Since 1.35 (NominatedNodeNameForExpectation) a node is nominated before a binding that has to wait.
            attempt.outcome == AttemptOutcome::Scheduled
                && before.nominated_node_name != after.nominated_node_name
                && after.nominated_node_name == attempt.node
        }
        _ => attempt.outcome == AttemptOutcome::Unschedulable && is_victim(change, pod, nominated),
    };
    changes.iter().find(|(_, change)| own(change)).map(|(revision, _)| *revision)
}

/// Whether a claim was given its node or its volume (`AssumePodVolumes` and `BindPodVolumes`, `plugins/volumebinding/binder.go`).
pub(super) fn binds(before: &PersistentVolumeClaim, after: &PersistentVolumeClaim) -> bool {
    let volume = |claim: &PersistentVolumeClaim| claim.spec.as_ref().and_then(|spec| spec.volume_name.clone());
    selected_node(after).is_some() && selected_node(after) != selected_node(before) || volume(after).is_some() && volume(before).is_none()
}

/// The node that a claim is to be provisioned for.
pub(super) fn selected_node(claim: &PersistentVolumeClaim) -> Option<Arc<str>> {
    claim.metadata.annotations.as_ref()?.get(SELECTED_NODE).map(|node| node.as_str().into())
}

/// Whether a claim for devices is reserved for the pod.
pub(super) fn reserves(claim: &ResourceClaim, pod: &PodInfo) -> bool {
    let consumers = claim.status.iter().flat_map(|status| status.reserved_for.iter().flatten());
    consumers.into_iter().any(|consumer| consumer.uid == *pod.uid)
}

/// The pod's claims with volume binding mode WaitForFirstConsumer: only those does the scheduler bind.
pub(super) fn delayed_claims(pod: &PodInfo, state: &ClusterState) -> Vec<Arc<str>> {
    let names = pod.spec.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSource::Claim(name) => Some(name.clone()),
        VolumeSource::Ephemeral => Some(format!("{}-{}", pod.name, volume.name).into()),
        _ => None,
    });
    let delayed = |name: &Arc<str>| {
        let claim = state.listers().claims.get(&pod.namespace, name);
        let class = claim.and_then(|claim| claim.spec.as_ref()?.storage_class_name.clone());
        let class = class.and_then(|class| state.listers().storage_classes.get("", &class).cloned());
        class.is_some_and(|class| class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"))
    };
    names.filter(delayed).collect()
}

pub(super) fn claims_volume(volume: Option<&CachedObject>, pod: &PodInfo, claims: &[Arc<str>]) -> bool {
    let Some(CachedObject::PersistentVolume(volume)) = volume else { return false };
    let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    claim.is_some_and(|claim| {
        claim.namespace.as_deref() == Some(&*pod.namespace) && claims.iter().any(|name| claim.name.as_deref() == Some(&**name))
    })
}

fn uses_claim(pod: &PodInfo, name: &str) -> bool {
    let direct = pod.spec.resource_claims.iter().filter_map(|(_, claim, _)| claim.as_deref());
    let made = pod.claim_statuses.iter().filter_map(|status| status.claim.as_deref());
    let by_name = |(entry, _, template): &(Arc<str>, Option<Arc<str>>, Option<Arc<str>>)| {
        template.is_some() && name.strip_prefix(&*pod.name).and_then(|rest| rest.strip_prefix('-')) == Some(&**entry)
    };
    direct.chain(made).any(|claim| claim == name) || pod.spec.resource_claims.iter().any(by_name)
}

/// Whether a pod of lower priority on the nominated node was marked for deletion, or deleted.
pub(crate) fn is_victim(change: &ObjectChange, pod: &PodInfo, nominated: Option<&str>) -> bool {
    let Some(CachedObject::Pod(before)) = &change.before else { return false };
    let goes = match &change.after {
        Some(CachedObject::Pod(after)) => after.terminating || after.preempted || after.finished && before.terminating,
        None => true,
        Some(_) => false,
    };
    let there = nominated.is_some() && before.node_name.as_deref() == nominated;
    goes && there && before.spec.priority < pod.spec.priority
}

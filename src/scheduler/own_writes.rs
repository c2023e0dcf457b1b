//! What an attempt itself wrote on its way: volumes and claims bound for the pod, devices, the victims it deleted.

use std::sync::Arc;

use crate::cluster::{Change, ClusterState, ObjectKey, PodInfo, Stored, VolumeSource, Watched};

/// The objects the attempt changed, each as it was before the first of those changes. `changes` are those since the attempt began, oldest first.
pub fn before_own_writes(
    pod: &PodInfo,
    nominated: Option<&str>,
    changes: &[&Change],
    state: &ClusterState,
) -> Vec<(ObjectKey, Option<Stored>)> {
    let claims = delayed_claims(pod, state);
    let mut found: Vec<(ObjectKey, Option<Stored>)> = Vec::new();
    for change in changes {
        let own = match change.key.kind {
            Watched::PersistentVolumeClaim => {
                change.key.namespace == pod.namespace && claims.contains(&change.key.name) && change.before.is_some()
            }
            Watched::PersistentVolume => claims_volume(change.after.as_ref(), pod, &claims),
            Watched::ResourceClaim => change.before.is_some() && change.key.namespace == pod.namespace && uses_claim(pod, &change.key.name),
            Watched::Pod => is_victim(change, pod, nominated),
            _ => false,
        };
        if own && !found.iter().any(|(key, _)| *key == change.key) {
            found.push((change.key.clone(), change.before.clone()));
        }
    }
    found
}

/// The pod's claims that wait for it: only those does the scheduler bind.
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

fn claims_volume(volume: Option<&Stored>, pod: &PodInfo, claims: &[Arc<str>]) -> bool {
    let Some(Stored::PersistentVolume(volume)) = volume else { return false };
    let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    claim.is_some_and(|claim| {
        claim.namespace.as_deref() == Some(&*pod.namespace) && claims.iter().any(|name| claim.name.as_deref() == Some(&**name))
    })
}

fn uses_claim(pod: &PodInfo, name: &str) -> bool {
    let direct = pod.spec.resource_claims.iter().filter_map(|(_, claim, _)| claim.as_deref());
    let made = pod.claim_statuses.iter().filter_map(|status| status.claim.as_deref());
    direct.chain(made).any(|claim| claim == name)
}

/// A pod of less priority on the node the attempt nominated that was told to go, or went.
pub fn is_victim(change: &Change, pod: &PodInfo, nominated: Option<&str>) -> bool {
    let Some(Stored::Pod(before)) = &change.before else { return false };
    let goes = match &change.after {
        Some(Stored::Pod(after)) => after.terminating || after.preempted || after.finished && before.terminating,
        _ => true,
    };
    let there = nominated.is_some() && before.node_name.as_deref() == nominated;
    goes && there && before.spec.priority < pod.spec.priority
}

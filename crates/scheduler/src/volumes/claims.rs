//! The claims behind a pod's volumes: their names, classes, owners, and whether they are bound.

use std::sync::Arc;

use crate::Release;
use crate::api::core::PersistentVolumeClaim;
use crate::api::meta::ObjectMeta;
use crate::cluster::{Amount, ClusterState, PodInfo, VolumeSource};
use crate::framework::{Cycle, Fix, Need, Obstacle, VolumeRequest};
use crate::release::VolumeRules;

pub(crate) struct ClaimRef {
    /// The claim's name.
    pub name: Arc<str>,
    /// Whether it is a generic ephemeral volume, whose claim the pod owns.
    pub ephemeral: bool,
}

/// The claims of a pod's volumes, in their order. Generic ephemeral volumes count where `with_ephemeral`.
pub(crate) fn claim_refs(pod: &PodInfo, with_ephemeral: bool) -> impl Iterator<Item = ClaimRef> {
    pod.spec.volumes.iter().filter_map(move |volume| match &volume.source {
        VolumeSource::Claim(name) => Some(ClaimRef { name: name.clone(), ephemeral: false }),
        VolumeSource::Ephemeral if with_ephemeral => {
            Some(ClaimRef { name: format!("{}-{}", pod.name, volume.name).into(), ephemeral: true })
        }
        _ => None,
    })
}

/// `GetPersistentVolumeClaimClass`: the beta annotation wins over the field; empty if there is none.
pub(crate) fn claim_class(claim: &PersistentVolumeClaim) -> &str {
    let annotation = annotation(&claim.metadata, "volume.beta.kubernetes.io/storage-class");
    annotation.unwrap_or_else(|| spec_class(claim))
}

/// The class that the spec alone names; empty if there is none.
pub(crate) fn spec_class(claim: &PersistentVolumeClaim) -> &str {
    claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()).unwrap_or_default()
}

/// The storage a claim requests, if any.
pub(super) fn storage_request(claim: &PersistentVolumeClaim) -> Option<Amount> {
    let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
    requests.get("storage").and_then(|quantity| Amount::parse(&quantity.0))
}

pub(crate) fn is_controlled_by(metadata: &ObjectMeta, pod: &PodInfo) -> bool {
    let controller = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    controller.is_some_and(|owner| *owner.uid == *pod.uid)
}

/// `ephemeral.VolumeIsForPod`: why the claim of an ephemeral volume is not this pod's, if it is not.
pub(crate) fn owner_problem(claim: &PersistentVolumeClaim, pod: &PodInfo, release: Release) -> Option<String> {
    if is_controlled_by(&claim.metadata, pod) {
        return None;
    }
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    Some(VolumeRules::of(release).claim_of_other_pod(&pod.namespace, name, &pod.name))
}

/// A pod's claims, sorted by what remains to be done for them (`GetPodVolumeClaims`).
#[derive(Default)]
pub(crate) struct PodClaims {
    /// Bound, both ways.
    pub bound: Vec<Arc<PersistentVolumeClaim>>,
    /// Unbound; the scheduler chooses their volumes.
    pub delayed: Vec<Arc<PersistentVolumeClaim>>,
    /// Unbound, and not bound by the scheduler.
    pub immediate: Vec<Arc<PersistentVolumeClaim>>,
}

impl PodClaims {
    /// Sorts the claims; the error is upstream's, for a class without a binding mode.
    pub(crate) fn sort(claims: Vec<Arc<PersistentVolumeClaim>>, state: &ClusterState) -> Result<Self, String> {
        let mut sorted = Self::default();
        for claim in claims {
            let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).filter(|name| !name.is_empty());
            if volume.is_some() && annotation(&claim.metadata, "pv.kubernetes.io/bind-completed").is_some() {
                sorted.bound.push(claim);
            } else if is_delayed(&claim, state)? && volume.is_none() {
                sorted.delayed.push(claim);
            } else {
                sorted.immediate.push(claim);
            }
        }
        Ok(sorted)
    }
}

/// `IsDelayBindingMode`: an unknown class counts as none.
fn is_delayed(claim: &PersistentVolumeClaim, state: &ClusterState) -> Result<bool, String> {
    let name = claim_class(claim);
    let Some(class) = state.listers().storage_classes.get("", name) else { return Ok(false) };
    match class.volume_binding_mode.as_deref() {
        Some(mode) => Ok(mode == "WaitForFirstConsumer"),
        None => Err(format!("VolumeBindingMode not set for StorageClass \"{name}\"")),
    }
}

pub(super) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Returns the needs of the pod's claims that are the same for every node: a claim that is missing, one whose volume is missing, one that is bound
/// immediately.
pub(crate) fn claim_needs(cycle: &Cycle<'_>) -> Vec<Need> {
    let listers = cycle.state.listers();
    let mut needs = Vec::new();
    for of in claim_refs(cycle.pod, cycle.profile.gates.on("GenericEphemeralVolume")) {
        let Some(claim) = listers.claims.get(&cycle.pod.namespace, &of.name) else {
            needs.push(match of.ephemeral {
                true => Need::hopeless(Obstacle::EphemeralClaimMissing { claim: of.name.clone() }),
                false => Need::one_of(vec![Fix::CreateClaim { claim: of.name.clone() }]),
            });
            continue;
        };
        let bound = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).filter(|volume| !volume.is_empty());
        if claim.metadata.deletion_timestamp.is_some() {
            needs.push(Need::hopeless(Obstacle::ClaimDeleted { claim: of.name.clone() }));
        } else if let Some(bound) = bound.filter(|bound| listers.volumes.get("", bound).is_none()) {
            needs.push(Need::one_of(vec![Fix::RestoreVolume { claim: of.name.clone(), volume: bound.into() }]));
        } else if bound.is_none() && !waits(claim, cycle) {
            needs.push(Need::one_of(vec![Fix::BindClaim(VolumeRequest::of(claim))]));
        }
    }
    needs
}

/// Whether a claim's class delays its binding until its pod is scheduled (WaitForFirstConsumer).
fn waits(claim: &PersistentVolumeClaim, cycle: &Cycle<'_>) -> bool {
    let class = cycle.state.listers().storage_classes.get("", claim_class(claim));
    class.and_then(|class| class.volume_binding_mode.as_deref()) == Some("WaitForFirstConsumer")
}

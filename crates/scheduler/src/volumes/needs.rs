//! The needs of a pod's claims that are the same for every node.

use crate::api::core::PersistentVolumeClaim;
use crate::framework::{Cycle, Fix, Need, Obstacle, VolumeRequest};

use super::{claim_class, claim_refs};

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

//! CheckVolumeBinding: VolumeBinding's rule, with claims sorted and errors worded as up to 1.17.
//! Source: `pkg/controller/volume/persistentvolume/scheduler_binder.go` (1.9–1.14), `pkg/controller/volume/scheduling` (1.15–1.17).

use std::sync::Arc;

use ketcd_kube::api::core::v1::PersistentVolumeClaim;

use super::Prepared;
use crate::legacy::reason::in_words_of;
use crate::volumes::{Binder, PodClaims, claim_refs};
use crate::{Cycle, Refusal, Verdict};

/// CheckVolumeBinding.
pub(super) fn check_volume_binding<'a>(cycle: &'a Cycle<'a>) -> Prepared<'a> {
    if !cycle.profile.gates.on("VolumeScheduling") {
        return Box::new(|_| Ok(Vec::new()));
    }
    let binder = match claims(cycle) {
        Ok(claims) => Binder::new(claims, cycle),
        Err(error) => return Box::new(move |_| Err(Verdict::Error(error.clone()))),
    };
    let release = cycle.profile.release.0;
    Box::new(move |candidate| {
        let found = binder.find(candidate.node).map_err(Verdict::Error)?;
        if found.reasons.is_empty() {
            return Ok(Vec::new());
        }
        let reasons = found.reasons.into_iter().map(|reason| in_words_of(reason, release)).collect();
        Err(Verdict::Reject(Refusal { reasons, preemption_may_help: false }))
    })
}

/// The pod's claims sorted (`getPodVolumes`), or the error that ends the attempt.
fn claims(cycle: &Cycle) -> Result<PodClaims, String> {
    let release = cycle.profile.release.0;
    let mut sorted = PodClaims::default();
    for reference in claim_refs(cycle.pod, false) {
        let namespace = &cycle.pod.namespace;
        let Some(claim) = cycle.state.listers().claims.get(namespace, &reference.name) else {
            return Err(missing(namespace, &reference.name, release));
        };
        if release <= 11 && has_volume(claim) {
            // A claim that names its volume counts as bound, whether or not the volume agrees.
            sorted.bound.push(claim.clone());
            continue;
        }
        let mut one = match PodClaims::sort(vec![claim.clone()], cycle.state) {
            // 1.10 takes a class without a binding mode for one that binds at once.
            Err(_) if release == 10 => PodClaims { immediate: vec![claim.clone()], ..PodClaims::default() },
            sorted => sorted?,
        };
        if release <= 13 && is_on_its_way(claim, release) && cycle.profile.gates.on("DynamicProvisioningScheduling") {
            one.immediate.append(&mut one.delayed);
        }
        sorted.bound.append(&mut one.bound);
        sorted.delayed.append(&mut one.delayed);
        sorted.immediate.append(&mut one.immediate);
    }
    match sorted.immediate.is_empty() {
        true => Ok(sorted),
        false if release <= 10 => Err("pod has unbound PersistentVolumeClaims".to_owned()),
        false => Err("pod has unbound immediate PersistentVolumeClaims".to_owned()),
    }
}

fn has_volume(claim: &Arc<PersistentVolumeClaim>) -> bool {
    claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).is_some_and(|name| !name.is_empty())
}

/// Whether a node was selected to provision the claim on: up to 1.13 the scheduler then waits for the claim to be bound.
fn is_on_its_way(claim: &Arc<PersistentVolumeClaim>, release: u16) -> bool {
    let key = if release <= 11 { "volume.alpha.kubernetes.io/selected-node" } else { "volume.kubernetes.io/selected-node" };
    claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(key))
}

/// Upstream looks claims up in its own cache from 1.11 on.
fn missing(namespace: &str, name: &str, release: u16) -> String {
    match release {
        ..=10 => format!("error getting PVC \"{name}\": persistentvolumeclaim \"{name}\" not found"),
        11..=12 => format!("error getting PVC \"{name}\": could not find v1.PersistentVolumeClaim \"{namespace}/{name}\""),
        _ => format!("error getting PVC \"{namespace}/{name}\": could not find v1.PersistentVolumeClaim \"{namespace}/{name}\""),
    }
}

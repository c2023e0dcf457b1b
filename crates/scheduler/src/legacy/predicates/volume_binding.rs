//! CheckVolumeBinding: VolumeBinding's rule, with claims sorted and errors worded as up to 1.17.
//! Source: `pkg/controller/volume/persistentvolume/scheduler_binder.go` (1.9–1.14), `pkg/controller/volume/scheduling` (1.15–1.17).

use std::sync::Arc;

use crate::api::core::PersistentVolumeClaim;
use crate::legacy::reason::PreparedPredicate;
use crate::legacy::reason::in_words_of;
use crate::release::{Rules, VolumeRules};
use crate::volumes::{Binder, PodClaims, claim_refs};
use crate::{Cycle, Refusal, Verdict};

/// CheckVolumeBinding.
pub(super) fn check_volume_binding<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    if !cycle.profile.gates.on("VolumeScheduling") {
        return Box::new(|_| Ok(Vec::new()));
    }
    let binder = match claims(cycle) {
        Ok(claims) => Binder::new(claims, cycle),
        Err(error) => return Box::new(move |_| Err(Verdict::Error(error.clone()))),
    };
    let rules = &cycle.profile.rules;
    Box::new(move |candidate| {
        let found = binder.find(candidate.node).map_err(Verdict::Error)?;
        if found.reasons.is_empty() {
            return Ok(Vec::new());
        }
        let reasons = found.reasons.into_iter().map(|reason| in_words_of(reason, rules)).collect();
        Err(Verdict::Reject(Refusal { reasons, preemption_may_help: false }))
    })
}

/// The pod's claims sorted (`getPodVolumes`), or the error that ends the attempt.
fn claims(cycle: &Cycle) -> Result<PodClaims, String> {
    let rules = &cycle.profile.rules;
    let awaits_selected_node =
        !VolumeRules::of(rules.release).reads_selected_node() && cycle.profile.gates.on("DynamicProvisioningScheduling");
    let mut sorted = PodClaims::default();
    for reference in claim_refs(cycle.pod, false) {
        let namespace = &cycle.pod.namespace;
        let Some(claim) = cycle.state.listers().claims.get(namespace, &reference.name) else {
            return Err(rules.binder_misses_claim(namespace, &reference.name));
        };
        if rules.claims_that_name_volume_are_bound() && has_volume(claim) {
            sorted.bound.push(claim.clone());
            continue;
        }
        let mut one = match PodClaims::sort(vec![claim.clone()], cycle.state) {
            Err(_) if rules.class_without_mode_binds_at_once() => PodClaims { immediate: vec![claim.clone()], ..PodClaims::default() },
            sorted => sorted?,
        };
        if awaits_selected_node && is_on_its_way(claim, rules) {
            one.immediate.append(&mut one.delayed);
        }
        sorted.bound.append(&mut one.bound);
        sorted.delayed.append(&mut one.delayed);
        sorted.immediate.append(&mut one.immediate);
    }
    match sorted.immediate.is_empty() {
        true => Ok(sorted),
        false => Err(rules.unbound_claims_error().to_owned()),
    }
}

fn has_volume(claim: &Arc<PersistentVolumeClaim>) -> bool {
    claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).is_some_and(|name| !name.is_empty())
}

/// Whether a node was selected to provision the claim on.
fn is_on_its_way(claim: &Arc<PersistentVolumeClaim>, rules: &Rules) -> bool {
    claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(rules.selected_node_annotation()))
}

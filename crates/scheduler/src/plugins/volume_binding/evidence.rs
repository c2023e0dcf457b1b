//! What is compared about a pod's claims: where their volumes are reached, and what unbound ones would get.

use std::sync::Arc;

use crate::api::core::{PersistentVolume, PersistentVolumeClaim};
use crate::cluster::{Interner, NodeTerm};
use crate::framework::{Fact, VolumeCheck, WantedLabel};
use crate::volumes::{Binder, PodClaims, VolumeAffinity, claim_class, claim_refs, volume_class};
use crate::{Candidate, Cycle};

use super::claims;

/// Each claim: where its volume is reached, or which it would get.
pub(super) fn binding(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let claims: Vec<Arc<PersistentVolumeClaim>> = if cycle.profile.rules.volume_binding_checks_claims() {
        match claims(cycle) {
            Ok(claims) => claims,
            Err(reason) => return vec![Fact::upstream(reason)],
        }
    } else {
        let listers = cycle.state.listers();
        claim_refs(cycle.pod, false).filter_map(|of| listers.claims.get(&cycle.pod.namespace, &of.name).cloned()).collect()
    };
    if claims.is_empty() {
        return vec![Fact::holding(VolumeCheck::NoClaims)];
    }
    let Ok(sorted) = PodClaims::sort(claims, cycle.state) else { return Vec::new() };
    let (bound, mut waiting) = (sorted.bound.clone(), sorted.delayed.clone());
    let unbound = |claim: &Arc<PersistentVolumeClaim>| Fact::refusing(VolumeCheck::UnboundImmediate { claim: name(claim).into() });
    let mut facts: Vec<Fact> = sorted.immediate.iter().map(unbound).collect();
    let binder = Binder::new(sorted, cycle);
    facts.extend(binder.reach(node).zip(&bound).map(|((volume, reached), claim)| of_bound(name(claim), volume, reached, cycle, node)));
    let Ok(found) = binder.find(node) else { return facts };
    for (claim, volume) in &found.bindings {
        let volume = volume.metadata.name.as_deref().unwrap_or_default().into();
        facts.push(Fact::holding(VolumeCheck::WouldBind { claim: name(claim).into(), volume }));
    }
    for (claim, _) in &found.provisions {
        facts.push(Fact::holding(VolumeCheck::WouldProvision { claim: name(claim).into(), class: claim_class(claim).into() }));
    }
    let served = |claim: &Arc<PersistentVolumeClaim>| {
        found
            .bindings
            .iter()
            .map(|(claim, _)| claim)
            .chain(found.provisions.iter().map(|(claim, _)| claim))
            .any(|other| name(other) == name(claim))
    };
    waiting.retain(|claim| !served(claim));
    facts.extend(waiting.iter().map(|claim| Fact::refusing(unserved(claim, cycle, node))));
    facts
}

/// Whether a bound claim's volume is reached; `None`: it does not exist.
fn of_bound(claim: &str, volume: &str, reached: Option<bool>, cycle: &Cycle, node: &Candidate) -> Fact {
    let found = cycle.state.listers().volumes.get("", volume);
    let (claim, volume) = (claim.into(), volume.into());
    match reached {
        None => Fact::refusing(VolumeCheck::VolumeMissing { claim, volume }),
        Some(reached) => {
            let affinity = found.map(|found| deciding(found, node, reached)).unwrap_or_default();
            Fact::new(reached, VolumeCheck::Bound { claim, volume, affinity })
        }
    }
}

/// The labels of a volume's affinity that decide: all of the term that holds, or of each the first that does not.
fn deciding(volume: &PersistentVolume, node: &Candidate, reached: bool) -> Vec<WantedLabel> {
    let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    let mut interner = Interner::default();
    let terms: Vec<NodeTerm> =
        required.iter().flat_map(|required| &required.node_selector_terms).map(|term| NodeTerm::compile(term, &mut interner)).collect();
    let labels = |term: &NodeTerm| -> Vec<WantedLabel> {
        term.expressions.iter().map(|wanted| WantedLabel::of(wanted.clone(), &node.labels)).collect()
    };
    match reached {
        true => terms.iter().find(|term| term.matches("", &node.labels)).map(labels).unwrap_or_default(),
        false => terms.iter().filter_map(|term| labels(term).into_iter().find(|label| !label.holds())).collect(),
    }
}

/// What an unbound claim wants and why there is none: how many volumes its class has, how many are free, how many of these the node reaches.
fn unserved(claim: &PersistentVolumeClaim, cycle: &Cycle, node: &Candidate) -> VolumeCheck {
    let name = name(claim).into();
    let selected = claim.metadata.annotations.as_ref().and_then(|all| all.get("volume.kubernetes.io/selected-node"));
    if let Some(selected) = selected.filter(|selected| **selected != *node.name) {
        return VolumeCheck::ProvisionedElsewhere { claim: name, node: selected.as_str().into() };
    }
    let class = claim_class(claim);
    let spec = claim.spec.as_ref();
    let size = spec.and_then(|spec| Some(spec.resources.as_ref()?.requests.as_ref()?.get("storage")?.0.as_str()));
    let volumes = || cycle.state.listers().volumes.iter().filter(|volume| volume_class(volume) == class);
    let is_free = |volume: &&Arc<PersistentVolume>| {
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        phase == Some("Available") && volume.spec.as_ref().is_none_or(|spec| spec.claim_ref.is_none())
    };
    let provisioner = cycle.state.listers().storage_classes.get("", class).map(|class| class.provisioner.as_str());
    VolumeCheck::NoVolume {
        claim: name,
        size: size.map(Into::into),
        class: class.into(),
        volumes: volumes().count(),
        free: volumes().filter(is_free).count(),
        reached: volumes().filter(is_free).filter(|volume| VolumeAffinity::of(volume, cycle.profile.release).matches(node)).count(),
        provisioner: provisioner.filter(|provisioner| !matches!(*provisioner, "" | "kubernetes.io/no-provisioner")).map(Into::into),
    }
}

fn name(claim: &PersistentVolumeClaim) -> &str {
    claim.metadata.name.as_deref().unwrap_or_default()
}

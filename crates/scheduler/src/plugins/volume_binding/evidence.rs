//! What is compared about a pod's claims: where their volumes are reached, and what unbound ones would get.

use std::sync::Arc;

use crate::cluster::{Interner, NodeSelectorTerm};
use crate::framework::Fact;
use crate::plugins::node_affinity::label_fact;
use crate::volumes::{Binder, PodClaims, VolumeAffinity, claim_class, claim_refs, volume_class};
use crate::{Candidate, Cycle};
use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use super::claims;

/// Each claim: where its volume is reached, or which it would get.
pub(super) fn binding(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let claims: Vec<Arc<PersistentVolumeClaim>> = if cycle.profile.rules.volume_binding_checks_claims() {
        match claims(cycle) {
            Ok(claims) => claims,
            Err(reason) => return vec![Fact::refusing(reason)],
        }
    } else {
        let listers = cycle.state.listers();
        claim_refs(cycle.pod, false).filter_map(|of| listers.claims.get(&cycle.pod.namespace, &of.name).cloned()).collect()
    };
    if claims.is_empty() {
        return vec![Fact::holding("the pod has no claims".to_owned())];
    }
    let Ok(sorted) = PodClaims::sort(claims, cycle.state) else { return Vec::new() };
    let names = |claims: &[Arc<PersistentVolumeClaim>]| claims.iter().map(|claim| name(claim).to_owned()).collect::<Vec<_>>();
    let (bound, mut waiting) = (names(&sorted.bound), sorted.delayed.clone());
    let unbound = sorted
        .immediate
        .iter()
        .map(|claim| Fact::refusing(format!("claim {} is not bound, and its class does not wait for a node", name(claim))));
    let mut facts: Vec<Fact> = unbound.collect();
    let binder = Binder::new(sorted, cycle);
    facts.extend(binder.reach(node).zip(&bound).map(|((volume, reached), claim)| {
        let about = |text: &str| format!("claim {claim}: its volume {volume} {text}");
        match reached {
            None => Fact::refusing(about("does not exist")),
            Some(reached) => {
                let volume = cycle.state.listers().volumes.get("", volume);
                Fact::new(reached, about(&volume.map(|volume| reach(volume, node, reached)).unwrap_or_default()))
            }
        }
    }));
    let Ok(found) = binder.find(node) else { return facts };
    for (claim, volume) in &found.bindings {
        facts.push(Fact::holding(format!(
            "claim {} would get volume {}",
            name(claim),
            volume.metadata.name.as_deref().unwrap_or_default()
        )));
    }
    for (claim, _) in &found.provisions {
        facts.push(Fact::holding(format!("claim {} would be provisioned by class {}", name(claim), claim_class(claim))));
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
    facts.extend(waiting.iter().map(|claim| Fact::refusing(wanting(claim, cycle, node))));
    facts
}

/// Where a volume is reached, and what the node is.
fn reach(volume: &PersistentVolume, node: &Candidate, reached: bool) -> String {
    let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    let mut interner = Interner::default();
    let terms: Vec<NodeSelectorTerm> = required
        .iter()
        .flat_map(|required| &required.node_selector_terms)
        .map(|term| NodeSelectorTerm::compile(term, &mut interner))
        .collect();
    let told = |term: &NodeSelectorTerm| -> Vec<Fact> {
        term.expressions.iter().map(|wanted| label_fact(wanted, node.labels.get(&wanted.key))).collect()
    };
    let decisive = match reached {
        true => terms
            .iter()
            .find(|term| term.matches("", &node.labels))
            .map(|term| told(term).into_iter().map(|fact| fact.text).collect::<Vec<_>>()),
        false => Some(terms.iter().filter_map(|term| told(term).into_iter().find(|fact| !fact.holds)).map(|fact| fact.text).collect()),
    };
    match (reached, decisive.filter(|texts| !texts.is_empty())) {
        (true, None) => "is reached from everywhere".to_owned(),
        (true, Some(texts)) => format!("is reached from here: {}", texts.join(", ")),
        (false, None) => "is not reached from here".to_owned(),
        (false, Some(texts)) => format!("is not reached from here: {}", texts.join(", ")),
    }
}

/// What an unbound claim wants and why there is none: how many volumes its class has, how many are free, how many of these the node reaches.
fn wanting(claim: &PersistentVolumeClaim, cycle: &Cycle, node: &Candidate) -> String {
    let selected = claim.metadata.annotations.as_ref().and_then(|all| all.get("volume.kubernetes.io/selected-node"));
    if let Some(selected) = selected.filter(|selected| **selected != *node.name) {
        return format!("claim {} is being provisioned on {selected}", name(claim));
    }
    let class = claim_class(claim);
    let spec = claim.spec.as_ref();
    let size = spec.and_then(|spec| Some(spec.resources.as_ref()?.requests.as_ref()?.get("storage")?.0.as_str()));
    let volumes = || cycle.state.listers().volumes.iter().filter(|volume| volume_class(volume) == class);
    let is_free = |volume: &&Arc<PersistentVolume>| {
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        phase == Some("Available") && volume.spec.as_ref().is_none_or(|spec| spec.claim_ref.is_none())
    };
    let (all, free) = (volumes().count(), volumes().filter(is_free).count());
    let here = volumes().filter(is_free).filter(|volume| VolumeAffinity::of(volume, cycle.profile.release).matches(node)).count();
    let provisioner = cycle.state.listers().storage_classes.get("", class).map(|class| class.provisioner.as_str());
    let provisioner = match provisioner.filter(|provisioner| !matches!(*provisioner, "" | "kubernetes.io/no-provisioner")) {
        Some(provisioner) => format!("; {provisioner} can make none here"),
        None => String::new(),
    };
    let size = size.unwrap_or("any size");
    format!(
        "claim {} wants {size} of class {class:?}: of its {all} volumes {free} are free, {here} of them reached from here{provisioner}",
        name(claim)
    )
}

fn name(claim: &PersistentVolumeClaim) -> &str {
    claim.metadata.name.as_deref().unwrap_or_default()
}

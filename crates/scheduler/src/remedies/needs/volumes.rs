//! Needs that concern volumes and devices: claims without volumes, disks in use, limits, devices that others hold.

use std::sync::Arc;

use crate::cluster::{Claim, Interner, NodeSelectorTerm, VolumeSource};
use crate::dra::driver::LAST;
use crate::plugins::dynamic_resources::is_reachable;
use crate::plugins::volume_restrictions::{conflicts, is_restricted, once_claims, users as users_of};
use crate::plugins::volume_zone;
use crate::remedies::fix::{Fix, name};
use crate::volumes::{Binder, PodClaims, VolumeAffinity, claim_class, claim_refs, volume_class};
use crate::{Candidate, Cycle};
use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use super::node::label;
use super::{Need, deletions, is_protected};

/// So many released volumes, or claims whose devices could be given up, are looked at.
const TRIED: usize = 6;

/// What the pod's claims lack, the same for every node: a claim that is missing, one whose volume is, one that does not wait for its pod.
pub(super) fn of_claims(cycle: &Cycle<'_>) -> Vec<Need> {
    let listers = cycle.state.listers();
    let mut needs = Vec::new();
    for of in claim_refs(cycle.pod, cycle.profile.gates.on("GenericEphemeralVolume")) {
        let Some(claim) = listers.claims.get(&cycle.pod.namespace, &of.name) else {
            needs.push(match of.ephemeral {
                true => Need::hopeless(format!("claim {} is for the ephemeral volume controller to create", of.name)),
                false => Need::one_of(vec![Fix::CreateClaim(cycle.pod.namespace.clone(), of.name.clone())]),
            });
            continue;
        };
        let bound = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).filter(|volume| !volume.is_empty());
        if claim.metadata.deletion_timestamp.is_some() {
            needs.push(Need::hopeless(format!("claim {} is being deleted", of.name)));
        } else if bound.is_some_and(|bound| listers.volumes.get("", bound).is_none()) {
            needs.push(Need::one_of(vec![Fix::RestoreVolume(claim.clone())]));
        } else if bound.is_none() && !waits(claim, cycle) {
            needs.push(Need::one_of(vec![Fix::Bind(claim.clone())]));
        }
    }
    needs
}

/// Whether a claim's class leaves it unbound until its pod has a node.
fn waits(claim: &PersistentVolumeClaim, cycle: &Cycle<'_>) -> bool {
    let class = cycle.state.listers().storage_classes.get("", claim_class(claim));
    class.and_then(|class| class.volume_binding_mode.as_deref()) == Some("WaitForFirstConsumer")
}

/// What the pod's claims lack on a node: bound volumes within its reach, and something for those that wait for their pod.
pub(super) fn binding(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let mut needs = of_claims(cycle);
    if !needs.is_empty() {
        return needs;
    }
    let refs = claim_refs(cycle.pod, cycle.profile.gates.on("GenericEphemeralVolume"));
    let claims = refs.filter_map(|of| cycle.state.listers().claims.get(&cycle.pod.namespace, &of.name).cloned()).collect();
    let Ok(sorted) = PodClaims::sort(claims, cycle.state) else { return needs };
    let delayed = sorted.delayed.clone();
    let binder = Binder::new(sorted, cycle);
    let out_of_reach = binder.reach(node).filter(|(_, reached)| *reached == Some(false));
    needs.extend(out_of_reach.filter_map(|(volume, _)| Some(moved(cycle.state.listers().volumes.get("", volume)?, node))));
    let served = binder.find(node).map_or(0, |found| found.bindings.len() + found.provisions.len());
    if served < delayed.len() {
        // Claims compete for volumes: one more for any of them may be what it takes.
        let provided: Vec<Need> = delayed.iter().map(|claim| provision(claim, cycle, node)).collect();
        let why = provided.iter().map(|need| need.why.clone()).collect::<Vec<_>>().join(", ");
        needs.push(Need { why, ..Need::one_of(provided.into_iter().flat_map(|need| need.options).collect()) });
    }
    needs
}

/// A bound volume that the node does not reach: the node's labels may be changed, the volume's place may not.
fn moved(volume: &PersistentVolume, node: &Candidate) -> Need {
    let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    let mut interner = Interner::default();
    let terms =
        required.iter().flat_map(|required| &required.node_selector_terms).map(|term| NodeSelectorTerm::compile(term, &mut interner));
    let unmet = |term: &NodeSelectorTerm| {
        let open = term.expressions.iter().filter(|wanted| !wanted.matches(node.labels.get(&wanted.key)));
        open.map(|wanted| label(wanted, node)).collect::<Option<Vec<Fix>>>()
    };
    let options = terms.filter_map(|term| unmet(&term)).flatten().collect();
    Need { why: format!("volume {} is not reached from it", name(&volume.metadata)), ..Need::one_of(options) }
}

/// A claim that waits for its pod: a released volume made available, or a new one.
fn provision(claim: &Arc<PersistentVolumeClaim>, cycle: &Cycle<'_>, node: &Candidate) -> Need {
    let selected = claim.metadata.annotations.as_ref().and_then(|all| all.get("volume.kubernetes.io/selected-node"));
    if let Some(selected) = selected.filter(|selected| **selected != *node.name) {
        return Need::hopeless(format!("claim {} is being provisioned on {selected}", name(&claim.metadata)));
    }
    let released = cycle.state.listers().volumes.iter().filter(|volume| {
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        phase == Some("Released")
            && volume_class(volume) == claim_class(claim)
            && VolumeAffinity::of(volume, cycle.profile.release).matches(node)
    });
    let free = released.take(TRIED).map(|volume| Fix::FreeVolume(volume.clone()));
    Need::one_of(free.chain([Fix::Provide(claim.clone())]).collect())
}

/// Zones of bound volumes are where they are.
pub(super) fn zones(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let release = cycle.profile.release.0;
    let (topologies, problem) = volume_zone::topologies(cycle, volume_zone::keys(release));
    if problem.is_some() {
        return of_claims(cycle);
    }
    let elsewhere = topologies.iter().filter(|of| !of.value(node, release).is_some_and(|value| of.values.contains(value)));
    let place = |of: &volume_zone::Topology| of.values.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
    elsewhere.map(|of| Need::hopeless(format!("volume {} is in {}={}", of.volume, of.key, place(of)))).collect()
}

/// Disks and claims that others use: each of these pods gone.
pub(super) fn restrictions(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let own: Vec<&VolumeSource> =
        cycle.pod.spec.volumes.iter().map(|volume| &volume.source).filter(|source| is_restricted(source)).collect();
    let holds =
        |pod: &&Arc<crate::cluster::PodInfo>| pod.spec.volumes.iter().any(|other| own.iter().any(|own| conflicts(own, &other.source)));
    let need = |pod: &Arc<crate::cluster::PodInfo>| Need {
        why: format!("{} has its disk", pod.full_name()),
        ..Need::one_of(deletions([pod].into_iter()))
    };
    node.pods.iter().filter(holds).map(need).chain(users(cycle)).collect()
}

/// The users of claims that only one pod may use, each gone.
pub(super) fn users(cycle: &Cycle<'_>) -> Vec<Need> {
    let once = if cycle.profile.gates.on("ReadWriteOncePod") {
        once_claims(cycle.pod, cycle.state).unwrap_or_default()
    } else {
        Default::default()
    };
    let of_claim = |claim: &Arc<str>| {
        let users = users_of(&cycle.pod.namespace, claim, cycle.state);
        users
            .map(|pod| Need { why: format!("{} uses claim {claim}", pod.full_name()), ..Need::one_of(deletions([pod].into_iter())) })
            .collect::<Vec<_>>()
    };
    once.iter().flat_map(of_claim).collect()
}

/// More volumes than may be attached: a pod with volumes less. What is missing of the pod's own claims comes first.
pub(super) fn limits(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let missing: Vec<Need> =
        of_claims(cycle).into_iter().filter(|need| matches!(need.options.as_slice(), [Fix::CreateClaim(..)])).collect();
    if !missing.is_empty() {
        return missing;
    }
    let options = deletions(node.pods.iter().filter(|pod| !pod.spec.volumes.is_empty()));
    vec![Need { why: "no pod there has volumes to give up".to_owned(), ..Need::one_of(options) }]
}

/// Pods of other claims give their devices up; which of them are the right ones is found by trying.
pub(super) fn devices(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let holder = |claim: &Claim| {
        let consumers = claim.status.as_ref()?.reserved_for.as_deref()?;
        let [consumer] = consumers else { return None };
        cycle.state.pod(claim.metadata.namespace.as_deref()?, &consumer.name).filter(|pod| !is_protected(pod)).cloned()
    };
    let allocated = |claim: &&Arc<Claim>| claim.status.as_ref().is_some_and(|status| status.allocation.is_some());
    let held = cycle.state.listers().resource_claims.iter().filter(|claim| allocated(claim) && is_reachable(claim, node));
    let mut held: Vec<_> = held.filter_map(|claim| Some((holder(claim)?, claim.clone()))).collect();
    held.sort_by_key(|(pod, _)| (pod.spec.priority, std::cmp::Reverse(pod.started), pod.key()));
    let options = held.into_iter().take(TRIED).map(|(pod, claim)| Fix::Release(claim, pod)).collect();
    let why = match cycle.profile.release.0 {
        ..=LAST => "the devices of the pod's claims are elsewhere, or their class or driver rules it out",
        _ => "it has no device free for a claim of the pod, and none that one pod alone holds",
    };
    vec![Need { why: why.to_owned(), ..Need::one_of(options) }]
}

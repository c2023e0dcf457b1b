//! What a pod's claims lack on a node: bound volumes within its reach, and something for those that wait for their pod.

use std::sync::Arc;

use crate::api::core::{PersistentVolume, PersistentVolumeClaim};
use crate::api::meta::ObjectMeta;
use crate::cluster::{Interner, NodeTerm};
use crate::framework::{Fix, Need, Obstacle, VolumeRequest};
use crate::plugins::node_affinity::label_fix;
use crate::volumes::{Binder, PodClaims, VolumeAffinity, claim_class, claim_needs, claim_refs, volume_class};
use crate::{Candidate, Cycle};

/// The most released volumes that are considered.
const MAX_VOLUMES_TRIED: usize = 6;

/// What the pod's claims lack on a node: bound volumes within its reach, and something for those that wait for their pod.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let mut needs = claim_needs(cycle);
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
        let obstacles = provided.iter().flat_map(|need| need.obstacles.clone()).collect();
        needs.push(Need { options: provided.into_iter().flat_map(|need| need.options).collect(), obstacles });
    }
    needs
}

/// A bound volume that the node does not reach: the node's labels may be changed, the volume's place may not.
fn moved(volume: &PersistentVolume, node: &Candidate) -> Need {
    let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    let mut interner = Interner::default();
    let terms = required.iter().flat_map(|required| &required.node_selector_terms).map(|term| NodeTerm::compile(term, &mut interner));
    let unmet = |term: &NodeTerm| {
        let open = term.expressions.iter().filter(|wanted| !wanted.matches(node.labels.get(&wanted.key)));
        open.map(|wanted| label_fix(wanted, node)).collect::<Option<Vec<Fix>>>()
    };
    let options = terms.filter_map(|term| unmet(&term)).flatten().collect();
    Need::one_of_or(options, Obstacle::VolumeOutOfReach { volume: name(&volume.metadata) })
}

/// A claim that waits for its pod: a released volume made available, or a new one.
fn provision(claim: &Arc<PersistentVolumeClaim>, cycle: &Cycle<'_>, node: &Candidate) -> Need {
    let selected = claim.metadata.annotations.as_ref().and_then(|all| all.get("volume.kubernetes.io/selected-node"));
    if let Some(selected) = selected.filter(|selected| **selected != *node.name) {
        return Need::hopeless(Obstacle::ProvisionedElsewhere { claim: name(&claim.metadata), node: selected.as_str().into() });
    }
    let released = cycle.state.listers().volumes.iter().filter(|volume| {
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        phase == Some("Released")
            && volume_class(volume) == claim_class(claim)
            && VolumeAffinity::of(volume, cycle.profile.release).matches(node)
    });
    let free = released.take(MAX_VOLUMES_TRIED).map(|volume| Fix::FreeVolume { volume: name(&volume.metadata) });
    Need::one_of(free.chain([Fix::ProvideVolume(VolumeRequest::of(claim))]).collect())
}

fn name(metadata: &ObjectMeta) -> Arc<str> {
    metadata.name.as_deref().unwrap_or_default().into()
}

//! VolumeBinding (CheckVolumeBinding up to 1.17): bound volumes must be reachable from the node, unbound claims must find one there.

mod evidence;
mod needs;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::core::{PersistentVolume, PersistentVolumeClaim};
use crate::api::meta::ObjectMeta;
use crate::cluster::{CachedObject, Node, ObjectKey, VolumeSource, WatchedKind};
use crate::framework::{ChangeOf, Fact, Need, Obstacle, Touches, WithoutState};
use crate::release::{Rules, VolumeScore};
use crate::volumes::{Binder, PodClaims, claim_needs, claim_refs, owner_problem};
use crate::{Candidate, Cycle, Feasible, Plugin, PreFilter, PreScore, Refusal, Verdict};

pub(crate) struct VolumeBinding;

const UNBOUND_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }

    fn doc(&self) -> &'static str {
        "Bound volumes must be reachable from the node, and unbound claims must find a volume there.

Checks
  Every claim exists, is not lost or being deleted, and (generic ephemeral volumes) is the pod's own; no claim is unbound whose class
  binds at once. Then node by node: bound volumes' node affinity; for claims that wait for their first consumer a free volume of the
  class (size, access modes, selector, mode, attributes class, affinity; the smallest that fits), or a provisioner whose
  allowedTopologies match the node and, where its CSIDriver says so, a CSIStorageCapacity with room enough.
  Scores how well volumes are used, where a gate says so.
Reads
  PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSINodes, CSIDrivers, CSIStorageCapacities, the node's labels and name.
History
  1.9–1.17 as predicate CheckVolumeBinding. Unbound claims ended the attempt with an error up to 1.18.8 and refuse since; missing claims
  refuse since 1.20. Storage capacity since 1.19 (on since 1.21). 1.27–1.28 (and 1.29–1.31 in their first patches) volumes bound to hosts
  narrow the nodes looked at.
  Scores behind VolumeCapacityPriority (1.21–1.32) or StorageCapacityScoring (1.33–, on since 1.37); 1.23–1.29 they count 0
  for every node.
Differs from upstream
  Among free volumes of equal size upstream takes the first of a list in random order, here the first by name. So it does among the
  CSIStorageCapacities of a node that have room: where they differ, the score is unknown."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let rules = &cycle.profile.rules;
        let claims = match claims(cycle) {
            Ok(claims) if claims.is_empty() => return PreFilter::Skip,
            Ok(claims) => claims,
            Err(reason) => return PreFilter::Refuse(Refusal::unresolvable(reason)),
        };
        if let Some(volume) = unknown_volume(cycle) {
            let what = format!("volume {volume} is a generic ephemeral volume, but that feature is disabled in kube-scheduler");
            return PreFilter::Error(what);
        }
        let sorted = match PodClaims::sort(claims, cycle.state) {
            Ok(sorted) => sorted,
            Err(error) if rules.sorts_claims_by_node() => return PreFilter::Filter(Box::new(move |_| Verdict::Error(error.clone()))),
            Err(error) => return PreFilter::Error(error),
        };
        if !sorted.immediate.is_empty() {
            return if rules.immediate_claims_fail {
                PreFilter::Filter(Box::new(|_| Verdict::Error(UNBOUND_IMMEDIATE.to_owned())))
            } else if rules.sorts_claims_by_node() {
                PreFilter::Filter(Box::new(|_| Verdict::unresolvable(UNBOUND_IMMEDIATE)))
            } else {
                PreFilter::Refuse(Refusal::unresolvable(UNBOUND_IMMEDIATE))
            };
        }
        let eligible = if rules.bound_hosts_narrow { eligible_nodes(&sorted.bound, cycle) } else { None };
        let binder = Binder::new(sorted, cycle);
        let filter = Box::new(move |node: &Candidate| match binder.find(node) {
            Ok(found) if found.reasons.is_empty() => Verdict::Pass,
            Ok(found) => Verdict::Reject(Refusal { reasons: found.reasons, preemption_may_help: false }),
            Err(error) => Verdict::Error(error),
        });
        match eligible {
            Some(nodes) => PreFilter::Narrow(nodes, filter),
            None => PreFilter::Filter(filter),
        }
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let rules = &cycle.profile.rules;
        let score = rules.volume_score(&cycle.profile.gates);
        let by_capacity = score == VolumeScore::Capacity;
        let skips = rules.volume_score_skips() && !by_capacity;
        let nothing = || if skips { PreScore::Skip } else { PreScore::plain(|_| 0) };
        if score == VolumeScore::None {
            return nothing();
        }
        let sorted = claims(cycle).ok().and_then(|claims| PodClaims::sort(claims, cycle.state).ok());
        let Some(sorted) = sorted.filter(|sorted| sorted.bound.len() + sorted.delayed.len() > 0) else {
            return nothing();
        };
        // The filter finds what is scored: where a configuration does not run it, nothing is found on any node.
        if !cycle.profile.filters.iter().any(|entry| entry.name == "VolumeBinding") {
            return nothing();
        }
        let binder = Binder::new(sorted, cycle);
        let binds = || feasible.iter().any(|node| binder.find(&Candidate::plain(node)).is_ok_and(|found| !found.bindings.is_empty()));
        if skips && !binds() {
            return PreScore::Skip;
        }
        if by_capacity && feasible.iter().any(|node| binder.find(&Candidate::plain(node)).is_ok_and(|found| found.drawn())) {
            return PreScore::Unknown("several capacities have room for a claim, and which one counts is left to chance".into());
        }
        let shape = &cycle.profile.arguments.volume_shape;
        PreScore::plain(move |node| binder.find(&Candidate::plain(node)).map_or(0, |found| found.score(shape, by_capacity)))
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Fails("not found".to_owned())
    }

    fn without_prescore(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        evidence::binding(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        needs::of_node(cycle, node)
    }

    fn needs_of_pod(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }

    fn needs_after_error(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }

    fn needs_of_unnamed(&self, _cycle: &Cycle) -> Vec<Need> {
        vec![Need::hopeless(Obstacle::VolumesElsewhere)]
    }

    fn touches(&self) -> Touches {
        Touches { labels: true, ..Touches::default() }
    }

    fn is_met_by(&self) -> ChangeOf {
        ChangeOf::Volumes
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

/// What the pod's Reserve on a node makes of volumes and claims until they are bound, and whether which volumes these are is chance.
pub(crate) fn reserved(cycle: &Cycle<'_>, node: &Node) -> (Vec<(ObjectKey, CachedObject)>, bool) {
    let runs = cycle.profile.filters.iter().any(|entry| entry.name == "VolumeBinding");
    let sorted = claims(cycle).ok().filter(|_| runs).and_then(|claims| PodClaims::sort(claims, cycle.state).ok());
    let found = sorted.filter(|sorted| !sorted.delayed.is_empty()).and_then(|sorted| Binder::new(sorted, cycle).find(node).ok());
    let Some(found) = found else { return Default::default() };
    let drawn = found.drawn_volume;
    let (volumes, claims) = found.assumed(&node.name);
    let key = |kind: WatchedKind, metadata: &ObjectMeta| {
        let text = |text: &Option<String>| Arc::from(text.as_deref().unwrap_or_default());
        ObjectKey { kind, namespace: text(&metadata.namespace), name: text(&metadata.name) }
    };
    let volumes = volumes
        .into_iter()
        .map(|volume| (key(WatchedKind::PersistentVolume, &volume.metadata), CachedObject::PersistentVolume(volume.into())));
    let claims = claims
        .into_iter()
        .map(|claim| (key(WatchedKind::PersistentVolumeClaim, &claim.metadata), CachedObject::PersistentVolumeClaim(claim.into())));
    (volumes.chain(claims).collect(), drawn)
}

/// The pod's claims, in order, or why it cannot be scheduled (`podHasPVCs`).
pub(crate) fn claims(cycle: &Cycle<'_>) -> Result<Vec<Arc<PersistentVolumeClaim>>, String> {
    let rules = &cycle.profile.rules;
    let mut found = Vec::new();
    for reference in claim_refs(cycle.pod, cycle.profile.gates.on("GenericEphemeralVolume")) {
        let name = &reference.name;
        let Some(claim) = cycle.state.listers().claims.get(&cycle.pod.namespace, name) else {
            return Err(if reference.ephemeral && rules.awaits_ephemeral_claims() {
                format!("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\"")
            } else {
                format!("persistentvolumeclaim \"{name}\" not found")
            });
        };
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        if rules.lost_claims_refuse() && phase == Some("Lost") {
            let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).unwrap_or_default();
            return Err(format!("persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\""));
        }
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("persistentvolumeclaim \"{name}\" is being deleted"));
        }
        if let Some(problem) = reference.ephemeral.then(|| owner_problem(claim, cycle.pod, rules.release)).flatten() {
            return Err(problem);
        }
        found.push(claim.clone());
    }
    Ok(found)
}

/// A generic ephemeral volume of a pod that has claims besides, where the gate for them is off (`isVolumeBound`).
fn unknown_volume<'p>(cycle: &Cycle<'p>) -> Option<&'p str> {
    let fails = cycle.profile.rules.unknown_ephemeral_volumes_fail() && !cycle.profile.gates.on("GenericEphemeralVolume");
    let mut volumes = cycle.pod.spec.volumes.iter().filter(|_| fails);
    volumes.find(|volume| matches!(volume.source, VolumeSource::Ephemeral)).map(|volume| &*volume.name)
}

/// `GetEligibleNodes`: the hosts named by the affinity of the bound volumes;
/// `None` where they name none, or a volume is missing.
fn eligible_nodes(bound: &[Arc<PersistentVolumeClaim>], cycle: &Cycle<'_>) -> Option<BTreeSet<Arc<str>>> {
    let mut eligible: Option<BTreeSet<Arc<str>>> = None;
    for claim in bound {
        let name = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).unwrap_or_default();
        let hosts = hosts(cycle.state.listers().volumes.get("", name)?);
        if !hosts.is_empty() {
            eligible = Some(match eligible {
                None => hosts,
                Some(known) => known.intersection(&hosts).cloned().collect(),
            });
        }
    }
    eligible
}

/// `GetLocalPersistentVolumeNodeNames`: terms that name no host add nothing, whatever else they say.
fn hosts(volume: &PersistentVolume) -> BTreeSet<Arc<str>> {
    let affinity = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()).and_then(|affinity| affinity.required.as_ref());
    let terms = affinity.iter().flat_map(|required| &required.node_selector_terms);
    terms
        .flat_map(|term| {
            let named =
                term.match_expressions.iter().flatten().filter(|wanted| wanted.key == "kubernetes.io/hostname" && wanted.operator == "In");
            let sets = named.map(|wanted| wanted.values.iter().flatten().map(|host| host.as_str().into()).collect::<BTreeSet<Arc<str>>>());
            sets.reduce(|known, hosts| known.intersection(&hosts).cloned().collect()).unwrap_or_default()
        })
        .collect()
}

//! VolumeZone (NoVolumeZoneConflict up to 1.17): bound volumes with zone labels fit only nodes of that zone.

use std::collections::BTreeSet;

use crate::api::core::{PersistentVolume, PersistentVolumeClaim};
use crate::framework::{Fact, Need, Obstacle, VolumeCheck, WithoutState};
use crate::release::Rules;
use crate::volumes::{claim_class, claim_needs, claim_refs, spec_class};
use crate::{Candidate, Cycle, Plugin, PreFilter, Refusal, Verdict};

pub(crate) struct VolumeZone;

const CONFLICT_REASON: &str = "node(s) had no available volume zone";
const BETA_KEYS: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"];
const ZONE_KEYS: [&str; 4] = [BETA_KEYS[0], BETA_KEYS[1], "topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// A zone or region label of a volume and the values it allows.
pub(crate) struct Topology {
    /// The volume.
    pub volume: String,
    /// The label.
    pub key: &'static str,
    /// The zones or regions it may be used in.
    pub values: BTreeSet<String>,
}

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        "VolumeZone"
    }

    fn doc(&self) -> &'static str {
        "Bound volumes with zone labels fit only nodes of that zone.

Checks
  Each zone or region label of the pod's bound volumes against the node's label of the same key; several zones are separated by two
  underscores. A node without any such label passes. Claims that wait for their first consumer are left to VolumeBinding.
Reads
  The pod's PersistentVolumeClaims, their PersistentVolumes' labels, StorageClasses of unbound claims, the node's labels.
History
  1.9–1.17 as predicate NoVolumeZoneConflict. topology.kubernetes.io labels since 1.19; lookups that fail end the attempt up to 1.19.11
  and 1.20.7 and refuse since. Collected once for all nodes since 1.27. A beta label is satisfied by the node's stable one since 1.29.
Differs from upstream
  In nothing known."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let rules = &cycle.profile.rules;
        let keys = keys(rules);
        let (topologies, problem) = topologies(cycle, keys);
        if rules.collects_zones_before_nodes() {
            match &problem {
                Some(reason) => return PreFilter::Refuse(Refusal::unresolvable(reason.clone())),
                None if topologies.is_empty() => return PreFilter::Skip,
                None => {}
            }
        } else if claim_refs(cycle.pod, false).next().is_none() {
            return PreFilter::Skip;
        }
        PreFilter::Filter(Box::new(move |node: &Candidate| {
            if !keys.iter().any(|key| node.labels.has(key)) {
                return Verdict::Pass;
            }
            // Volumes are looked at in turn: one before the problem may be in the wrong zone.
            if !topologies.iter().all(|topology| topology.allows(node, rules)) {
                return Verdict::unresolvable(CONFLICT_REASON);
            }
            match &problem {
                None => Verdict::Pass,
                Some(reason) if rules.zone_lookups_fail => Verdict::Error(reason.clone()),
                Some(reason) => Verdict::unresolvable(reason.clone()),
            }
        }))
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        zones(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        let rules = &cycle.profile.rules;
        let (topologies, problem) = topologies(cycle, keys(rules));
        if problem.is_some() {
            return claim_needs(cycle);
        }
        let elsewhere = topologies.into_iter().filter(|of| !of.value(node, rules).is_some_and(|value| of.values.contains(value)));
        let obstacle = |of: Topology| Obstacle::VolumeInZone {
            volume: of.volume.as_str().into(),
            key: of.key.into(),
            values: of.values.iter().map(|value| value.as_str().into()).collect(),
        };
        elsewhere.map(|of| Need::hopeless(obstacle(of))).collect()
    }

    fn needs_of_pod(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }

    fn needs_after_error(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

/// The node labels a release knows.
pub(crate) fn keys(rules: &Rules) -> &'static [&'static str] {
    if rules.volumes_have_stable_zone_labels() { &ZONE_KEYS } else { &BETA_KEYS }
}

impl Topology {
    fn allows(&self, node: &Candidate, rules: &Rules) -> bool {
        self.value(node, rules).is_some_and(|value| self.values.contains(value))
    }

    pub(crate) fn value<'n>(&self, node: &'n Candidate, rules: &Rules) -> Option<&'n str> {
        let stable = BETA_KEYS.iter().position(|key| *key == self.key).filter(|_| rules.stable_zone_label_replaces_beta());
        node.labels.get(self.key).or_else(|| node.labels.get(ZONE_KEYS[stable? + BETA_KEYS.len()]))
    }
}

/// The labels of the pod's volumes, and the first reason why more cannot be had.
pub(crate) fn topologies(cycle: &Cycle<'_>, keys: &[&'static str]) -> (Vec<Topology>, Option<String>) {
    let mut found = Vec::new();
    let problem = collect(cycle, keys, &mut found).err();
    (found, problem)
}

fn collect(cycle: &Cycle<'_>, keys: &[&'static str], found: &mut Vec<Topology>) -> Result<(), String> {
    let listers = cycle.state.listers();
    for reference in claim_refs(cycle.pod, false) {
        if reference.name.is_empty() {
            return Err("PersistentVolumeClaim had no name".to_owned());
        }
        let missing = || format!("persistentvolumeclaim \"{}\" not found", reference.name);
        let claim = listers.claims.get(&cycle.pod.namespace, &reference.name).ok_or_else(missing)?;
        let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).unwrap_or_default();
        if volume.is_empty() && cycle.profile.rules.zone_check_reports_unbound_claim() {
            waits_for_consumer(claim, cycle)?;
            continue;
        }
        if volume.is_empty() {
            let name = claim_class(claim);
            if name.is_empty() {
                return Err("PersistentVolumeClaim had no pv name and storageClass name".to_owned());
            }
            let class = listers.storage_classes.get("", name);
            let class = class.ok_or_else(|| {
                if cycle.profile.rules.zone_lookups_fail {
                    format!("StorageClass \"{name}\" claimed by PersistentVolumeClaim \"{}\" not found", reference.name)
                } else {
                    format!("storageclass.storage.k8s.io \"{name}\" not found")
                }
            })?;
            match class.volume_binding_mode.as_deref() {
                None => return Err(format!("VolumeBindingMode not set for StorageClass \"{name}\"")),
                Some("WaitForFirstConsumer") => continue,
                Some(_) => return Err("PersistentVolume had no name".to_owned()),
            }
        }
        let volume = listers.volumes.get("", volume).ok_or_else(|| format!("persistentvolume \"{volume}\" not found"))?;
        found.extend(keys.iter().filter_map(|key| topology(volume, key)));
    }
    Ok(())
}

/// An unbound claim is an error unless its class waits for the first consumer (without VolumeScheduling: always).
fn waits_for_consumer(claim: &PersistentVolumeClaim, cycle: &Cycle<'_>) -> Result<(), String> {
    let rules = &cycle.profile.rules;
    let name = if rules.zone_check_ignores_class_annotation() { spec_class(claim) } else { claim_class(claim) };
    let class = cycle.state.listers().storage_classes.get("", name).filter(|_| cycle.profile.gates.on("VolumeScheduling"));
    match class.map(|class| class.volume_binding_mode.as_deref()) {
        Some(Some("WaitForFirstConsumer")) => return Ok(()),
        Some(None) if !rules.class_without_mode_binds_at_once() => {
            return Err(format!("VolumeBindingMode not set for StorageClass \"{}\"", claim_class(claim)));
        }
        _ => {}
    }
    Err(rules.unbound_in_zone_check(claim.metadata.name.as_deref().unwrap_or_default()))
}

/// One label of a volume; a label with an empty zone in it is ignored, as upstream ignores it.
fn topology(volume: &PersistentVolume, key: &'static str) -> Option<Topology> {
    let value = volume.metadata.labels.as_ref()?.get(key)?;
    let values: BTreeSet<String> = value.split("__").map(|zone| zone.trim().to_owned()).collect();
    (!values.contains("")).then(|| Topology { volume: volume.metadata.name.clone().unwrap_or_default(), key, values })
}

/// Each zone or region label of the pod's volumes, and the node's.
fn zones(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let rules = &cycle.profile.rules;
    let keys = keys(rules);
    if !keys.iter().any(|key| node.labels.has(key)) {
        return vec![Fact::holding(VolumeCheck::NodeWithoutZone)];
    }
    let (topologies, problem) = topologies(cycle, keys);
    let of_label = |of: Topology| {
        let value = of.value(node, rules);
        let holds = value.is_some_and(|value| of.values.contains(value));
        let wanted = of.values.iter().map(|value| value.as_str().into()).collect();
        Fact::new(holds, VolumeCheck::Zone { volume: of.volume.as_str().into(), key: of.key, wanted, value: value.map(Into::into) })
    };
    let facts: Vec<Fact> = topologies.into_iter().map(of_label).chain(problem.map(Fact::upstream)).collect();
    if facts.is_empty() { vec![Fact::holding(VolumeCheck::VolumesWithoutZone)] } else { facts }
}

//! What is compared about volumes: disks in use, how many may be attached, where claims' volumes are and what unbound claims would get.

use std::sync::Arc;

use crate::cluster::{Interner, NodeSelectorTerm, PodInfo, VolumeSource};
use crate::framework::Fact;
use crate::plugins::volume_restrictions::{conflicts, is_restricted, once_claims, users};
use crate::plugins::{node_volume_limits, non_csi_limits, volume_binding, volume_zone};
use crate::volumes::{Binder, PodClaims, VolumeAffinity, claim_class, claim_refs, volume_class};
use crate::{Candidate, Cycle, Verdict};
use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use super::node::label;
use super::some;

/// So many volumes are named.
const NAMED: usize = 4;

/// Each disk of the pod that cannot be shared, each claim for one pod alone, and who uses it.
pub(crate) fn restrictions(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let mut facts = Vec::new();
    for volume in cycle.pod.spec.volumes.iter().filter(|volume| is_restricted(&volume.source)) {
        let disk = disk(&volume.source);
        let mut holders = node.pods.iter().filter(|pod| pod.spec.volumes.iter().any(|other| conflicts(&volume.source, &other.source)));
        facts.push(match holders.next() {
            Some(holder) => Fact::refusing(format!("{disk} is {}'s", holder.full_name())),
            None => Fact::holding(format!("{disk} is nobody's here")),
        });
    }
    let once = if cycle.profile.gates.on("ReadWriteOncePod") {
        once_claims(cycle.pod, cycle.state).unwrap_or_default()
    } else {
        Default::default()
    };
    for claim in once {
        let gone = |pod: &&Arc<PodInfo>| !node.removed.iter().any(|removed| removed.key() == pod.key());
        let coming = node.added.iter().find(|pod| claim_refs(pod, false).any(|used| used.name == claim));
        facts.push(match users(&cycle.pod.namespace, &claim, cycle.state).find(gone).or(coming) {
            Some(user) => {
                let place = user.node_name.as_deref().unwrap_or(&node.name);
                Fact::refusing(format!("claim {claim} (ReadWriteOncePod) is used by {} on {place}", user.full_name()))
            }
            None => Fact::holding(format!("claim {claim} (ReadWriteOncePod) is used by no other pod")),
        });
    }
    if facts.is_empty() { vec![Fact::holding("the pod has no disk that cannot be shared".to_owned())] } else { facts }
}

fn disk(source: &VolumeSource) -> String {
    match source {
        VolumeSource::GcePersistentDisk { name, .. } => format!("Google disk {name}"),
        VolumeSource::AwsElasticBlockStore { id, .. } => format!("Amazon disk {id}"),
        VolumeSource::Iscsi { iqn, .. } => format!("iSCSI target {iqn}"),
        VolumeSource::Rbd { pool, image, .. } => format!("Ceph image {pool}/{image}"),
        _ => "disk".to_owned(),
    }
}

/// Claims of the pod that are not there: what cannot be looked up refuses, whatever it would be.
fn missing(cycle: &Cycle) -> Vec<Fact> {
    let known = |name: &str| cycle.state.listers().claims.get(&cycle.pod.namespace, name).is_some();
    let refs = claim_refs(cycle.pod, true).filter(|of| !known(&of.name));
    refs.map(|of| Fact::refusing(format!("claim {} does not exist", of.name))).collect()
}

/// For each CSI driver with a limit: volumes attached, those the pod adds, the limit. A driver that is not there is named by the refusal.
pub(crate) fn csi_limits(cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
    if !verdict.passes() && !missing(cycle).is_empty() {
        return missing(cycle);
    }
    let told = node_volume_limits::compared(cycle, node).into_iter().map(|of| {
        let adds = if of.names.is_empty() { String::new() } else { format!(" ({})", some(&of.names, NAMED)) };
        let holds = of.attached + of.wanted <= of.limit;
        Fact::new(holds, format!("{}: {} attached, {} more asked{adds}, limit {}", of.driver, of.attached, of.wanted, of.limit))
    });
    let told: Vec<Fact> = told.collect();
    match verdict {
        Verdict::Reject(refusal) if told.iter().all(|fact| fact.holds) => vec![Fact::refusing(refusal.reasons.join(", "))],
        _ if told.is_empty() => vec![Fact::holding("the pod adds no volume of a driver with a limit here".to_owned())],
        _ => told,
    }
}

/// The disks of one in-tree kind: those of the node's pods, those the pod adds, the limit.
pub(crate) fn disk_limits(rule: &str, cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let Some(of) = non_csi_limits::compared(rule, cycle, node) else { return missing(cycle) };
    if of.migrated {
        return vec![Fact::holding("the node's CSI driver took these disks over: NodeVolumeLimits counts them".to_owned())];
    }
    if of.wanted.is_empty() {
        return vec![Fact::holding("the pod has no disk of this kind".to_owned())];
    }
    let named = |disks: Vec<&String>| {
        let names: Vec<String> =
            disks.iter().map(|disk| disk.strip_prefix("//").map_or((*disk).clone(), |claim| format!("claim {claim}"))).collect();
        if names.is_empty() { String::new() } else { format!(" ({})", some(&names, NAMED)) }
    };
    let more: Vec<&String> = of.wanted.difference(&of.attached).collect();
    let total = of.attached.len() + more.len();
    let holds = i64::try_from(total).is_ok_and(|total| total <= of.limit);
    let (attached, asked) = (of.attached.len(), more.len());
    vec![Fact::new(
        holds,
        format!("{attached} attached{}, {asked} more asked{}, limit {}", named(of.attached.iter().collect()), named(more), of.limit),
    )]
}

/// Each claim: where its volume is reached, or which it would get.
pub(crate) fn binding(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let claims: Vec<Arc<PersistentVolumeClaim>> = match cycle.profile.release.0 {
        ..=17 => claim_refs(cycle.pod, false)
            .filter_map(|of| cycle.state.listers().claims.get(&cycle.pod.namespace, &of.name).cloned())
            .collect(),
        _ => match volume_binding::claims(cycle) {
            Ok(claims) => claims,
            Err(reason) => return vec![Fact::refusing(reason)],
        },
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
        term.expressions.iter().map(|wanted| label(wanted, node.labels.get(&wanted.key))).collect()
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

/// Each zone or region label of the pod's volumes, and the node's.
pub(crate) fn zones(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let release = cycle.profile.release.0;
    let keys = volume_zone::keys(release);
    if !keys.iter().any(|key| node.labels.has(key)) {
        return vec![Fact::holding("it has no zone or region label, so every volume does".to_owned())];
    }
    let (topologies, problem) = volume_zone::topologies(cycle, keys);
    let told = topologies.iter().map(|of| {
        let own = of.value(node, release);
        let values = of.values.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
        let is = own.map_or_else(|| "has no such label".to_owned(), |own| format!("is in {own}"));
        Fact::new(own.is_some_and(|own| of.values.contains(own)), format!("volume {} is in {}={values}, the node {is}", of.volume, of.key))
    });
    let told: Vec<Fact> = told.chain(problem.map(Fact::refusing)).collect();
    if told.is_empty() { vec![Fact::holding("none of the pod's volumes has a zone or region label".to_owned())] } else { told }
}

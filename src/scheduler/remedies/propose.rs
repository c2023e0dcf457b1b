//! What a filter's refusal can be met with.

use std::sync::Arc;

use crate::cluster::{AffinityTerm, NodeInfo, NodeSelectorTerm, Operator, PodInfo, Requirement, VolumeSource, WhenUnsatisfiable};
use crate::kube::api::resource::v1::ResourceClaim;
use crate::scheduler::plugins::{node_ports, node_resources_fit, taint_toleration};
use crate::scheduler::{Cycle, Verdict};

use super::fix::{Fix, UNSCHEDULABLE};

/// Sets of changes each of which may meet the refusal of one filter on a node; none where nothing is known to help. `at` is the filter's place;
/// `whole`: it refuses the pod as a whole.
pub fn options(cycle: &Cycle<'_>, node: &str, plugin: &str, at: usize, whole: bool) -> Vec<Vec<Fix>> {
    let Some(info) = cycle.state.node(node) else { return Vec::new() };
    let mut all = match plugin {
        "VolumeBinding" | "CheckVolumeBinding" | "VolumeRestrictions" | "VolumeZone" | "NodeVolumeLimits" if whole => volumes(cycle),
        _ if whole => Vec::new(),
        "NodeUnschedulable" | "CheckNodeUnschedulable" => vec![vec![Fix::Uncordon]],
        "CheckNodeCondition" if info.unschedulable => vec![vec![Fix::Uncordon]],
        "TaintToleration" | "PodToleratesNodeTaints" => vec![taints(cycle, info)],
        "NodeAffinity" | "MatchNodeSelector" => node_affinity(cycle, info),
        "NodePorts" | "PodFitsHostPorts" | "PodFitsPorts" => ports(cycle, info),
        "NodeResourcesFit" | "PodFitsResources" => resources(cycle, info, at),
        "GeneralPredicates" => general(cycle, info, at),
        "PodTopologySpread" | "EvenPodsSpread" => spread(cycle, info, at),
        "InterPodAffinity" | "MatchInterPodAffinity" => pod_affinity(cycle, info, at),
        "VolumeBinding" | "CheckVolumeBinding" => volumes(cycle),
        "DynamicResources" => devices(cycle, node),
        "VolumeRestrictions"
        | "NoDiskConflict"
        | "NodeVolumeLimits"
        | "EBSLimits"
        | "GCEPDLimits"
        | "AzureDiskLimits"
        | "CinderLimits"
        | "MaxEBSVolumeCount"
        | "MaxGCEPDVolumeCount"
        | "MaxAzureDiskVolumeCount"
        | "MaxCinderVolumeCount"
        | "MaxCSIVolumeCountPred" => {
            vec![blockers(cycle, info, at)]
        }
        _ => Vec::new(),
    };
    all.retain(|fixes| !fixes.is_empty());
    all
}

/// Resources, ports and selectors were one predicate up to 1.16: the first of them that lacks is met, then the predicate is asked again.
fn general(cycle: &Cycle<'_>, node: &NodeInfo, at: usize) -> Vec<Vec<Fix>> {
    let parts = [resources(cycle, node, at), ports(cycle, node), node_affinity(cycle, node)];
    parts.into_iter().find(|part| part.iter().any(|fixes| !fixes.is_empty())).unwrap_or_default()
}

/// Pods of other claims give their devices up; which of them are the right ones is found by trying.
fn devices(cycle: &Cycle<'_>, node: &str) -> Vec<Vec<Fix>> {
    const TRIED: usize = 6;
    let here = |claim: &ResourceClaim| {
        let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
        let nodes = allocation.map(|allocation| allocation.node_selector.as_ref());
        nodes.is_some_and(|nodes| {
            nodes.is_none_or(|nodes| {
                let fields = nodes.node_selector_terms.iter().flat_map(|term| term.match_fields.iter().flatten());
                fields.flat_map(|field| field.values.iter().flatten()).any(|value| value == node)
            })
        })
    };
    let holder = |claim: &ResourceClaim| {
        let consumers = claim.status.as_ref()?.reserved_for.as_deref()?;
        let [consumer] = consumers else { return None };
        cycle.state.pod(claim.metadata.namespace.as_deref()?, &consumer.name).filter(|pod| !is_protected(pod)).cloned()
    };
    let held = cycle.state.listers().resource_claims.iter().filter(|claim| here(claim));
    let mut held: Vec<_> = held.filter_map(|claim| Some((holder(claim)?, claim.clone()))).collect();
    held.sort_by_key(|(pod, _)| (pod.spec.priority, std::cmp::Reverse(pod.started), pod.key()));
    held.into_iter().take(TRIED).map(|(pod, claim)| vec![Fix::Release(claim, pod)]).collect()
}

/// Taints that people set are tolerated; those that say that a node is ill are not talked away.
fn taints(cycle: &Cycle<'_>, node: &NodeInfo) -> Vec<Fix> {
    let comparisons = cycle.profile.rules.taint_comparisons;
    let hard = node.taints.iter().filter(|taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute"));
    let open = hard
        .filter(|taint| !cycle.pod.spec.tolerations.iter().any(|toleration| taint_toleration::tolerates(toleration, taint, comparisons)));
    let mut fixes = Vec::new();
    for taint in open {
        if &*taint.key == UNSCHEDULABLE {
            fixes.push(Fix::Uncordon);
        } else if taint.key.starts_with("node.kubernetes.io/") || taint.key.starts_with("node.cloudprovider.kubernetes.io/") {
            return Vec::new();
        } else {
            fixes.push(Fix::Tolerate(taint.clone()));
        }
    }
    fixes
}

/// Labels that say where or what a node is are not for people to change.
fn is_free(key: &str) -> bool {
    !["kubernetes.io", "k8s.io"]
        .iter()
        .any(|domain| key.split('/').next().is_some_and(|prefix| key.contains('/') && prefix.ends_with(domain)))
}

fn node_affinity(cycle: &Cycle<'_>, node: &NodeInfo) -> Vec<Vec<Fix>> {
    let spec = &cycle.pod.spec;
    if spec.controller.as_ref().is_some_and(|controller| &*controller.kind == "DaemonSet") {
        return Vec::new();
    }
    let unmet = |wanted: &&Requirement| !wanted.matches(node.labels.get(&wanted.key));
    let (mut labels, mut relaxed) = (Vec::new(), Vec::new());
    let mut labels_do = true;
    for wanted in spec.node_selector.requirements.iter().filter(unmet) {
        relaxed.push(Fix::DropNodeSelector(wanted.key.clone()));
        labels_do &= label(wanted).map(|fix| labels.push(fix)).is_some();
    }
    let matches = |terms: &[NodeSelectorTerm]| terms.iter().any(|term| term.matches(&node.name, &node.labels));
    let nearest = |terms: &[NodeSelectorTerm]| -> Option<Vec<Fix>> {
        let open = |term: &&NodeSelectorTerm| term.expressions.iter().filter(unmet).count();
        let usable = terms
            .iter()
            .filter(|term| term.error.is_none() && !term.is_empty() && term.fields.iter().all(|field| field.matches(Some(&node.name))));
        usable.min_by_key(open)?.expressions.iter().filter(unmet).map(label).collect()
    };
    if let Some(terms) = spec.node_affinity.required.as_deref().filter(|terms| !matches(terms)) {
        relaxed.push(Fix::DropNodeAffinity);
        labels_do &= nearest(terms).map(|fixes| labels.extend(fixes)).is_some();
    }
    let added = cycle.profile.arguments.added_affinity.as_ref().and_then(|added| added.required.as_deref());
    if let Some(terms) = added.filter(|terms| !matches(terms)) {
        // Only the node can change here: the profile's own affinity is not the pod's.
        let Some(fixes) = nearest(terms) else { return Vec::new() };
        relaxed.extend(fixes.clone());
        labels.extend(fixes);
    }
    match (labels_do, labels.len() <= relaxed.len()) {
        (true, true) => vec![labels, relaxed],
        (true, false) => vec![relaxed, labels],
        (false, _) => vec![relaxed],
    }
}

/// The label that meets a requirement, where it is one that people may set.
fn label(wanted: &Requirement) -> Option<Fix> {
    let number = |by: i64| wanted.values.first().and_then(|bound| bound.parse::<i64>().ok()).map(|bound| (bound + by).to_string().into());
    let value = match wanted.operator {
        Operator::In => Some(wanted.values.first()?.clone()),
        Operator::Exists => Some(Arc::from("")),
        Operator::NotIn | Operator::DoesNotExist => None,
        Operator::Gt => Some(number(1)?),
        Operator::Lt => Some(number(-1)?),
    };
    is_free(&wanted.key).then(|| Fix::Label(wanted.key.clone(), value))
}

fn ports(cycle: &Cycle<'_>, node: &NodeInfo) -> Vec<Vec<Fix>> {
    let wanted = node_ports::wanted(cycle);
    let sidecars = cycle.profile.rules.sidecar_ports;
    let taken = |wanted: &crate::cluster::HostPort| node.used_ports(sidecars).any(|(used, _)| node_ports::conflicts(wanted, used));
    let mut change: Vec<Fix> =
        wanted.iter().filter(|wanted| taken(wanted)).map(|wanted| Fix::ChangePort(wanted.protocol.clone(), wanted.port)).collect();
    change.dedup();
    let mut holders: Vec<Fix> = Vec::new();
    for (used, pod) in node.used_ports(sidecars) {
        let delete = Fix::Delete(pod.clone());
        if wanted.iter().any(|wanted| node_ports::conflicts(wanted, used)) && !holders.contains(&delete) {
            if is_protected(pod) {
                return vec![change];
            }
            holders.push(delete);
        }
    }
    vec![change, holders]
}

fn resources(cycle: &Cycle<'_>, node: &NodeInfo, at: usize) -> Vec<Vec<Fix>> {
    let (rules, arguments) = (&cycle.profile.rules, &cycle.profile.arguments);
    let request = rules.requests.incoming(cycle.pod);
    let devices = node_resources_fit::device_resources(cycle);
    let short = node_resources_fit::shortages(node, &request, rules, arguments, &devices);
    let full = short.iter().any(|shortage| &*shortage.resource == "pods");
    let lowered = short.iter().filter(|shortage| &*shortage.resource != "pods");
    let mut lower: Vec<Fix> = lowered
        .map(|shortage| {
            Fix::Lower(shortage.resource.clone(), (shortage.requested + shortage.used - shortage.capacity).min(shortage.requested))
        })
        .collect();
    let never = short.iter().any(|shortage| shortage.requested > shortage.capacity && &*shortage.resource != "pods");
    let delete = if never { Vec::new() } else { blockers(cycle, node, at) };
    if full {
        // Only a pod less makes room for a pod.
        let mut candidates: Vec<&Arc<PodInfo>> = node.pods.iter().filter(|pod| !is_protected(pod)).collect();
        candidates.sort_by_key(|pod| (pod.spec.priority, std::cmp::Reverse(pod.started)));
        lower.extend(candidates.first().map(|pod| Fix::Delete((*pod).clone())));
        if candidates.is_empty() {
            lower.clear();
        }
    }
    vec![lower, delete]
}

fn spread(cycle: &Cycle<'_>, node: &NodeInfo, at: usize) -> Vec<Vec<Fix>> {
    const FARTHEST: i32 = 12;
    let constraints = cycle
        .pod
        .spec
        .spread
        .iter()
        .enumerate()
        .filter(|(_, constraint)| constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule);
    let (mut raised, mut softened) = (Vec::new(), Vec::new());
    for (number, constraint) in constraints {
        let soften = Fix::SoftenSpread(number, constraint.topology_key.clone());
        if !passes_with(cycle, node, at, &soften) && cycle.pod.spec.spread.len() == 1 {
            continue;
        }
        if node.labels.has(&constraint.topology_key) {
            let skews = constraint.max_skew + 1..=constraint.max_skew + FARTHEST;
            let fixes = skews.map(|skew| Fix::MaxSkew(number, constraint.topology_key.clone(), skew));
            raised.extend(fixes.into_iter().find(|fix| passes_with(cycle, node, at, fix)));
        }
        if passes_with(cycle, node, at, &soften) {
            softened.push(soften);
        }
    }
    raised.truncate(1);
    softened.truncate(1);
    vec![raised, softened]
}

fn pod_affinity(cycle: &Cycle<'_>, node: &NodeInfo, at: usize) -> Vec<Vec<Fix>> {
    let mut delete = blockers(cycle, node, at);
    if delete.is_empty() {
        delete = rivals(cycle, node);
    }
    let soften: Vec<Fix> =
        [Fix::SoftenAffinity, Fix::SoftenAntiAffinity].into_iter().filter(|fix| passes_with(cycle, node, at, fix)).take(1).collect();
    if delete.len() <= 1 { vec![delete, soften] } else { vec![soften, delete] }
}

/// Pods anywhere in the node's domains that the pod's anti-affinity, or whose anti-affinity, keeps apart, where they are few.
fn rivals(cycle: &Cycle<'_>, node: &NodeInfo) -> Vec<Fix> {
    const MOST: usize = 3;
    let labels = |namespace: &str| cycle.state.namespace_labels(namespace);
    let selects = |term: &AffinityTerm, pod: &PodInfo| {
        term.matches_labels(&pod.labels)
            && term.matches_namespace(&pod.namespace, labels(&pod.namespace), cycle.profile.rules.namespace_selector)
    };
    let shares = |key: &str, other: &NodeInfo| node.labels.get(key).is_some_and(|value| other.labels.get(key) == Some(value));
    let apart = |pod: &PodInfo, other: &NodeInfo| {
        cycle.pod.spec.pod_anti_affinity.required.iter().any(|term| shares(&term.topology_key, other) && selects(term, pod))
            || pod.spec.pod_anti_affinity.required.iter().any(|term| shares(&term.topology_key, other) && selects(term, cycle.pod))
    };
    let found = cycle.state.nodes().flat_map(|other| other.pods.iter().filter(move |pod| apart(pod, other)));
    let mut found: Vec<Arc<PodInfo>> = found.take(MOST + 1).cloned().collect();
    if found.len() > MOST || found.iter().any(|pod| is_protected(pod)) {
        return Vec::new();
    }
    found.sort_by_key(|pod| pod.key());
    found.into_iter().map(Fix::Delete).collect()
}

/// Volumes for the claims that have none: a released one made available, else a new one; claims that are missing are created.
fn volumes(cycle: &Cycle<'_>) -> Vec<Vec<Fix>> {
    let listers = cycle.state.listers();
    let (mut free, mut provide) = (Vec::new(), Vec::new());
    for volume in &cycle.pod.spec.volumes {
        let VolumeSource::Claim(name) = &volume.source else { continue };
        let Some(claim) = listers.claims.get(&cycle.pod.namespace, name) else {
            provide.push(Fix::CreateClaim(cycle.pod.namespace.clone(), name.clone()));
            continue;
        };
        let spec = claim.spec.as_ref();
        if spec.and_then(|spec| spec.volume_name.as_deref()).is_some_and(|volume| !volume.is_empty()) {
            continue;
        }
        let class = spec.and_then(|spec| spec.storage_class_name.as_deref());
        let mode = class.and_then(|class| listers.storage_classes.get("", class)?.volume_binding_mode.as_deref());
        if mode != Some("WaitForFirstConsumer") {
            provide.push(Fix::Bind(claim.clone()));
            continue;
        }
        provide.push(Fix::Provide(claim.clone()));
        let released = listers.volumes.iter().filter(|volume| {
            let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
            phase == Some("Released") && volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()) == class
        });
        free.extend(released.take(1).map(|volume| Fix::FreeVolume(volume.clone())));
    }
    if free.len() == provide.len() { vec![free, provide] } else { vec![provide] }
}

/// The fewest pods to delete from the node so that the filter passes: one if one does, else as few as upstream's preemption would keep.
fn blockers(cycle: &Cycle<'_>, node: &NodeInfo, at: usize) -> Vec<Fix> {
    let mut candidates: Vec<Arc<PodInfo>> = node.pods.iter().filter(|pod| !is_protected(pod)).cloned().collect();
    candidates.sort_by_key(|pod| (pod.spec.priority, std::cmp::Reverse(pod.started), pod.key()));
    let (prepared, nominated) = (cycle.prepare(), cycle.nominated_pods());
    let passes_without = |gone: &[Arc<PodInfo>]| cycle.judge_node(node, &prepared, &nominated, gone).get(at).is_some_and(Verdict::passes);
    if let Some(one) = candidates.iter().find(|pod| passes_without(std::slice::from_ref(*pod))) {
        return vec![Fix::Delete(one.clone())];
    }
    if !passes_without(&candidates) {
        return Vec::new();
    }
    let mut gone = candidates.clone();
    for pod in candidates.iter().rev() {
        let fewer: Vec<Arc<PodInfo>> = gone.iter().filter(|other| other.key() != pod.key()).cloned().collect();
        if passes_without(&fewer) {
            gone = fewer;
        }
    }
    gone.into_iter().map(Fix::Delete).collect()
}

/// Pods that come back by themselves, or that nobody can delete, are no way out.
fn is_protected(pod: &PodInfo) -> bool {
    pod.mirror || pod.spec.controller.as_ref().is_some_and(|controller| &*controller.kind == "DaemonSet")
}

fn passes_with(cycle: &Cycle<'_>, node: &NodeInfo, at: usize, fix: &Fix) -> bool {
    let mut pod = cycle.pod.clone();
    fix.change_pod(&mut pod);
    let changed = Cycle { pod: &pod, state: cycle.state, profile: cycle.profile };
    let prepared = changed.prepare();
    changed.judge_node(node, &prepared, &changed.nominated_pods(), &[]).get(at).is_some_and(Verdict::passes)
}

//! Why a filter refuses a node, with the numbers and names it compared: what people ask next.

use std::sync::Arc;

use crate::cluster::{AffinityTerm, NodeInfo, NodeSelectorTerm, Operator, PodInfo, Requirement, VolumeSource};
use crate::kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use super::plugins::node_volume_limits::compared;
use super::plugins::pod_topology_spread::filter::comparisons;
use super::plugins::{node_ports, node_resources_fit, taint_toleration};
use super::{Cycle, Verdict};

/// Facts about a refusal, the most telling first; each a fragment without a full stop. Empty where the reason itself says everything.
pub fn evidence(cycle: &Cycle, node: &NodeInfo, plugin: &str) -> Vec<String> {
    match plugin {
        "NodeResourcesFit" | "PodFitsResources" => resources(cycle, node),
        "GeneralPredicates" => [resources(cycle, node), ports(cycle, node), node_affinity(cycle, node)].concat(),
        "TaintToleration" | "PodToleratesNodeTaints" => taint(cycle, node),
        "NodeAffinity" | "MatchNodeSelector" => node_affinity(cycle, node),
        "NodePorts" | "PodFitsHostPorts" => ports(cycle, node),
        "InterPodAffinity" | "MatchInterPodAffinity" => pod_affinity(cycle, node),
        "PodTopologySpread" | "EvenPodsSpread" => spread(cycle, node),
        "VolumeBinding" | "CheckVolumeBinding" => volumes(cycle, node),
        "NodeVolumeLimits" | "MaxCSIVolumeCountPred" => limits(cycle, node),
        "VolumeZone" | "NoVolumeZoneConflict" => zones(cycle, node),
        "VolumeRestrictions" | "NoDiskConflict" => disks(cycle, node),
        _ => Vec::new(),
    }
}

/// What the pod asks of a node's resources, what is taken and by whom, refused or not.
pub fn room(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let request = cycle.profile.rules.requests.incoming(cycle.pod);
    let mut names: Vec<Arc<str>> = vec!["cpu".into(), "memory".into()];
    names.extend((request.ephemeral_storage > 0).then(|| Arc::from("ephemeral-storage")));
    names.extend(request.scalars.iter().map(|(name, _)| name.clone()));
    let mut told = vec![format!("pods: {} of {}", node.pods.len(), node.allowed_pods)];
    for name in names {
        let [asked, taken, capacity] = [request.get(&name), node.requested.get(&name), node.allocatable.get(&name)];
        let [asked, taken, capacity] = [asked, taken, capacity].map(|value| amount(&name, value));
        let takers = takers(cycle, node, &name);
        let by = if takers.is_empty() { String::new() } else { format!(" (by {})", takers.join(", ")) };
        told.push(format!("{name}: {asked} asked, {taken} of {capacity} taken{by}"));
    }
    told
}

/// An amount as people write it: cores, Gi, pieces.
pub fn amount(resource: &str, value: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let trimmed = |number: f64| {
        let text = format!("{number:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match resource {
        "cpu" if value % 1000 == 0 || value.abs() >= 1000 => trimmed(value as f64 / 1000.0),
        "cpu" => format!("{value}m"),
        "memory" | "ephemeral-storage" => match UNITS.iter().find(|(_, unit)| value.abs() >= *unit) {
            Some((suffix, unit)) => format!("{}{suffix}", trimmed(value as f64 / *unit as f64)),
            None => value.to_string(),
        },
        _ => value.to_string(),
    }
}

fn resources(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let (rules, arguments) = (&cycle.profile.rules, &cycle.profile.arguments);
    let request = rules.requests.incoming(cycle.pod);
    let found = node_resources_fit::shortages(node, &request, rules, arguments, &[]);
    let told = found.iter().map(|shortage| {
        let name = &*shortage.resource;
        let [requested, used, capacity] = [shortage.requested, shortage.used, shortage.capacity].map(|value| amount(name, value));
        if name == "pods" {
            return format!("it runs {used} of {capacity} pods");
        }
        let takers = takers(cycle, node, name);
        let by = if takers.is_empty() { String::new() } else { format!(" (by {})", takers.join(", ")) };
        format!("{name}: {requested} asked, {used} of {capacity} taken{by}")
    });
    told.collect()
}

/// The pods that take most of a resource on a node.
fn takers(cycle: &Cycle, node: &NodeInfo, resource: &str) -> Vec<String> {
    const SHOWN: usize = 3;
    let rules = &cycle.profile.rules.requests;
    let mut takers: Vec<(i64, &Arc<PodInfo>)> =
        node.pods.iter().map(|pod| (rules.existing(pod).get(resource), pod)).filter(|(taken, _)| *taken > 0).collect();
    takers.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.key().cmp(&b.1.key())));
    let more = takers.len().saturating_sub(SHOWN);
    let mut told: Vec<String> =
        takers.iter().take(SHOWN).map(|(taken, pod)| format!("{} {}", pod.full_name(), amount(resource, *taken))).collect();
    if more > 0 {
        told.push(format!("{more} more"));
    }
    told
}

fn taint(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let found = taint_toleration::untolerated(&node.taints, &cycle.pod.spec.tolerations, cycle.profile.rules.taint_comparisons);
    let told = found.map(|taint| match &*taint.value {
        "" => format!("taint {}:{}", taint.key, taint.effect),
        value => format!("taint {}={value}:{}", taint.key, taint.effect),
    });
    told.into_iter().collect()
}

fn node_affinity(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let spec = &cycle.pod.spec;
    let mut told: Vec<String> =
        spec.node_selector.requirements.iter().filter_map(|wanted| unmet(wanted, node.labels.get(&wanted.key))).collect();
    let required = spec.node_affinity.required.iter().flatten();
    if !spec.node_affinity.required.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(&node.name, &node.labels))) {
        told.extend(required.filter_map(|term: &NodeSelectorTerm| {
            let labels = term.expressions.iter().find_map(|wanted| unmet(wanted, node.labels.get(&wanted.key)));
            labels.or_else(|| term.fields.iter().find_map(|wanted| unmet(wanted, Some(&node.name))))
        }));
    }
    told
}

fn unmet(wanted: &Requirement, value: Option<&str>) -> Option<String> {
    if wanted.matches(value) {
        return None;
    }
    let values = wanted.values.join(", ");
    let is = value.map_or_else(|| "is absent".to_owned(), |value| format!("is {value}"));
    let key = &wanted.key;
    Some(match wanted.operator {
        Operator::In if wanted.values.len() == 1 => format!("label {key}={values} wanted, {is}"),
        Operator::In => format!("label {key} in ({values}) wanted, {is}"),
        Operator::NotIn => format!("label {key} not in ({values}) wanted, {is}"),
        Operator::Exists => format!("label {key} wanted, {is}"),
        Operator::DoesNotExist => format!("no label {key} wanted, {is}"),
        Operator::Gt => format!("label {key} above {values} wanted, {is}"),
        Operator::Lt => format!("label {key} below {values} wanted, {is}"),
    })
}

fn ports(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let wanted = node_ports::wanted(cycle);
    let used = node
        .used_ports(cycle.profile.rules.sidecar_ports)
        .filter(|(used, _)| wanted.iter().any(|wanted| node_ports::conflicts(wanted, used)));
    used.map(|(port, pod)| format!("port {}/{} is {}'s", port.port, port.protocol, pod.full_name())).collect()
}

fn pod_affinity(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let (own, state) = (&cycle.pod.spec, cycle.state);
    let mut told = Vec::new();
    for term in &own.pod_affinity.required {
        match node.labels.get(&term.topology_key) {
            None => told.push(format!("it has no label {}", term.topology_key)),
            Some(value) if !in_domain(cycle, &term.topology_key, value).any(|pod| reaches(term, &pod, cycle)) => {
                told.push(format!("no pod with {} in {}={value}", selected(term), term.topology_key));
            }
            Some(_) => {}
        }
    }
    for term in &own.pod_anti_affinity.required {
        let Some(value) = node.labels.get(&term.topology_key) else { continue };
        let mut others: Vec<String> =
            in_domain(cycle, &term.topology_key, value).filter(|pod| reaches(term, pod, cycle)).map(|pod| on_node(&pod)).collect();
        others.sort();
        others.truncate(3);
        told.extend(others.into_iter().map(|other| format!("{other} has {}", selected(term))));
    }
    for (key, value) in node.labels.iter() {
        let mut others: Vec<String> = in_domain(cycle, key, value)
            .filter(|pod| {
                pod.spec.pod_anti_affinity.required.iter().any(|term| {
                    term.topology_key == *key
                        && term.matches_labels(&cycle.pod.labels)
                        && term.matches_namespace(
                            &cycle.pod.namespace,
                            state.namespace_labels(&cycle.pod.namespace),
                            cycle.profile.rules.namespace_selector,
                        )
                })
            })
            .map(|pod| on_node(&pod))
            .collect();
        others.sort();
        others.truncate(3);
        told.extend(others.into_iter().map(|other| format!("{other} does not want it within {key}={value}")));
    }
    told
}

fn on_node(pod: &PodInfo) -> String {
    format!("{} on {}", pod.full_name(), pod.node_name.as_deref().unwrap_or_default())
}

fn reaches(term: &AffinityTerm, pod: &PodInfo, cycle: &Cycle) -> bool {
    term.matches_labels(&pod.labels)
        && term.matches_namespace(&pod.namespace, cycle.state.namespace_labels(&pod.namespace), cycle.profile.rules.namespace_selector)
}

fn selected(term: &AffinityTerm) -> String {
    let told = |requirement: &Requirement| match requirement.operator {
        Operator::In => format!("{}={}", requirement.key, requirement.values.join("|")),
        Operator::NotIn => format!("{}!={}", requirement.key, requirement.values.join("|")),
        Operator::Exists => requirement.key.to_string(),
        _ => format!("!{}", requirement.key),
    };
    let all: Vec<String> = term.selector.iter().flat_map(|selector| &selector.requirements).map(told).collect();
    if all.is_empty() { "any labels".to_owned() } else { all.join(",") }
}

/// The pods on all nodes of a domain.
fn in_domain<'a>(cycle: &'a Cycle<'a>, key: &'a str, value: &'a str) -> impl Iterator<Item = Arc<PodInfo>> + 'a {
    cycle.state.nodes().filter(move |node| node.labels.get(key) == Some(value)).flat_map(|node| node.pods.iter().cloned())
}

fn spread(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let told = comparisons(cycle, node).into_iter().map(|compared| match compared {
        Err(key) => format!("it has no label {key}"),
        Ok(of) => {
            let pods = if of.count == 1 { "pod" } else { "pods" };
            let one_more = if of.own > 0 { " and this one" } else { "" };
            let skew = of.count + of.own - of.least;
            let (key, value, count, least) = (of.key, of.value, of.count, of.least);
            format!(
                "{key}={value} holds {count} matching {pods}{one_more}, the emptiest domain {least}: skew {skew}, maxSkew {}",
                of.max_skew
            )
        }
    });
    told.collect()
}

fn limits(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let told = compared(cycle, node).into_iter();
    told.map(|count| format!("{}: {} attached, {} asked, limit {}", count.driver, count.attached, count.wanted, count.limit)).collect()
}

/// The claims of the pod, each with its volume, if it has one.
fn claims<'a>(cycle: &'a Cycle<'a>) -> impl Iterator<Item = (Arc<str>, &'a PersistentVolumeClaim, Option<&'a PersistentVolume>)> {
    let listers = cycle.state.listers();
    cycle.pod.spec.volumes.iter().filter_map(move |volume| {
        let VolumeSource::Claim(name) = &volume.source else { return None };
        let claim = listers.claims.get(&cycle.pod.namespace, name)?;
        let bound = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).filter(|volume| !volume.is_empty());
        Some((name.clone(), &**claim, bound.and_then(|volume| listers.volumes.get("", volume)).map(|volume| &**volume)))
    })
}

fn volumes(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let mut told = Vec::new();
    for (name, claim, volume) in claims(cycle) {
        let spec = claim.spec.as_ref();
        let Some(volume) = volume else {
            let class = spec.and_then(|spec| spec.storage_class_name.as_deref()).unwrap_or_default();
            let size = spec.and_then(|spec| Some(spec.resources.as_ref()?.requests.as_ref()?.get("storage")?.0.as_str()));
            told.push(format!("claim {name} wants {} of class {class:?}", size.unwrap_or("any amount")));
            continue;
        };
        let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
        let wanted =
            required.iter().flat_map(|required| &required.node_selector_terms).flat_map(|term| term.match_expressions.iter().flatten());
        let missed = wanted.filter(|wanted| wanted.operator == "In").filter(|wanted| {
            let value = node.labels.get(&wanted.key);
            !wanted.values.iter().flatten().any(|one| Some(one.as_str()) == value)
        });
        told.extend(missed.map(|wanted| {
            let is = node.labels.get(&wanted.key).map_or_else(|| "is absent".to_owned(), |value| format!("is {value}"));
            let values = wanted.values.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("claim {name}: its volume {} is reached where {} is {values}, {is}", volume_name(volume), wanted.key)
        }));
    }
    told
}

fn volume_name(volume: &PersistentVolume) -> &str {
    volume.metadata.name.as_deref().unwrap_or_default()
}

fn zones(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let is_place = |key: &str| key.ends_with("kubernetes.io/zone") || key.ends_with("kubernetes.io/region");
    let mut told = Vec::new();
    for (name, _, volume) in claims(cycle) {
        let Some(volume) = volume else { continue };
        for (key, value) in volume.metadata.labels.iter().flatten().filter(|(key, _)| is_place(key)) {
            let own = node.labels.get(key);
            if !value.split("__").any(|one| Some(one) == own) {
                told.push(format!(
                    "claim {name}: its volume {} is in {key}={value}, the node in {}",
                    volume_name(volume),
                    own.unwrap_or("none")
                ));
            }
        }
    }
    told
}

/// The pods on the node that hold a disk of the pod's, each found by judging without it.
fn disks(cycle: &Cycle, node: &NodeInfo) -> Vec<String> {
    let Some(at) = cycle.profile.filters.iter().position(|entry| matches!(entry.name, "VolumeRestrictions" | "NoDiskConflict")) else {
        return Vec::new();
    };
    let (prepared, nominated) = (cycle.prepare(), cycle.nominated_pods());
    let passes = |gone: &[Arc<PodInfo>]| cycle.judge_node(node, &prepared, &nominated, gone).get(at).is_some_and(Verdict::passes);
    let holders = node.pods.iter().filter(|pod| !pod.spec.volumes.is_empty() && passes(std::slice::from_ref(pod)));
    holders.map(|pod| format!("{} holds it", pod.full_name())).collect()
}

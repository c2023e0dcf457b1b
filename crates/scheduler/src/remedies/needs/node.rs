//! Needs that concern the node itself: cordon, taints, labels, host ports, room.

use std::sync::Arc;

use crate::cluster::{NodeSelectorTerm, Operator, Requirement, Taint};
use crate::plugins::{node_ports, node_resources_fit, taint_toleration, term_matches};
use crate::remedies::fix::{Fix, UNSCHEDULABLE};
use crate::{Candidate, Cycle};

use super::{Need, deletions, is_of_daemon_set, is_protected};

/// Up to 1.16: a cordon can be lifted, an ill node cannot be talked well.
pub(super) fn conditions(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let known = |kind: &str| matches!(kind, "Ready" | "NetworkUnavailable") || kind == "OutOfDisk" && cycle.profile.release.0 <= 13;
    let wanted = |kind: &str| if kind == "Ready" { "True" } else { "False" };
    let ill = node.conditions.iter().filter(|condition| known(&condition.kind) && &*condition.status != wanted(&condition.kind));
    let ill = ill.map(|condition| Need::hopeless(format!("its condition {} is {}", condition.kind, condition.status)));
    ill.chain(node.unschedulable.then(|| Need::one_of(vec![Fix::Uncordon]))).collect()
}

/// Taints that people set are tolerated or taken off; those that say that a node is ill are not talked away.
pub(super) fn taints(cycle: &Cycle<'_>, node: &Candidate, effects: &[&str]) -> Vec<Need> {
    let comparisons = cycle.profile.rules.taint_comparisons;
    let tolerated =
        |taint: &Taint| cycle.pod.spec.tolerations.iter().any(|toleration| taint_toleration::tolerates(toleration, taint, comparisons));
    let open = node.taints.iter().filter(|taint| effects.contains(&&*taint.effect) && !tolerated(taint));
    let need = |taint: &Taint| match &*taint.key {
        UNSCHEDULABLE => Need::one_of(vec![Fix::Uncordon]),
        key if key.starts_with("node.kubernetes.io/") || key.starts_with("node.cloudprovider.kubernetes.io/") => {
            Need::hopeless(format!("its taint {key}:{} says that it is not well", taint.effect))
        }
        _ => Need::one_of(vec![Fix::Tolerate(taint.clone()), Fix::RemoveTaint(taint.clone())]),
    };
    open.map(need).collect()
}

/// Labels that say where or what a node is are not for people to change.
fn is_free(key: &str) -> bool {
    let prefix = key.split_once('/').map(|(prefix, _)| prefix);
    !prefix.is_some_and(|prefix| prefix.ends_with("kubernetes.io") || prefix.ends_with("k8s.io"))
}

/// Labels that a Policy wants of nodes: each to be set or, without a value, removed. As everywhere, what a label says is not changed.
pub(super) fn wanted_labels(labels: Vec<(Arc<str>, Option<Arc<str>>)>, node: &Candidate) -> Vec<Need> {
    let need = |(key, value): (Arc<str>, Option<Arc<str>>)| match (node.labels.get(&key), &value) {
        (Some(is), Some(wanted)) => Need::hopeless(format!("its label {key} is {is}, the scheduler's Policy wants {wanted}")),
        _ if is_free(&key) => Need::one_of(vec![Fix::Label(key, value)]),
        (Some(_), None) => Need::hopeless(format!("the scheduler's Policy wants no label {key}")),
        (None, _) => Need::hopeless(format!("the scheduler's Policy wants label {key}")),
    };
    labels.into_iter().map(need).collect()
}

/// The node selector's labels, each; the required terms, one of which must hold; and those of the scheduler's configuration.
pub(super) fn affinity(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let spec = &cycle.pod.spec;
    if is_of_daemon_set(cycle.pod) {
        return vec![Need::hopeless("the pod is its DaemonSet's for another node")];
    }
    let unmet = |wanted: &&Requirement| !wanted.matches(node.labels.get(&wanted.key));
    let of_label = |wanted: &Requirement| {
        let drop = Fix::DropNodeSelector(wanted.key.clone());
        Need::one_of(label(wanted, node).into_iter().chain([drop]).collect())
    };
    let mut needs: Vec<Need> = spec.node_selector.requirements.iter().filter(unmet).map(of_label).collect();
    let fields = cycle.profile.rules.match_fields;
    let open = |terms: &[NodeSelectorTerm]| !terms.iter().any(|term| term_matches(term, node, fields));
    if let Some(terms) = spec.node_affinity.required.as_deref().filter(|terms| open(terms)) {
        needs.push(Need::one_of(labels(terms, node).into_iter().chain([Fix::DropNodeAffinity]).collect()));
    }
    let added = cycle.profile.arguments.added_affinity.as_ref().and_then(|added| added.required.as_deref());
    if let Some(terms) = added.filter(|terms| open(terms)) {
        let options = labels(terms, node);
        let why = "the scheduler's configuration (addedAffinity) keeps pods away from it".to_owned();
        needs.push(Need { why, ..Need::one_of(options) });
    }
    needs
}

/// The labels that terms lack, of each term that labels alone can make hold.
fn labels(terms: &[NodeSelectorTerm], node: &Candidate) -> Vec<Fix> {
    let unmet = |wanted: &&Requirement| !wanted.matches(node.labels.get(&wanted.key));
    let usable = |term: &&NodeSelectorTerm| {
        term.error.is_none() && !term.is_empty() && term.fields.iter().all(|field| field.matches(Some(&node.name)))
    };
    let of_term =
        |term: &NodeSelectorTerm| term.expressions.iter().filter(unmet).map(|wanted| label(wanted, node)).collect::<Option<Vec<Fix>>>();
    terms.iter().filter(usable).filter_map(of_term).flatten().collect()
}

/// The label that meets a requirement, where it is one that people may set. What a label that is there says is not changed: others rely on it.
pub(super) fn label(wanted: &Requirement, node: &Candidate) -> Option<Fix> {
    let number =
        |by: i64| wanted.values.first().and_then(|bound| bound.parse::<i64>().ok()?.checked_add(by)).map(|bound| bound.to_string().into());
    let value = match wanted.operator {
        Operator::In => Some(wanted.values.first()?.clone()),
        Operator::Exists => Some(Arc::from("")),
        Operator::NotIn | Operator::DoesNotExist => None,
        Operator::Gt => Some(number(1)?),
        Operator::Lt => Some(number(-1)?),
    };
    let changes = value.is_some() && node.labels.has(&wanted.key);
    (is_free(&wanted.key) && !changes).then(|| Fix::Label(wanted.key.clone(), value))
}

/// Each port that is taken: another one, or its holder gone.
pub(super) fn ports(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let mut needs = Vec::new();
    for wanted in node_ports::wanted(cycle) {
        for (used, holder) in node.used_ports(cycle.profile.rules.sidecar_ports) {
            if node_ports::conflicts(wanted, used) {
                let change = Fix::ChangePort(wanted.protocol.clone(), wanted.port);
                needs.push(Need::one_of([change].into_iter().chain(deletions([holder].into_iter())).collect()));
            }
        }
    }
    needs
}

/// Each resource that lacks: less asked for, or a pod less that takes of it.
pub(super) fn resources(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let (rules, arguments) = (&cycle.profile.rules, &cycle.profile.arguments);
    let request = rules.requests.incoming(cycle.pod);
    let devices = if rules.dra_extended_resources { node_resources_fit::device_resources(cycle) } else { Vec::new() };
    let short = node_resources_fit::shortages(node, &request, rules, arguments, &devices);
    let takers = |resource: &str| {
        let pods = node.pods.iter().filter(|pod| !is_protected(pod));
        deletions(pods.filter(|pod| resource == "pods" || rules.requests.existing(pod).get(resource) > 0))
    };
    let need = |shortage: node_resources_fit::Shortage| {
        let resource = &*shortage.resource;
        let lower = (resource != "pods" && shortage.requested > 0).then(|| Fix::Lower(shortage.resource.clone(), 0));
        // Where the node never has that much, no pod less makes it enough.
        let delete = if shortage.requested > shortage.capacity { Vec::new() } else { takers(resource) };
        let what = if resource == "pods" { "as many pods as it may, and none that may be deleted" } else { "no room" };
        Need { why: format!("it has {what}"), ..Need::one_of(lower.into_iter().chain(delete).collect()) }
    };
    short.into_iter().map(need).collect()
}

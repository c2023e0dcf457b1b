//! What pod affinity compares: the pods that each term selects in the node's domain, and those whose own anti-affinity selects this pod.

use std::sync::Arc;

use crate::cluster::{AffinityTerm, NodeInfo, Operator, PodInfo, Requirement, TermKind};
use crate::framework::Fact;
use crate::plugins::wording::some;
use crate::release::TermGrouping;
use crate::{Candidate, Cycle};

use super::{HOSTNAME, by_hostname, others_term_matches, own_term_matches};

/// So many pods are named beside the first.
const NAMED: usize = 3;

/// The pods that each term of the pod means in the node's domain, and those whose own anti-affinity means this pod.
pub(super) fn affinity(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let mut facts = together(cycle, node);
    facts.extend(avoided(cycle, node));
    let objections = objections(cycle, node);
    if objections.is_empty() {
        facts.push(Fact::holding("no pod in its domains avoids the pod".to_owned()));
    }
    facts.extend(objections);
    facts
}

/// What required anti-affinity finds.
fn avoided(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let (terms, rules) = (&cycle.pod.spec.pod_anti_affinity.required, &cycle.profile.rules);
    let walks = rules.absent_nodes_make_affinity_walk() && cycle.state.absent_nodes().next().is_some();
    if (walks || rules.anti_affinity_grouping() == TermGrouping::OneDomain) && !terms.is_empty() {
        return vec![avoided_at_once(cycle, node)];
    }
    let of_term = |term: &Arc<AffinityTerm>| {
        let (key, selected) = (&term.topology_key, selected(term, cycle));
        let own_pods_only = rules.hostname_terms_see_own_pods() && by_hostname(term);
        let lost = lost(cycle, |pod| rules.affinity_walks_all_pods() && !own_pods_only && own_term_matches(term, pod, cycle));
        if !lost.is_empty() {
            return told(false, format!("the pod avoids {selected}, and the node is gone of {}", some(&lost, 1)), &lost);
        }
        let Some(value) = node.labels.get(key) else {
            return Fact::holding(format!("it has no label {key}, so no pod is near by that term"));
        };
        let alone = left_to_nodes(cycle, term);
        let place = place(cycle, node, key, value, alone);
        let near = named(node, in_domain(cycle, node, key, value, alone).filter(|pod| own_term_matches(term, pod, cycle)));
        match near.is_empty() {
            true => Fact::holding(format!("the pod avoids {selected}, and none is {place}")),
            false => told(false, format!("the pod avoids {selected}, and {place} is {}", some(&near, 1)), &near),
        }
    };
    terms.iter().map(of_term).collect()
}

/// The same where one pod must match all terms, in all their domains.
fn avoided_at_once(cycle: &Cycle, node: &Candidate) -> Fact {
    let terms = &cycle.pod.spec.pod_anti_affinity.required;
    let all = |pod: &PodInfo| terms.iter().all(|term| own_term_matches(term, pod, cycle));
    let value = |key: &str| node.labels.get(key);
    let near = |other: &NodeInfo| {
        terms.iter().all(|term| value(&term.topology_key).is_some_and(|own| other.labels.get(&term.topology_key) == Some(own)))
    };
    let others = cycle.state.nodes().filter(|other| other.id != node.id).chain([node.node]).filter(|other| near(other));
    let mut found = named(node, others.flat_map(|other| &other.pods).filter(|pod| all(pod)));
    let selected: Vec<String> = terms.iter().map(|term| selected(term, cycle)).collect();
    let avoids = format!("the pod avoids {}", selected.join(" that is at once "));
    let lost = lost(cycle, all);
    if !lost.is_empty() {
        return told(false, format!("{avoids}, and the node is gone of {}", some(&lost, 1)), &lost);
    }
    found.dedup();
    match found.is_empty() {
        true => Fact::holding(format!("{avoids}, and none is near by")),
        false => told(false, format!("{avoids}, and near by is {}", some(&found, 1)), &found),
    }
}

/// Pods of a kind whose nodes are gone.
fn lost(cycle: &Cycle, meant: impl Fn(&PodInfo) -> bool) -> Vec<String> {
    let pods = cycle.state.absent_nodes().flat_map(|node| &node.pods).filter(|pod| meant(pod));
    let mut names: Vec<String> = pods.map(|pod| pod.full_name()).collect();
    names.sort_unstable();
    names
}

/// Whether a term is held against each node's own pods alone.
fn left_to_nodes(cycle: &Cycle, term: &AffinityTerm) -> bool {
    by_hostname(term) && cycle.profile.gates.on("InterPodAffinityHostnameFastPath")
}

/// Whether required affinity holds on a node.
pub(super) fn near_what_it_seeks(cycle: &Cycle, node: &Candidate) -> bool {
    together(cycle, node).iter().all(|fact| fact.holds)
}

/// What required affinity finds: pods that match every term, in each term's domain; or nowhere any, and the pod is the first of its kind.
fn together(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let terms = &cycle.pod.spec.pod_affinity.required;
    let each_apart = cycle.profile.rules.affinity_grouping() == TermGrouping::Separate;
    let means = |term: &AffinityTerm, pod: &PodInfo| {
        terms.iter().all(|other| (each_apart && **other != *term) || own_term_matches(other, pod, cycle))
    };
    let alone = terms.iter().all(|term| left_to_nodes(cycle, term));
    let mut facts = Vec::new();
    for term in terms {
        let key = &term.topology_key;
        let selected = selected(term, cycle);
        let Some(value) = node.labels.get(key) else {
            facts.push(Fact::refusing(format!("it has no label {key}")));
            continue;
        };
        let place = place(cycle, node, key, value, alone);
        let near = named(node, in_domain(cycle, node, key, value, alone).filter(|pod| means(term, pod)));
        facts.push(match near.is_empty() {
            false => told(true, format!("the pod seeks {selected}, and {place} is {}", some(&near, 1)), &near),
            true => Fact::refusing(format!("the pod seeks {selected}, and none is {place}")),
        });
    }
    let first_of_its_kind = || {
        let anywhere = alone || cycle.profile.rules.first_pod_looks_everywhere();
        let counted = |at: &NodeInfo, pod: &Arc<PodInfo>| {
            terms.iter().any(|term| (anywhere || at.labels.has(&term.topology_key)) && means(term, pod))
        };
        let found = cycle.state.nodes().any(|at| at.pods.iter().any(|pod| counted(at, pod)));
        let found = found || node.added.iter().any(|pod| counted(node.node, pod));
        !found && terms.iter().all(|term| own_term_matches(term, cycle.pod, cycle))
    };
    let lacks_key = terms.iter().any(|term| !node.labels.has(&term.topology_key));
    let needs_keys = cycle.profile.rules.first_pod_needs_keys && lacks_key;
    if facts.iter().any(|fact| !fact.holds) && !needs_keys && first_of_its_kind() {
        return vec![Fact::holding("no pod anywhere matches its affinity, but it does itself: it is the first of its kind".to_owned())];
    }
    facts
}

/// Pods in the node's domains that keep this one away.
fn objections(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut keys: Vec<&Arc<str>> = cycle
        .state
        .terms()
        .filter(|(term, _)| term.kind == TermKind::RequiredAntiAffinity && others_term_matches(&term.term, cycle))
        .map(|(term, _)| &term.term.topology_key)
        .chain(node.added.iter().flat_map(|pod| pod.spec.pod_anti_affinity.required.iter().map(|term| &term.topology_key)))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let Some(value) = node.labels.get(key) else { continue };
        let objects = |pod: &&Arc<PodInfo>| {
            pod.spec.pod_anti_affinity.required.iter().any(|term| term.topology_key == *key && others_term_matches(term, cycle))
        };
        let alone = &**key == HOSTNAME && cycle.profile.gates.on("InterPodAffinityHostnameFastPath");
        let against = named(node, in_domain(cycle, node, key, value, alone).filter(objects));
        if !against.is_empty() {
            let place = place(cycle, node, key, value, alone);
            facts.push(told(false, format!("the pod is avoided {place} by {}", some(&against, 1)), &against));
        }
    }
    facts
}

/// A fact that names one pod, and behind it some more of them.
fn told(holds: bool, text: String, pods: &[String]) -> Fact {
    let who = if pods.len() > 1 { format!("also {}", some(&pods[1..], NAMED)) } else { String::new() };
    Fact { who, ..Fact::new(holds, text) }
}

/// A domain in words: often it is the node alone.
fn place(cycle: &Cycle, node: &Candidate, key: &str, value: &str, alone: bool) -> String {
    let shared = !alone && cycle.state.nodes().any(|other| other.id != node.id && other.labels.get(key) == Some(value));
    if shared { format!("within {key}={value}") } else { "on this node".to_owned() }
}

/// Pods, in order, with the nodes they are on where it is another one.
fn named<'a>(node: &Candidate, pods: impl Iterator<Item = &'a Arc<PodInfo>>) -> Vec<String> {
    let name = |pod: &'a Arc<PodInfo>| match pod.node_name.as_deref().filter(|other| **other != *node.name) {
        Some(other) => format!("{} on {other}", pod.full_name()),
        None => pod.full_name(),
    };
    let mut names: Vec<String> = pods.map(name).collect();
    names.sort_unstable();
    names
}

/// The pods on all nodes of a domain, with the candidate as it is thought to be; `alone`: on the candidate only.
fn in_domain<'a>(
    cycle: &'a Cycle<'a>,
    node: &'a Candidate<'a>,
    key: &'a str,
    value: &'a str,
    alone: bool,
) -> impl Iterator<Item = &'a Arc<PodInfo>> {
    let others = cycle.state.nodes().filter(move |other| !alone && other.id != node.id && other.labels.get(key) == Some(value));
    others.chain([node.node]).flat_map(|node: &NodeInfo| node.pods.iter())
}

/// The pods a term means, in a selector's notation, and their namespaces where these are not the pod's own.
fn selected(term: &AffinityTerm, cycle: &Cycle) -> String {
    let told = |requirement: &Requirement| match requirement.operator {
        Operator::In if requirement.values.len() > 1 => format!("{} in ({})", requirement.key, requirement.values.join(",")),
        Operator::In => format!("{}={}", requirement.key, requirement.values.join("")),
        Operator::NotIn => format!("{} notin ({})", requirement.key, requirement.values.join(",")),
        Operator::Exists => requirement.key.to_string(),
        _ => format!("!{}", requirement.key),
    };
    let all: Vec<String> = term.selector.iter().flat_map(|selector| &selector.requirements).map(told).collect();
    let labels = match (&term.selector, all.is_empty()) {
        (None, _) => "a missing selector, which matches none".to_owned(),
        (Some(_), true) => "any labels".to_owned(),
        (Some(_), false) => all.join(","),
    };
    let own = term.namespaces.is_empty() || term.namespaces.iter().all(|namespace| *namespace == cycle.pod.namespace);
    match (own, &term.namespace_selector) {
        (true, None) => labels,
        (_, Some(_)) => format!("{labels} (in namespaces by selector)"),
        (false, None) => format!("{labels} (in {})", term.namespaces.join(", ")),
    }
}

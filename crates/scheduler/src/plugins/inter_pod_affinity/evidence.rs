//! What pod affinity compares: the pods that each term selects in the node's domain, and those whose own anti-affinity selects this pod.

use std::sync::Arc;

use crate::cluster::{AffinityTerm, NodeInfo, PodInfo, TermKind};
use crate::framework::{Fact, FoundPod, LabelCheck, PodCheck, SelectedNamespaces, SelectedPods, TopologyDomain};
use crate::release::TermGrouping;
use crate::{Candidate, Cycle};

use super::{HOSTNAME_LABEL, by_hostname, others_term_matches, own_term_matches};

/// The pods that each term of the pod means in the node's domain, and those whose own anti-affinity means this pod.
pub(super) fn affinity(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let mut facts = together(cycle, node);
    facts.extend(avoided(cycle, node));
    let objections = objections(cycle, node);
    if objections.is_empty() {
        facts.push(Fact::holding(PodCheck::NoExistingAntiAffinity));
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
        let key = &term.topology_key;
        let fact = |domain: TopologyDomain, found: Vec<FoundPod>| {
            Fact::new(found.is_empty(), PodCheck::AntiAffinity { selected: vec![selected(term, cycle)], domain, found })
        };
        let own_pods_only = rules.hostname_terms_see_own_pods() && by_hostname(term);
        let lost = lost(cycle, node, |pod| rules.affinity_walks_all_pods() && !own_pods_only && own_term_matches(term, pod, cycle));
        if !lost.is_empty() {
            return fact(TopologyDomain::AbsentNodes, lost);
        }
        let Some(value) = node.labels.shared(key) else {
            return Fact::holding(PodCheck::OutsideTopology { key: key.clone() });
        };
        let alone = left_to_nodes(cycle, term);
        let near = in_domain(cycle, node, key, value, alone).filter(|pod| own_term_matches(term, pod, cycle));
        fact(domain(cycle, node, key, value, alone), found(node, near))
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
    let fact = |domain: TopologyDomain, found: Vec<FoundPod>| {
        let selected = terms.iter().map(|term| selected(term, cycle)).collect();
        Fact::new(found.is_empty(), PodCheck::AntiAffinity { selected, domain, found })
    };
    let lost = lost(cycle, node, all);
    if !lost.is_empty() {
        return fact(TopologyDomain::AbsentNodes, lost);
    }
    let mut near = found(node, others.flat_map(|other| &other.pods).filter(|pod| all(pod)));
    near.dedup();
    fact(TopologyDomain::EveryTerm, near)
}

/// Pods of a kind whose nodes are gone.
fn lost(cycle: &Cycle, node: &Candidate, meant: impl Fn(&PodInfo) -> bool) -> Vec<FoundPod> {
    found(node, cycle.state.absent_nodes().flat_map(|node| &node.pods).filter(|pod| meant(pod)))
}

/// Whether a term is held against each node's own pods alone.
fn left_to_nodes(cycle: &Cycle, term: &AffinityTerm) -> bool {
    by_hostname(term) && cycle.profile.gates.on("InterPodAffinityHostnameFastPath")
}

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
        let Some(value) = node.labels.shared(key) else {
            facts.push(Fact::refusing(LabelCheck::Missing { key: key.clone() }));
            continue;
        };
        let near = found(node, in_domain(cycle, node, key, value, alone).filter(|pod| means(term, pod)));
        let (selected, domain) = (selected(term, cycle), domain(cycle, node, key, value, alone));
        facts.push(Fact::new(!near.is_empty(), PodCheck::Affinity { selected, domain, found: near }));
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
        return vec![Fact::holding(PodCheck::FirstOfItsKind)];
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
        let Some(value) = node.labels.shared(key) else { continue };
        let objects = |pod: &&Arc<PodInfo>| {
            pod.spec.pod_anti_affinity.required.iter().any(|term| term.topology_key == *key && others_term_matches(term, cycle))
        };
        let alone = &**key == HOSTNAME_LABEL && cycle.profile.gates.on("InterPodAffinityHostnameFastPath");
        let against = found(node, in_domain(cycle, node, key, value, alone).filter(objects));
        if !against.is_empty() {
            let domain = domain(cycle, node, key, value, alone);
            facts.push(Fact::refusing(PodCheck::ExistingAntiAffinity { domain, found: against }));
        }
    }
    facts
}

/// A domain: often it is the node alone.
fn domain(cycle: &Cycle, node: &Candidate, key: &Arc<str>, value: &Arc<str>, alone: bool) -> TopologyDomain {
    let shared = !alone && cycle.state.nodes().any(|other| other.id != node.id && other.labels.shared(key) == Some(value));
    if shared { TopologyDomain::Label { key: key.clone(), value: value.clone() } } else { TopologyDomain::Node }
}

/// Pods, by name, with the nodes they are on where it is another one.
fn found<'a>(node: &Candidate, pods: impl Iterator<Item = &'a Arc<PodInfo>>) -> Vec<FoundPod> {
    let other = |pod: &PodInfo| pod.node_name.clone().filter(|other| *other != node.name);
    let mut found: Vec<FoundPod> = pods.map(|pod| FoundPod { pod: pod.key(), node: other(pod) }).collect();
    found.sort_by_cached_key(|FoundPod { pod: (namespace, name), node }| (format!("{namespace}/{name}"), node.clone()));
    found
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

fn selected(term: &AffinityTerm, cycle: &Cycle) -> SelectedPods {
    let own = term.namespaces.is_empty() || term.namespaces.iter().all(|namespace| *namespace == cycle.pod.namespace);
    let namespaces = match (own, &term.namespace_selector) {
        (true, None) => SelectedNamespaces::Own,
        (_, Some(_)) => SelectedNamespaces::BySelector,
        (false, None) => SelectedNamespaces::Listed(term.namespaces.clone()),
    };
    SelectedPods { labels: term.selector.as_ref().map(|selector| selector.requirements.clone()), namespaces }
}

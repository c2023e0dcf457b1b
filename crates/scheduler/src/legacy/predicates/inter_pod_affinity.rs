//! MatchInterPodAffinity: required affinity and anti-affinity between pods, as each release counted them.
//! Sources: `algorithm/predicates/predicates.go` and `metadata.go`, 1.9 to 1.17.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::cluster::{AffinityTerm, Labels, NamespaceSelectors, NodeInfo, PodInfo, Requirement};

use crate::legacy::reason::PreparedPredicate;
use crate::legacy::reason::Reason;
use crate::release::{Rules, TermGrouping};
use crate::{Candidate, Cycle, Verdict};

/// The key whose domain 1.10 takes to be the node itself.
const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// MatchInterPodAffinity.
pub(super) fn match_inter_pod_affinity<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    let rules = &cycle.profile.rules;
    let walks = rules.absent_nodes_make_affinity_walk() && cycle.state.absent_nodes().next().is_some();
    let grouping = |usual: TermGrouping| if walks { TermGrouping::OneDomain } else { usual };
    let existing = ExistingAntiAffinity::new(cycle);
    let affinity = domains(cycle, &cycle.pod.spec.pod_affinity.required, grouping(rules.affinity_grouping()), walks);
    let mut anti_affinity = domains(cycle, &cycle.pod.spec.pod_anti_affinity.required, grouping(rules.anti_affinity_grouping()), walks);
    if rules.returned_pods_match_any_term() && !walks {
        anti_affinity.iter_mut().for_each(|domain| domain.any = &cycle.pod.spec.pod_anti_affinity.required);
    }
    Box::new(move |candidate| {
        if existing.refuses(candidate) {
            return Ok(vec![Reason::PodAffinityNotMatch, Reason::ExistingPodsAntiAffinityRulesNotMatch]);
        }
        let near_others = anti_affinity.iter().any(|domain| !domain.astray.is_empty() || domain.count(candidate) > 0);
        // On the walk the first pod that matches anti-affinity ends it, whatever affinity wants.
        let ends_walk = walks && near_others;
        if (!ends_walk || affinity.iter().any(|domain| !domain.astray.is_empty()))
            && !affinity_holds(cycle, &affinity, candidate, walks, ends_walk)?
        {
            return Ok(vec![Reason::PodAffinityNotMatch, Reason::PodAffinityRulesNotMatch]);
        }
        if near_others {
            return Ok(vec![Reason::PodAffinityNotMatch, Reason::PodAntiAffinityRulesNotMatch]);
        }
        Ok(Vec::new())
    })
}

/// Whether the pod's own affinity holds, or it is the first pod of a series that wants to be together. `ends_walk`: whether the walk through all
/// pods may end before it meets one that fails it.
fn affinity_holds(cycle: &Cycle, domains: &[Domain], candidate: &Candidate, walks: bool, ends_walk: bool) -> Result<bool, Verdict> {
    let own = |domain: &Domain| domain.terms.iter().all(|term| matches(term, &cycle.pod.namespace, &cycle.pod.labels));
    if cycle.profile.rules.affinity_grouping() == TermGrouping::ByKey && !walks {
        // No pod that matches sits where any of the keys is known.
        let first = || domains.iter().all(|domain| domain.is_empty(candidate)) && domains.first().is_some_and(own);
        return Ok(domains.iter().all(|domain| domain.count(candidate) > 0) || first());
    }
    for domain in domains {
        let here = domain.count(candidate) > 0;
        if let Some(gone) = domain.astray.first() {
            return Err(if here || ends_walk { drawn(gone) } else { not_found(cycle, domain, candidate, gone) });
        }
        // Each term (or all of them, where they are one domain) may be the first of its series.
        if !here && (domain.pods(candidate) > 0 || !own(domain)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A matching pod on a node that is gone fails the look-up of that node.
fn not_found(cycle: &Cycle, domain: &Domain, candidate: &Candidate, gone: &str) -> Verdict {
    let term = match domain.terms.as_slice() {
        [term] if domain.rules.affinity_errors_name_term() => format!("PodAffinityTerm {}", written(term)),
        _ => "PodAffinity".to_owned(),
    };
    let (pod, node) = (cycle.pod.full_name(), &candidate.name);
    Verdict::Error(format!("Cannot schedule pod {pod} onto node {node}, because of {term}, err: node \"{gone}\" not found"))
}

/// Upstream looks at pods in the order of its cache's map: whether one that decides comes before the one whose node is gone is left to chance.
fn drawn(gone: &str) -> Verdict {
    let missing = format!("the order of the scheduler's cache, which decides whether a pod on node {gone}, that is gone, ends the attempt");
    Verdict::Unknown { missing: missing.into() }
}

/// A term as Go prints its value.
fn written(term: &AffinityTerm) -> String {
    let selector = term.selector.as_ref().map_or("nil".to_owned(), |selector| {
        let (labels, expressions) = selector.requirements.split_at(term.match_labels);
        let labels: String = labels.iter().map(|label| format!("{}: {},", label.key, label.values.concat())).collect();
        let expression = |wanted: &Requirement| format!("{{{} {:?} [{}]}}", wanted.key, wanted.operator, wanted.values.join(" "));
        let expressions: Vec<String> = expressions.iter().map(expression).collect();
        format!("&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[{}],}}", expressions.join(" "))
    });
    format!("{{{selector} [{}] {}}}", term.namespaces.join(" "), term.topology_key)
}

/// The pods some terms mean, counted by the values of topology keys.
struct Domain<'a> {
    keys: Vec<&'a str>,
    terms: Vec<&'a AffinityTerm>,
    counts: HashMap<Vec<Arc<str>>, i64>,
    pods: i64,
    /// Whether only the node's own pods are checked: the key is the hostname, where that counts.
    own_pods_only: bool,
    /// Nodes that are gone but have a pod the terms mean, where each check walks all pods.
    astray: BTreeSet<Arc<str>>,
    /// Terms of which one is enough for a pod put back to be counted (`metadata.go` AddPod).
    any: &'a [Arc<AffinityTerm>],
    rules: &'a Rules,
}

fn domains<'a>(cycle: &'a Cycle<'a>, terms: &'a [Arc<AffinityTerm>], grouping: TermGrouping, walks: bool) -> Vec<Domain<'a>> {
    if terms.is_empty() {
        return Vec::new();
    }
    let all = || terms.iter().map(|term| &**term).collect::<Vec<_>>();
    let keys = || terms.iter().map(|term| &*term.topology_key).collect::<Vec<_>>();
    match grouping {
        TermGrouping::Separate => terms.iter().map(|term| Domain::new(cycle, vec![&term.topology_key], vec![&**term], walks)).collect(),
        TermGrouping::OneDomain => vec![Domain::new(cycle, keys(), all(), walks)],
        TermGrouping::ByKey => terms.iter().map(|term| Domain::new(cycle, vec![&term.topology_key], all(), walks)).collect(),
    }
}

impl<'a> Domain<'a> {
    fn new(cycle: &'a Cycle<'a>, keys: Vec<&'a str>, terms: Vec<&'a AffinityTerm>, walks: bool) -> Self {
        let rules = &cycle.profile.rules;
        let own_pods_only = rules.hostname_terms_see_own_pods() && keys == [HOSTNAME_LABEL];
        let walks = walks || rules.affinity_walks_all_pods() && !own_pods_only;
        let mut domain = Self { own_pods_only, keys, terms, counts: HashMap::new(), pods: 0, astray: BTreeSet::new(), any: &[], rules };
        let state = cycle.state;
        for namespace in state.populated_namespaces() {
            for group in state.groups_in(namespace) {
                if domain.means(&group.namespace, &group.labels) {
                    group.nodes.iter().for_each(|(id, count)| domain.add(state.node_by_id(*id), i64::from(*count), walks));
                }
            }
        }
        domain
    }

    fn add(&mut self, node: &NodeInfo, count: i64, walks: bool) {
        if node.exists {
            self.pods += count;
            if let Some(values) = self.values(node) {
                *self.counts.entry(values).or_insert(0) += count;
            }
        } else if walks {
            self.astray.insert(node.name.clone());
        }
    }

    fn means(&self, namespace: &str, labels: &Labels) -> bool {
        self.terms.iter().all(|term| matches(term, namespace, labels))
    }

    fn values(&self, node: &NodeInfo) -> Option<Vec<Arc<str>>> {
        self.keys.iter().map(|key| node.labels.shared(key).cloned()).collect()
    }

    /// What a simulation changed: pods meant that were added, less those taken away.
    fn change(&self, candidate: &Candidate) -> i64 {
        let meant = |pod: &&Arc<PodInfo>| self.means(&pod.namespace, &pod.labels);
        let counts = |pod: &&Arc<PodInfo>| self.rules.nominated_pods_count_for_affinity() || pod.node_name.is_some();
        let added = candidate.added.iter().filter(counts).filter(meant).count();
        let any = |pod: &&Arc<PodInfo>| self.any.iter().any(|term| matches(term, &pod.namespace, &pod.labels));
        let besides = candidate.returned.iter().filter(|pod| any(pod) && !meant(pod)).count();
        (added + besides) as i64 - candidate.removed.iter().filter(meant).count() as i64
    }

    /// How many pods meant share the node's domain; 0 where the node has none.
    fn count(&self, candidate: &Candidate) -> i64 {
        let Some(values) = self.values(candidate.node) else { return 0 };
        if self.own_pods_only {
            return self.own_pods(candidate);
        }
        self.counts.get(&values).copied().unwrap_or(0) + self.change(candidate)
    }

    /// How many pods are meant at all.
    fn pods(&self, candidate: &Candidate) -> i64 {
        if self.own_pods_only { self.own_pods(candidate) } else { self.pods + self.change(candidate) }
    }

    fn own_pods(&self, candidate: &Candidate) -> i64 {
        candidate.pods.iter().filter(|pod| self.means(&pod.namespace, &pod.labels)).count() as i64
    }

    /// Whether no pod meant sits on a node with the key.
    fn is_empty(&self, candidate: &Candidate) -> bool {
        let change = if self.values(candidate.node).is_some() { self.change(candidate) } else { 0 };
        self.counts.values().sum::<i64>() + change <= 0
    }
}

/// The domains that existing pods' required anti-affinity closes to the pod.
struct ExistingAntiAffinity<'a> {
    pod: &'a PodInfo,
    rules: &'a Rules,
    closed: HashMap<(Arc<str>, Arc<str>), i64>,
}

impl<'a> ExistingAntiAffinity<'a> {
    fn new(cycle: &'a Cycle<'a>) -> Self {
        let (pod, rules) = (cycle.pod, &cycle.profile.rules);
        let mut closed: HashMap<(Arc<str>, Arc<str>), i64> = HashMap::new();
        for node in cycle.state.nodes() {
            for key in node.pods.iter().flat_map(|existing| keys_against(pod, existing, rules)) {
                if let Some(value) = node.labels.shared(key) {
                    *closed.entry((key.clone(), value.clone())).or_insert(0) += 1;
                }
            }
        }
        Self { pod, rules, closed }
    }

    fn refuses(&self, candidate: &Candidate) -> bool {
        let keys = |pods: &[Arc<PodInfo>], wanted: &Arc<str>| {
            let keys = pods.iter().flat_map(|existing| keys_against(self.pod, existing, self.rules));
            keys.filter(|key| *key == wanted).count() as i64
        };
        candidate.labels.iter().any(|(key, value)| {
            let counted = self.closed.get(&(key.clone(), value.clone())).copied().unwrap_or(0);
            counted + keys(candidate.added, key) - keys(candidate.removed, key) > 0
        })
    }
}

/// The topology keys of an existing pod's required anti-affinity terms that mean `pod`.
fn keys_against<'b>(pod: &PodInfo, existing: &'b PodInfo, rules: &Rules) -> Vec<&'b Arc<str>> {
    let terms = &existing.spec.pod_anti_affinity.required;
    let matching = terms.iter().filter(|term| matches(term, &pod.namespace, &pod.labels));
    matching
        .map(|term| if rules.existing_pods_close_last_terms() { &terms[terms.len() - 1].topology_key } else { &term.topology_key })
        .collect()
}

/// Whether a term means pods of a namespace and labels; no release here knows namespaceSelector.
fn matches(term: &AffinityTerm, namespace: &str, labels: &Labels) -> bool {
    term.matches_namespace(namespace, None, NamespaceSelectors::Unknown) && term.matches_labels(labels)
}

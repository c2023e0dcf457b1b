//! Required terms: who is where is counted once, each node is then a few look-ups.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{AffinityTerm, NodeCounts, NodeInfo, PodInfo, TermKind};
use crate::release::AffinityOrder;
use crate::{Candidate, Cycle, PreFilter, Refusal, Verdict};

use super::local::{Local, by_hostname};
use super::{others_term_matches, own_term_matches, own_term_reaches};

const AFFINITY_REASON: &str = "node(s) didn't match pod affinity rules";
const ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
const EXISTING_ANTI_AFFINITY_REASON: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// Pods counted by topology key and value.
#[derive(Default)]
struct PairCounts {
    by_key: HashMap<Arc<str>, HashMap<Arc<str>, i64>>,
    total: i64,
}

impl PairCounts {
    fn add(&mut self, key: &Arc<str>, node: &NodeInfo, count: i64) {
        let Some(value) = node.labels.shared(key).filter(|_| node.exists) else { return };
        *self.by_key.entry(key.clone()).or_default().entry(value.clone()).or_default() += count;
        self.total += count;
    }

    fn add_all(&mut self, key: &Arc<str>, nodes: &NodeCounts, cycle: &Cycle) {
        for (node, count) in nodes {
            self.add(key, cycle.state.node_by_id(*node), i64::from(*count));
        }
    }

    fn get(&self, key: &str, value: &str) -> i64 {
        self.by_key.get(key).and_then(|values| values.get(value)).copied().unwrap_or(0)
    }
}

/// What required terms are held against.
struct Terms<'a> {
    cycle: &'a Cycle<'a>,
    affinity: &'a [Arc<AffinityTerm>],
    anti_affinity: &'a [Arc<AffinityTerm>],
    existing: PairCounts,
    near: PairCounts,
    /// Pods that match an anti-affinity term.
    apart: PairCounts,
    matches_itself: bool,
    /// What each node answers for itself; such terms are not counted here.
    local: Option<Local<'a>>,
}

/// Prepares the required terms.
pub(super) fn filter<'a>(cycle: &'a Cycle<'a>) -> PreFilter<'a> {
    let rules = &cycle.profile.rules;
    let (affinity, anti_affinity) = (&cycle.pod.spec.pod_affinity.required, &cycle.pod.spec.pod_anti_affinity.required);
    let mut terms = Terms {
        cycle,
        affinity,
        anti_affinity,
        existing: PairCounts::default(),
        near: PairCounts::default(),
        apart: PairCounts::default(),
        matches_itself: affinity.iter().all(|term| own_term_matches(term, cycle.pod, cycle)),
        local: Local::new(cycle),
    };
    for (term, nodes) in cycle.state.terms().filter(|(term, _)| term.kind == TermKind::RequiredAntiAffinity) {
        if terms.counts(&term.term) && others_term_matches(&term.term, cycle) {
            let nodes = cycle.listed(nodes, |listed| &listed.required_anti_affinity);
            terms.existing.add_all(&term.term.topology_key, &nodes, cycle);
        }
    }
    terms.count_own();
    let idle = terms.local.as_ref().is_none_or(Local::is_idle);
    if affinity.is_empty() && anti_affinity.is_empty() && terms.existing.total == 0 && idle && rules.filters_skip {
        return PreFilter::Skip;
    }
    PreFilter::Filter(Box::new(move |node| terms.filter(node)))
}

impl Terms<'_> {
    /// Whether an anti-affinity term is counted over all nodes.
    fn counts(&self, term: &AffinityTerm) -> bool {
        self.local.is_none() || !by_hostname(term)
    }

    fn counts_affinity(&self) -> bool {
        !self.affinity.is_empty() && self.local.as_ref().is_none_or(|local| !local.takes_affinity())
    }

    fn count_own(&mut self) {
        let cycle = self.cycle;
        if self.affinity.is_empty() && self.anti_affinity.is_empty() {
            return;
        }
        for namespace in cycle.state.populated_namespaces() {
            let near = self.counts_affinity() && self.affinity.iter().all(|term| own_term_reaches(term, namespace, cycle));
            let counted = self.anti_affinity.iter().filter(|term| self.counts(term));
            let apart: Vec<_> = counted.filter(|term| own_term_reaches(term, namespace, cycle)).collect();
            if !near && apart.is_empty() {
                continue;
            }
            for group in cycle.state.groups_in(namespace) {
                if near && self.affinity.iter().all(|term| term.matches_labels(&group.labels)) {
                    for term in self.affinity {
                        self.near.add_all(&term.topology_key, &group.nodes, cycle);
                    }
                }
                for term in apart.iter().filter(|term| term.matches_labels(&group.labels)) {
                    self.apart.add_all(&term.topology_key, &group.nodes, cycle);
                }
            }
        }
    }

    fn filter(&self, node: &Candidate) -> Verdict {
        let change = self.change(node);
        let local = self.local.as_ref();
        let near = match local.filter(|local| local.takes_affinity()) {
            Some(local) => local.affinity_holds(node),
            None => self.affinity_holds(node, &change),
        };
        let checks: [(&str, bool, bool); 3] = [
            (EXISTING_ANTI_AFFINITY_REASON, true, self.no_objection(node, &change) && local.is_none_or(|local| local.no_objection(node))),
            (AFFINITY_REASON, false, near),
            (ANTI_AFFINITY, true, self.apart_holds(node, &change) && local.is_none_or(|local| local.apart_holds(node))),
        ];
        let order = match self.cycle.profile.rules.affinity_order {
            AffinityOrder::ExistingFirst => [0, 1, 2],
            AffinityOrder::OwnFirst => [1, 2, 0],
        };
        let Some((reason, preemption_may_help, _)) = order.iter().map(|at| checks[*at]).find(|(.., holds)| !holds) else {
            return Verdict::Pass;
        };
        let mut reasons: Vec<std::borrow::Cow<'static, str>> =
            self.cycle.profile.rules.affinity_reason_pair.map(Into::into).into_iter().collect();
        reasons.push(match reason {
            EXISTING_ANTI_AFFINITY_REASON => EXISTING_ANTI_AFFINITY_REASON.into(),
            AFFINITY_REASON => AFFINITY_REASON.into(),
            _ => ANTI_AFFINITY.into(),
        });
        Verdict::Reject(Refusal { reasons, preemption_may_help })
    }

    /// What pods added to or taken off the node change.
    fn change(&self, node: &Candidate) -> Option<CountDelta> {
        if node.added.is_empty() && node.removed.is_empty() {
            return None;
        }
        let mut change = CountDelta::default();
        for (pods, sign) in [(node.added, 1), (node.removed, -1)] {
            for pod in pods {
                // Pods of a group may go from other nodes as well.
                let afar = pod.node_name.as_deref().filter(|name| **name != *node.name);
                if let Some(place) = afar.map_or(Some(node.node), |name| self.cycle.state.node(name)) {
                    self.note(pod, place, sign, &mut change);
                }
            }
        }
        Some(change)
    }

    fn note(&self, pod: &PodInfo, node: &NodeInfo, sign: i64, change: &mut CountDelta) {
        let against = pod
            .spec
            .pod_anti_affinity
            .required_of_running()
            .iter()
            .filter(|term| self.counts(term) && others_term_matches(term, self.cycle));
        for term in against {
            change.existing.add(&term.topology_key, node, sign);
        }
        if self.counts_affinity() && self.affinity.iter().all(|term| own_term_matches(term, pod, self.cycle)) {
            for term in self.affinity {
                change.near.add(&term.topology_key, node, sign);
            }
        }
        for term in self.anti_affinity.iter().filter(|term| self.counts(term) && own_term_matches(term, pod, self.cycle)) {
            change.apart.add(&term.topology_key, node, sign);
        }
    }

    fn no_objection(&self, node: &Candidate, change: &Option<CountDelta>) -> bool {
        if self.existing.total == 0 && change.is_none() {
            return true;
        }
        let of_change = |key: &str, value: &str| change.as_ref().map_or(0, |change| change.existing.get(key, value));
        let added_keys = change.iter().flat_map(|change| change.existing.by_key.keys());
        let mut keys = self.existing.by_key.keys().chain(added_keys);
        !keys.any(|key| node.labels.get(key).is_some_and(|value| self.existing.get(key, value) + of_change(key, value) > 0))
    }

    fn affinity_holds(&self, node: &Candidate, change: &Option<CountDelta>) -> bool {
        let mut all_found = true;
        for term in self.affinity {
            let Some(value) = node.labels.get(&term.topology_key) else {
                if self.cycle.profile.rules.first_pod_needs_keys {
                    return false;
                }
                all_found = false;
                continue;
            };
            let key = &*term.topology_key;
            all_found &= self.near.get(key, value) + change.as_ref().map_or(0, |change| change.near.get(key, value)) > 0;
        }
        let none_anywhere = self.near.total + change.as_ref().map_or(0, |change| change.near.total) == 0;
        all_found || none_anywhere && self.matches_itself
    }

    fn apart_holds(&self, node: &Candidate, change: &Option<CountDelta>) -> bool {
        !self.anti_affinity.iter().any(|term| {
            let key = &*term.topology_key;
            node.labels
                .get(key)
                .is_some_and(|value| self.apart.get(key, value) + change.as_ref().map_or(0, |change| change.apart.get(key, value)) > 0)
        })
    }
}

#[derive(Default)]
struct CountDelta {
    existing: PairCounts,
    near: PairCounts,
    apart: PairCounts,
}

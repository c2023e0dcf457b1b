//! NodeAffinity: a pod's node selector and node affinity hold; preferred terms give points.

mod evidence;
mod needs;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::unparsed_terms;
use crate::cluster::{Node, NodeTerm, Operator, PodSpec};
use crate::framework::{Candidate, ChangeOf, Fact, Fix, Need, Obstacle, Touches, WithoutState};
use crate::{Cycle, Feasible, Plugin, PreFilter, PreScore, Refusal, Rules, Verdict};
pub(super) use needs::label as label_fix;

/// Upstream: `plugins/nodeaffinity/node_affinity.go`; up to 1.16 MatchNodeSelector and NodeAffinityPriority.
pub(super) struct NodeAffinityPlugin;

const ADDED_AFFINITY_REASON: &str = "node(s) didn't match scheduler-enforced node affinity";

impl Plugin for NodeAffinityPlugin {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn doc(&self) -> &'static str {
        "A pod's node selector and required node affinity must hold; preferred terms give points.

Checks
  Every label of spec.nodeSelector, and one of the required terms (each: all its expressions and fields).
  Terms that all name nodes by metadata.name narrow the nodes before any filter runs (DaemonSet pods).
  Score: the weights of the preferred terms that match, scaled so that the highest is 100.
Reads
  pod spec.nodeSelector, spec.affinity.nodeAffinity; node labels and name; the profile's addedAffinity
History
  1.18–1.19 node(s) didn't match node selector
  1.20      node(s) didn't match Pod's node affinity
  1.21–     node(s) didn't match Pod's node affinity/selector
  1.20–     addedAffinity: node(s) didn't match scheduler-enforced node affinity
  1.24–     names narrow the nodes; terms that exclude each other: pod affinity terms conflict
  weight 1 up to 1.22, then 2; preemption cannot help
Differs from upstream
  A required term that does not parse matches nothing in every release.
Fails
  A preferred term that does not parse (disk Gt many) ends the scoring with an error, where two nodes or more fit."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let (spec, rules) = (&cycle.pod.spec, &cycle.profile.rules);
        let added = cycle.profile.arguments.added_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let reason = rules.node_affinity_unmet();
        if rules.filters_skip && spec.node_selector.is_empty() && spec.node_affinity.required.is_none() && added.is_none() {
            return PreFilter::Skip;
        }
        let filter = Box::new(move |node: &crate::Candidate| {
            if added.is_some_and(|terms| !any_term_matches(terms, node, rules.match_fields)) {
                Verdict::unresolvable(ADDED_AFFINITY_REASON)
            } else if !required_matches(spec, node, rules.match_fields) {
                Verdict::unresolvable(reason)
            } else {
                Verdict::Pass
            }
        });
        match named_nodes(spec).filter(|_| rules.node_subset) {
            Some(names) if names.is_empty() => PreFilter::Refuse(Refusal::unresolvable("pod affinity terms conflict")),
            Some(names) => PreFilter::Narrow(names, filter),
            None => PreFilter::Filter(filter),
        }
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let rules = &cycle.profile.rules;
        if let Some(error) = unparsed_terms::error(cycle, &cycle.pod.spec.node_affinity.preferred, feasible.len()) {
            return PreScore::Error(error);
        }
        let added = cycle.profile.arguments.added_affinity.iter().flat_map(|affinity| &affinity.preferred);
        let preferred: Vec<&(i32, NodeTerm)> =
            added.chain(&cycle.pod.spec.node_affinity.preferred).filter(|(weight, _)| *weight != 0).collect();
        let none = cycle.pod.spec.node_affinity.preferred.is_empty() && preferred.is_empty();
        if none && rules.node_affinity_skips {
            return PreScore::Skip;
        }
        let with_fields = rules.preferred_match_fields;
        PreScore::scaled(
            move |node| {
                preferred.iter().filter(|(_, term)| term_matches(term, node, with_fields)).map(|(weight, _)| i64::from(*weight)).sum()
            },
            false,
        )
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn without_prescore(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        evidence::affinity(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        needs::of_node(cycle, node)
    }

    fn needs_of_pod(&self, _cycle: &Cycle) -> Vec<Need> {
        vec![Need::one_of(vec![Fix::DropNodeAffinity])]
    }

    fn needs_of_unnamed(&self, cycle: &Cycle) -> Vec<Need> {
        vec![match cycle.pod.is_of_daemon_set() {
            true => Need::hopeless(Obstacle::OtherDaemonSetNode),
            false => Need::one_of(vec![Fix::DropNodeAffinity]),
        }]
    }

    fn touches(&self) -> Touches {
        Touches { labels: true, ..Touches::default() }
    }

    fn is_met_by(&self) -> ChangeOf {
        ChangeOf::Labels
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

/// Whether the node selector and the required node affinity of a pod hold on a node; `with_fields`: whether the release knows matchFields.
pub(crate) fn required_matches(spec: &PodSpec, node: &Node, with_fields: bool) -> bool {
    spec.node_selector.matches(&node.labels)
        && spec.node_affinity.required.as_ref().is_none_or(|terms| any_term_matches(terms, node, with_fields))
}

fn any_term_matches(terms: &[NodeTerm], node: &Node, with_fields: bool) -> bool {
    for term in terms {
        if !term.labels_parse && !with_fields {
            return false;
        }
        if term_matches(term, node, with_fields) {
            return true;
        }
    }
    false
}

/// Whether a term holds on a node; `with_fields`: whether the release knows matchFields.
pub(crate) fn term_matches(term: &NodeTerm, node: &Node, with_fields: bool) -> bool {
    if with_fields {
        return term.matches(&node.name, &node.labels);
    }
    term.labels_parse
        && !term.expressions.is_empty()
        && term.expressions.iter().all(|expression| expression.matches(node.labels.get(&expression.key)))
}

/// The nodes a pod's terms name, if every term names some.
pub(crate) fn named_nodes(spec: &PodSpec) -> Option<BTreeSet<Arc<str>>> {
    let terms = spec.node_affinity.required.as_ref().filter(|terms| !terms.is_empty())?;
    let mut names = BTreeSet::new();
    for term in terms {
        let mut lists = term
            .fields
            .iter()
            .filter(|field| field.operator == Operator::In)
            .map(|field| field.values.iter().cloned().collect::<BTreeSet<_>>());
        let first = lists.next()?;
        names.extend(lists.fold(first, |known, list| known.intersection(&list).cloned().collect()));
    }
    Some(names)
}

//! InterPodAffinity: pods near to, or apart from, other pods.

mod evidence;
mod filter;
mod local;
mod needs;
mod parse;
mod score;

use std::sync::Arc;

use crate::cluster::{AffinityTerm, Labels, PodInfo};
use crate::framework::{Candidate, Fact, Need, Touches, Verdict, WithoutState};
use crate::release::Rules;
use crate::{Cycle, Feasible, Plugin, PreFilter, PreScore};

pub(crate) use local::{HOSTNAME_LABEL, by_hostname};

/// Upstream: `plugins/interpodaffinity`; up to 1.16 MatchInterPodAffinity and InterPodAffinityPriority.
pub(super) struct InterPodAffinity;

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn doc(&self) -> &'static str {
        "A pod runs near pods it has affinity to, apart from pods it has anti-affinity to, and apart from pods that do not want it.

Checks
  PreFilter: the selectors of all terms name values that a label can have.
  Required affinity: the node's domain of each term holds a pod that matches all terms (or no such pod exists anywhere and the
  pod matches its own terms). Required anti-affinity: the node's domains hold no matching pod, and no pod of theirs has an
  anti-affinity term that matches this one. Terminating pods count.
  Score: preferred terms by weight, of the pod and of pods already there, and hardPodAffinityWeight for required ones of those.
Reads
  affinity of the pod and of all pods; labels of pods, namespaces (namespaceSelector) and nodes
History
  1.18      existing pods' anti-affinity is checked first
  1.18–1.21 two reasons: node(s) didn't match pod affinity/anti-affinity (1.21: … rules) and the one below
  1.19–     parsing pod: … where a term does not parse (1.18: an error); a running pod's list with such a term has no terms
  all       node(s) didn't match pod affinity rules (preemption cannot help), node(s) didn't match pod anti-affinity rules,
            node(s) didn't satisfy existing pods anti-affinity rules
  1.22–     namespaceSelector; 1.27– not run where nothing applies; scores: 1.21– from the true lowest to the highest
  1.37, InterPodAffinityHostnameFastPath on: terms by hostname look at the node's own pods, whatever other nodes have that label
  weight 1 up to 1.22, then 2
Differs from upstream
  up to 1.17 a term that does not parse matches nothing"
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        parse::refusal(cycle).unwrap_or_else(|| filter::filter(cycle))
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        score::score(cycle)
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::fails("error reading", "PreFilter", self.name())
    }

    fn remove_pod_error(&self, rules: &Rules) -> Option<String> {
        self.without_prefilter(rules).error()
    }

    fn without_prescore(&self, rules: &Rules) -> WithoutState {
        WithoutState::fails(rules.reading_scores(), "PreScore", self.name())
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        evidence::affinity(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        needs::of_node(cycle, node)
    }

    fn touches(&self) -> Touches {
        Touches { labels: true, pods: true, admitted_nodes: false }
    }

    fn signs(&self, cycle: &Cycle) -> bool {
        !cycle.pod.spec.has_pod_affinity()
    }
}

/// Whether a term of the incoming pod means pods of a namespace.
fn own_term_reaches(term: &AffinityTerm, namespace: &Arc<str>, cycle: &Cycle) -> bool {
    let rules = &cycle.profile.rules;
    term.matches_namespace(namespace, cycle.state.namespace_labels(namespace), rules.namespace_selector)
        || rules.namespace_selector_asked_twice()
            && term.namespace_selector.as_ref().is_some_and(|selector| selector.matches(&Labels::default()))
}

/// Whether a term of the incoming pod means another pod.
pub(crate) fn own_term_matches(term: &AffinityTerm, other: &PodInfo, cycle: &Cycle) -> bool {
    term.matches_labels(&other.labels) && own_term_reaches(term, &other.namespace, cycle)
}

/// Whether a term of another pod means the incoming one.
pub(crate) fn others_term_matches(term: &AffinityTerm, cycle: &Cycle) -> bool {
    let pod = cycle.pod;
    term.matches_labels(&pod.labels)
        && term.matches_namespace(&pod.namespace, cycle.state.namespace_labels(&pod.namespace), cycle.profile.rules.namespace_selector)
}

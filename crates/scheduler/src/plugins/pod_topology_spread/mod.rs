//! PodTopologySpread: pods of a kind are spread evenly over zones, hosts or other domains.

mod evidence;
pub(crate) mod filter;
mod needs;
mod score;
mod tracked;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{Labels, NodeId, NodeInfo, Operator, Requirement, Selector, SpreadConstraint, WhenUnsatisfiable};
use crate::framework::{Candidate, Fact, Need, PreFilterExtensions, Touches, Verdict, WithoutState};
use crate::release::Rules;
use crate::{Cycle, Feasible, Plugin, PodTopologySpreadDefaults, PreFilter, PreScore};

use super::node_affinity::required_matches;
use super::taint_toleration::{tolerates_all, untolerated};
use super::workload_selector::workload_selector;

use tracked::Tracked;

/// Upstream: `plugins/podtopologyspread`; in 1.16 EvenPodsSpread and EvenPodsSpreadPriority.
pub(crate) struct PodTopologySpread;

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn doc(&self) -> &'static str {
        "Pods of a kind are spread evenly over zones, hosts or other domains.

Checks
  For each constraint with DoNotSchedule: the node has the topology key, and with this pod its domain holds at most maxSkew
  matching pods more than the emptiest domain. Only pods of the same namespace that are not terminating count, and only nodes
  that the pod's node selector and affinity admit.
  Score: constraints with ScheduleAnyway; pods without constraints get, from 1.20 on, those of the system: hosts with a skew of
  3, zones with a skew of 5, over the pods that their Services and their controller select.
Reads
  pod spec.topologySpreadConstraints; labels of all nodes (taints too with nodeTaintsPolicy Honor); pods of the namespace;
  Services and the controller of pods without constraints
History
  1.16–1.17 behind the gate EvenPodsSpread (off); terminating pods count too, and in the score those of every namespace
  1.18      a missing key is no different from skew; the score is the share of matching pods, turned round
  1.19–     the score weighs domains by the logarithm of their number; a pod without constraints gets 100 everywhere (1.28–: not run)
  1.22–     system defaults follow the pod's controller, before every set that matched its labels
  1.24–     the score is rounded, before it was cut off
  1.26–     nodeAffinityPolicy and nodeTaintsPolicy (1.25 behind a gate, up to 1.25.2 with soft taints); 1.27– minDomains, matchLabelKeys
  1.27–     an empty selector counts no pod, before it counted all
  1.33–     constraints on one key count apart, before they added to each other
Differs from upstream
  1.25.0 and 1.25.1 with that gate, when they tried a preemption, took the tolerations of the pods taken off; here those of the pod."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        filter::filter(cycle)
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, feasible: &'a Feasible<'a>) -> PreScore<'a> {
        score::score(cycle, feasible)
    }

    fn without_prefilter(&self, rules: &Rules) -> WithoutState {
        WithoutState::fails(rules.reading_state(), "PreFilter", self.name())
    }

    fn remove_pod_error(&self, rules: &Rules) -> Option<String> {
        self.without_prefilter(rules).error()
    }

    fn without_prescore(&self, _rules: &Rules) -> WithoutState {
        WithoutState::fails("error reading", "PreScore", self.name())
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
        evidence::spread(cycle, node, verdict.passes())
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        needs::of_node(cycle, node)
    }

    fn prefilter_extensions(&self, cycle: &Cycle) -> Option<Box<dyn PreFilterExtensions>> {
        Tracked::new(cycle).map(|tracked| Box::new(tracked) as Box<dyn PreFilterExtensions>)
    }

    fn touches(&self) -> Touches {
        Touches { labels: true, pods: true, admitted_nodes: true }
    }

    fn signs(&self, cycle: &Cycle) -> bool {
        let defaults = match &cycle.profile.arguments.spread_defaults {
            PodTopologySpreadDefaults::System => true,
            PodTopologySpreadDefaults::List(list) => !list.is_empty(),
        };
        !defaults && cycle.pod.spec.spread.is_empty()
    }
}

/// The node label of hosts.
const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// A constraint, ready to count.
pub(crate) struct Constraint {
    key: Arc<str>,
    max_skew: i64,
    min_domains: i64,
    selector: Option<Selector>,
    ignores_node_affinity: bool,
    honors_taints: bool,
}

impl Constraint {
    /// The node label whose values are its domains.
    pub(crate) fn key(&self) -> &Arc<str> {
        &self.key
    }

    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }

    /// How many pods of the pod's namespace that count each node has.
    fn pods_by_node(&self, cycle: &Cycle) -> Vec<i64> {
        self.pods_of(cycle, [&*cycle.pod.namespace].into_iter())
    }

    fn scored_pods_by_node(&self, cycle: &Cycle) -> Vec<i64> {
        if !cycle.profile.rules.spread_counts_loosely() {
            return self.pods_by_node(cycle);
        }
        self.pods_of(cycle, cycle.state.populated_namespaces().map(|namespace| &**namespace))
    }

    /// How many matching pods of some namespaces each node has.
    fn pods_of<'a>(&self, cycle: &Cycle, namespaces: impl Iterator<Item = &'a str>) -> Vec<i64> {
        let rules = &cycle.profile.rules;
        let terminating_too = rules.spread_counts_loosely();
        let mut counts = vec![0; cycle.state.node_bound()];
        if rules.empty_spread_selector_counts_none() && self.selector.as_ref().is_none_or(Selector::is_empty) {
            return counts;
        }
        let groups = namespaces.flat_map(|namespace| cycle.state.groups_in(namespace));
        for group in groups.filter(|group| (terminating_too || !group.terminating) && self.matches(&group.labels)) {
            for (node, count) in &group.nodes {
                counts[*node as usize] += i64::from(*count);
            }
        }
        counts
    }

    /// Whether a node takes part in the counting of this constraint.
    fn includes(&self, node: &NodeInfo, cycle: &Cycle) -> bool {
        let rules = &cycle.profile.rules;
        let spec = &cycle.pod.spec;
        if !rules.spread_policies {
            return required_matches(spec, node, rules.match_fields);
        }
        let tolerated = || match rules.spread_soft_taints {
            true => tolerates_all(&node.taints, &spec.tolerations),
            false => untolerated(&node.taints, &spec.tolerations, rules.taint_comparisons).is_none(),
        };
        (self.ignores_node_affinity || required_matches(spec, node, rules.match_fields)) && (!self.honors_taints || tolerated())
    }
}

/// The constraints that apply to a pod: its own, or the profile's defaults with the selector of its workload.
fn constraints(cycle: &Cycle, when: WhenUnsatisfiable) -> Vec<Constraint> {
    let own = &cycle.pod.spec.spread;
    if !own.is_empty() {
        return own
            .iter()
            .filter(|constraint| constraint.when_unsatisfiable == when)
            .map(|constraint| own_constraint(constraint, cycle))
            .collect();
    }
    let system;
    let defaults: &[SpreadConstraint] = match &cycle.profile.arguments.spread_defaults {
        PodTopologySpreadDefaults::List(list) => list,
        PodTopologySpreadDefaults::System => {
            system = [default_constraint(HOSTNAME_LABEL, 3), default_constraint(ZONE_LABEL, 5)];
            &system
        }
    };
    let mut chosen = defaults.iter().filter(|constraint| constraint.when_unsatisfiable == when).peekable();
    if chosen.peek().is_none() {
        return Vec::new();
    }
    let selector = workload_selector(cycle);
    if selector.is_empty() {
        return Vec::new();
    }
    chosen.map(|constraint| Constraint { selector: Some(selector.clone()), ..own_constraint(constraint, cycle) }).collect()
}

pub(crate) fn hard_constraints(cycle: &Cycle) -> Vec<Constraint> {
    constraints(cycle, WhenUnsatisfiable::DoNotSchedule)
}

fn own_constraint(constraint: &SpreadConstraint, cycle: &Cycle) -> Constraint {
    let rules = &cycle.profile.rules;
    let mut selector = constraint.selector.clone();
    if let Some(selector) = selector.as_mut().filter(|_| rules.spread_match_label_keys) {
        for key in &constraint.match_label_keys {
            if let Some(value) = cycle.pod.labels.shared(key) {
                selector.requirements.push(Requirement { key: key.clone(), operator: Operator::In, values: vec![value.clone()] });
            }
        }
    }
    Constraint {
        key: constraint.topology_key.clone(),
        max_skew: i64::from(constraint.max_skew),
        min_domains: constraint.min_domains.filter(|_| rules.spread_min_domains).map_or(1, i64::from),
        selector,
        ignores_node_affinity: constraint.ignores_node_affinity,
        honors_taints: constraint.honors_taints,
    }
}

fn default_constraint(key: &str, max_skew: i32) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: key.into(),
        when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway,
        selector: None,
        min_domains: None,
        ignores_node_affinity: false,
        honors_taints: false,
        match_label_keys: Vec::new(),
    }
}

fn has_all_keys(node: &NodeInfo, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| node.labels.has(&constraint.key))
}

type NodeSet = BTreeSet<NodeId>;

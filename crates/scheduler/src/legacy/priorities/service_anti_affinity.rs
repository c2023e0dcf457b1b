//! ServiceAntiAffinity: spreads the pods of a Service over the values of a node label; only a Policy enables it.
//! Source: `algorithm/priorities/selector_spreading.go` (1.9–1.17).

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{NodeId, NodeInfo, Selector};
use crate::framework::{Normalize, Score};
use crate::{Cycle, Feasible, Plugin, PreScore};

/// The priority for the labels of a Policy's arguments. Up to 1.16 a priority has one label; 1.17 made one plugin of them all.
pub(crate) struct ServiceAntiAffinity {
    /// The labels.
    pub labels: Vec<Arc<str>>,
}

/// How many pods of the Service each node holds, and how many there are.
struct ServiceCounts {
    nodes: HashMap<NodeId, i64>,
    /// Where those on every node count; else those on the nodes that fit are added up.
    all: Option<i64>,
}

impl ServiceCounts {
    fn on(&self, node: &NodeInfo) -> i64 {
        self.nodes.get(&node.id).copied().unwrap_or(0)
    }
}

impl Plugin for ServiceAntiAffinity {
    fn name(&self) -> &'static str {
        "ServiceAntiAffinityPriority"
    }

    fn doc(&self) -> &'static str {
        "Spreads the pods of a Service over the values of a node label.

Checks
  The share of the Service's pods that are not on nodes with the same value, on the scale; a node without the label gets 0, and every node
  with it the full score where there is no such pod. Of several Services the first in the scheduler's list counts.
Reads
  Services of the pod's namespace; labels of the pods of that namespace; node labels; the Policy's argument serviceAntiAffinity: label
History
  1.9       counts all of the Service's pods, terminating ones too; hands unequal scores to nodes in random order
  1.10      counts pods on the nodes that fit; since 1.11 without terminating ones
  1.17–1.22 one plugin (ServiceAffinity) for all labels, the mean of their scores; removed with the Policy in 1.23
Differs from upstream
  The list of Services has no order, nor have the scores of 1.9: where it matters the score is unknown."
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let services = cycle.state.listers().services.in_namespace(&cycle.pod.namespace);
        let selectors =
            services.filter_map(|(_, service)| service.selector.as_ref().filter(|selector| selector.matches(&cycle.pod.labels)));
        let mut candidates: Vec<ServiceCounts> = selectors.map(|selector| count(cycle, Some(selector))).collect();
        if candidates.is_empty() {
            candidates.push(count(cycle, None));
        }
        let max = cycle.profile.rules.max_score;
        let mut answers = candidates.iter().map(|counts| normalized(counts, feasible, &self.labels, max));
        let first = answers.next();
        if cycle.profile.rules.service_scores_are_random()
            && first.as_ref().is_some_and(|points| points.iter().any(|one| *one != points[0]))
        {
            return PreScore::Unknown("1.9 hands the scores of nodes out in random order".into());
        }
        let raw_of = |counts: &ServiceCounts| -> Vec<i64> { feasible.iter().map(|node| counts.on(node)).collect() };
        let other_counts = candidates.iter().skip(1).any(|counts| raw_of(counts) != raw_of(&candidates[0]));
        if other_counts || answers.any(|other| Some(other) != first) {
            return PreScore::Unknown("several Services select the pod, and which is first in the scheduler's list is not recorded".into());
        }
        let counts = Arc::new(candidates.swap_remove(0));
        let (raw, labels) = (counts.clone(), self.labels.clone());
        PreScore::Score(Score {
            raw: Box::new(move |node| raw.on(node)),
            normalize: Normalize::Compare(Box::new(move |nodes, scores| scores.copy_from_slice(&normalized(&counts, nodes, &labels, max)))),
        })
    }
}

fn count(cycle: &Cycle, selector: Option<&Selector>) -> ServiceCounts {
    let rules = &cycle.profile.rules;
    let groups = cycle.state.groups_in(&cycle.pod.namespace).filter(|group| rules.service_scores_count_terminating() || !group.terminating);
    let mut counts = ServiceCounts { nodes: HashMap::new(), all: None };
    for group in groups.filter(|group| selector.is_some_and(|selector| selector.matches(&group.labels))) {
        for (node, pods) in &group.nodes {
            *counts.nodes.entry(*node).or_insert(0) += i64::from(*pods);
        }
    }
    if rules.service_scores_count_all_nodes() {
        counts.all = Some(counts.nodes.values().sum());
    }
    counts
}

fn normalized(counts: &ServiceCounts, nodes: &[&NodeInfo], labels: &[Arc<str>], max: i64) -> Vec<i64> {
    let all = counts.all.unwrap_or_else(|| nodes.iter().map(|node| counts.on(node)).sum());
    let mut sums = vec![0.0; nodes.len()];
    for label in labels {
        let mut by_value: HashMap<&str, i64> = HashMap::new();
        for node in nodes {
            if let Some(value) = node.labels.get(label) {
                *by_value.entry(value).or_insert(0) += counts.on(node);
            }
        }
        for (sum, node) in sums.iter_mut().zip(nodes) {
            if let Some(value) = node.labels.get(label) {
                let share = if all > 0 { (all - by_value[value]) as f64 / all as f64 } else { 1.0 };
                *sum += max as f64 * share / labels.len() as f64;
            }
        }
    }
    sums.into_iter().map(|sum| sum as i64).collect()
}

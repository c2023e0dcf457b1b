//! SelectorSpread: the pods of a Service or a set are spread over hosts and zones.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{Labels, NodeInfo, Selector};
use crate::framework::WithoutState;
use crate::framework::{Normalize, Score};
use crate::release::{Rules, SiblingRule};
use crate::{Cycle, Feasible, Plugin, PreScore};

use super::workload_selector::{workload_selector, workload_selectors};

/// Upstream: `plugins/selectorspread/selector_spread.go` (1.19–1.28), `priorities/selector_spreading.go` up to 1.18.
pub(super) struct SelectorSpread {
    /// Its name in the release: 1.17 and 1.18 call it DefaultPodTopologySpread.
    pub(super) name: &'static str,
}

const PLUGIN_DOC: &str = "The pods of a Service or a set are spread over hosts and zones.

Checks
  Score: pods of the namespace on the node that the pod's Services and sets select, the fewer the better; where nodes have zones,
  the zone's count makes two thirds of it. Terminating pods do not count. Pods with spread constraints of their own get nothing.
Reads
  Services, ReplicationControllers, ReplicaSets, StatefulSets; labels of pods; zone and region labels of nodes
History
  1.9–1.13  a pod counts if any of the selectors matches; 1.14–1.16 if all do; 1.17– if all their requirements do
  1.17–1.18 named DefaultPodTopologySpread; default until 1.19, then PodTopologySpread's system defaults took over
  1.17–     topology.kubernetes.io labels of zones besides the beta ones
Differs from upstream
  nowhere";

impl Plugin for SelectorSpread {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        PLUGIN_DOC
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        score(cycle)
    }

    fn without_prescore(&self, rules: &Rules) -> WithoutState {
        WithoutState::fails(rules.reading_selectors(), "PreScore", self.name())
    }

    fn score_without_state<'a>(&self, name: &str, cycle: &Cycle, prescore: PreScore<'a>) -> PreScore<'a> {
        unread_state(self.without_prescore(&cycle.profile.rules), name, cycle, prescore)
    }
}

/// Pods with constraints of their own are not spread by selectors, so their missing state does not matter.
fn unread_state<'a>(without: WithoutState, name: &str, cycle: &Cycle, prescore: PreScore<'a>) -> PreScore<'a> {
    match (without.error(), prescore) {
        (Some(error), _) if cycle.pod.spec.spread.is_empty() => {
            PreScore::Error(cycle.profile.rules.score_error(name, &cycle.pod.name, &error))
        }
        (_, PreScore::Skip) => PreScore::plain(|_| 0),
        (_, other) => other,
    }
}

/// Which pods are siblings, by release.
enum Siblings {
    Any(Vec<Selector>),
    All(Vec<Selector>),
}

impl Siblings {
    fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Any(selectors) => selectors.iter().any(|selector| selector.matches(labels)),
            Self::All(selectors) => !selectors.is_empty() && selectors.iter().all(|selector| selector.matches(labels)),
        }
    }
}

/// The score of SelectorSpreadPriority and its successors.
pub(super) fn score<'a>(cycle: &'a Cycle<'a>) -> PreScore<'a> {
    let rules = &cycle.profile.rules;
    let (max, stable_labels) = (rules.max_score, rules.stable_zone_labels());
    if rules.selector_spread_leaves_constraints() && !cycle.pod.spec.spread.is_empty() {
        return PreScore::plain(|_| 0);
    }
    let siblings = match rules.siblings() {
        SiblingRule::AnySelector => Siblings::Any(workload_selectors(cycle)),
        SiblingRule::AllSelectors => Siblings::All(workload_selectors(cycle)),
        SiblingRule::OneSelector => {
            Siblings::All(Some(workload_selector(cycle)).filter(|selector| !selector.is_empty()).into_iter().collect())
        }
    };
    let mut counts = vec![0_i64; cycle.state.node_bound()];
    for group in cycle.state.groups_in(&cycle.pod.namespace).filter(|group| !group.terminating && siblings.matches(&group.labels)) {
        for (node, count) in &group.nodes {
            counts[*node as usize] += i64::from(*count);
        }
    }
    let alone = counts.iter().all(|count| *count == 0);
    let normalize = Box::new(move |nodes: &[&NodeInfo], scores: &mut [i64]| by_host_and_zone(nodes, scores, max, stable_labels));
    let normalize = if alone { Normalize::Stretch(normalize) } else { Normalize::Compare(normalize) };
    PreScore::Score(Score { raw: Box::new(move |node| counts[node.id as usize]), normalize })
}

fn by_host_and_zone(nodes: &[&NodeInfo], scores: &mut [i64], max: i64, stable_labels: bool) {
    const ZONE_WEIGHT: f64 = 2.0 / 3.0;
    let zones: Vec<Option<String>> = nodes.iter().map(|node| zone(&node.labels, stable_labels)).collect();
    let most = scores.iter().copied().max().unwrap_or(0);
    let mut by_zone: HashMap<&String, i64> = HashMap::new();
    for (zone, count) in zones.iter().zip(scores.iter()) {
        if let Some(zone) = zone {
            *by_zone.entry(zone).or_default() += count;
        }
    }
    let most_in_zone = by_zone.values().copied().max().unwrap_or(0);
    let full = max as f64;
    let left = |most: i64, count: i64| if most > 0 { full * ((most - count) as f64 / most as f64) } else { full };
    for (zone, score) in zones.iter().zip(scores.iter_mut()) {
        let mut points = left(most, *score);
        if let Some(zone) = zone {
            points = points * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * left(most_in_zone, by_zone[zone]);
        }
        *score = points as i64;
    }
}

/// Region and zone of a node, if it has either.
pub(super) fn zone(labels: &Labels, stable_labels: bool) -> Option<String> {
    let get = |beta: &str, stable: &str| -> Option<Arc<str>> {
        labels.shared(beta).or_else(|| labels.shared(stable).filter(|_| stable_labels)).cloned()
    };
    let region = get("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region").unwrap_or_default();
    let zone = get("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone").unwrap_or_default();
    (!region.is_empty() || !zone.is_empty()).then(|| format!("{region}:\0:{zone}"))
}

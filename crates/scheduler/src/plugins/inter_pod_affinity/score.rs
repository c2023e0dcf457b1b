//! Preferred terms, and required ones of pods already there, summed by domain.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{NodeCounts, NodeInfo, TermKind};
use crate::framework::{Normalize, Score};
use crate::{Cycle, PreScore};

use super::{others_term_matches, own_term_reaches};

/// Points by topology key and value.
#[derive(Default)]
struct Points(HashMap<Arc<str>, HashMap<Arc<str>, i64>>);

impl Points {
    fn add(&mut self, key: &Arc<str>, weight: i64, nodes: &NodeCounts, cycle: &Cycle) {
        for (node, count) in nodes {
            let node = cycle.state.node_by_id(*node);
            if let Some(value) = node.labels.shared(key).filter(|_| node.exists) {
                *self.0.entry(key.clone()).or_default().entry(value.clone()).or_default() += weight * i64::from(*count);
            }
        }
    }
}

/// Prepares the preferred terms.
pub(super) fn score<'a>(cycle: &'a Cycle<'a>) -> PreScore<'a> {
    let rules = &cycle.profile.rules;
    let arguments = &cycle.profile.arguments;
    let spec = &cycle.pod.spec;
    let none_preferred = spec.pod_affinity.preferred.is_empty() && spec.pod_anti_affinity.preferred.is_empty();
    if arguments.ignore_preferred_terms_of_existing_pods && none_preferred {
        return PreScore::Skip;
    }
    let mut points = Points::default();
    own_terms(cycle, &mut points);
    for (term, nodes) in cycle.state.terms() {
        let weight = match term.kind {
            TermKind::RequiredAffinity => arguments.hard_pod_affinity_weight,
            TermKind::PreferredAffinity(weight) => i64::from(weight),
            TermKind::PreferredAntiAffinity(weight) => -i64::from(weight),
            TermKind::RequiredAntiAffinity => 0,
        };
        let counts = weight != 0 && others_term_matches(&term.term, cycle);
        if counts {
            let nodes = if none_preferred { cycle.listed(nodes, |listed| &listed.any) } else { Cow::Borrowed(nodes) };
            points.add(&term.term.topology_key, weight, &nodes, cycle);
        }
    }
    if points.0.is_empty() && rules.affinity_score_skips {
        return PreScore::Skip;
    }
    let (max, from_zero) = (rules.max_score, rules.affinity_extremes_from_zero);
    let empty = points.0.is_empty();
    let raw = move |node: &NodeInfo| -> i64 { points.0.iter().filter_map(|(key, values)| values.get(node.labels.get(key)?)).sum() };
    let normalize = move |_: &[&NodeInfo], scores: &mut [i64]| {
        if !empty {
            stretch(scores, max, from_zero);
        }
    };
    PreScore::Score(Score { raw: Box::new(raw), normalize: Normalize::Stretch(Box::new(normalize)) })
}

fn own_terms(cycle: &Cycle, points: &mut Points) {
    let spec = &cycle.pod.spec;
    let near = spec.pod_affinity.preferred.iter().map(|(weight, term)| (i64::from(*weight), term));
    let apart = spec.pod_anti_affinity.preferred.iter().map(|(weight, term)| (-i64::from(*weight), term));
    let terms: Vec<_> = near.chain(apart).collect();
    if terms.is_empty() {
        return;
    }
    for namespace in cycle.state.populated_namespaces() {
        for (weight, term) in terms.iter().filter(|(_, term)| own_term_reaches(term, namespace, cycle)) {
            for group in cycle.state.groups_in(namespace).filter(|group| term.matches_labels(&group.labels)) {
                points.add(&term.topology_key, *weight, &group.nodes, cycle);
            }
        }
    }
}

/// From the lowest to the highest, onto the whole scale.
fn stretch(scores: &mut [i64], max: i64, from_zero: bool) {
    let start = if from_zero { Some(0) } else { None };
    let least = scores.iter().copied().chain(start).min().unwrap_or(0);
    let most = scores.iter().copied().chain(start).max().unwrap_or(0);
    let range = most - least;
    for score in scores {
        *score = if range > 0 { (max as f64 * ((*score - least) as f64 / range as f64)) as i64 } else { 0 };
    }
}

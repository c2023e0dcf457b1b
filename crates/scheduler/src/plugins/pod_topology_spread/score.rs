//! Constraints that count: the fewer matching pods a node's domains hold, the more points.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{NodeInfo, WhenUnsatisfiable};
use crate::framework::{Normalize, Score};
use crate::release::{SpreadFormula, WithoutConstraints};
use crate::{Cycle, Feasible, PodTopologySpreadDefaults, PreScore};

use super::{Constraint, HOSTNAME_LABEL, NodeSet, constraints, has_all_keys};

/// Prepares the constraints with ScheduleAnyway.
pub(super) fn score<'a>(cycle: &'a Cycle<'a>, feasible: &'a Feasible<'a>) -> PreScore<'a> {
    let rules = &cycle.profile.rules;
    let constraints = constraints(cycle, WhenUnsatisfiable::ScheduleAnyway);
    if constraints.is_empty() {
        return match rules.spread_without_constraints {
            WithoutConstraints::Skip => PreScore::Skip,
            WithoutConstraints::Zero => PreScore::plain(|_| 0),
            WithoutConstraints::Full => {
                let full = rules.max_score;
                let normalize = Box::new(move |_: &[&NodeInfo], scores: &mut [i64]| scores.fill(full));
                PreScore::Score(Score { raw: Box::new(|_| 0), normalize: Normalize::Stretch(normalize) })
            }
        };
    }
    match rules.spread_formula {
        SpreadFormula::Flip => flip(cycle, feasible, constraints),
        SpreadFormula::LogTruncated | SpreadFormula::LogRounded => logarithmic(cycle, feasible, constraints),
    }
}

/// Pods by domain for one constraint; `None` at a host constraint, which counts per node.
type DomainCounts = Option<HashMap<Arc<str>, i64>>;

fn logarithmic<'a>(cycle: &'a Cycle<'a>, feasible: &Feasible, constraints: Vec<Constraint>) -> PreScore<'a> {
    let rules = &cycle.profile.rules;
    let own = !cycle.pod.spec.spread.is_empty();
    let require_all =
        own || rules.spread_defaults_need_labels || cycle.profile.arguments.spread_defaults != PodTopologySpreadDefaults::System;
    let ignored: NodeSet = feasible.iter().filter(|node| require_all && !has_all_keys(node, &constraints)).map(|node| node.id).collect();
    let pods: Vec<Vec<i64>> = constraints.iter().map(|constraint| constraint.pods_by_node(cycle)).collect();
    let shares = |at: usize| {
        if rules.spread_counts_per_constraint {
            at
        } else {
            constraints.iter().position(|other| other.key == constraints[at].key).unwrap_or(at)
        }
    };
    let place: Vec<usize> = (0..constraints.len()).map(shares).collect();
    let counts = domains(cycle, feasible, &constraints, &ignored, &place, &pods, require_all);
    let scored = feasible.len() - feasible.unseen;
    let found = |at: usize| counts[place[at]].as_ref().is_none_or(|domains| found_in_any_sample(domains, &constraints[at].key, feasible));
    let steady = ignored.is_empty() && (0..constraints.len()).all(found);
    let weights: Vec<f64> = (0..constraints.len())
        .map(|at| {
            let size = match &counts[at] {
                None => scored - ignored.len().min(scored),
                // A constraint that shares another's counts found no domain of its own.
                Some(_) if place[at] != at => 0,
                Some(domains) => domains.len(),
            };
            ((size + 2) as f64).ln()
        })
        .collect();
    let rounds = rules.spread_formula == SpreadFormula::LogRounded;
    let left_out = ignored.clone();
    let raw = move |node: &NodeInfo| {
        if left_out.contains(&node.id) {
            return 0;
        }
        let mut cost = 0.0;
        for (at, constraint) in constraints.iter().enumerate() {
            let Some(value) = node.labels.get(&constraint.key) else { continue };
            let count = match &counts[place[at]] {
                None => pods[at][node.id as usize],
                Some(domains) => domains.get(value).copied().unwrap_or(0),
            };
            cost += count as f64 * weights[at] + (constraint.max_skew - 1) as f64;
        }
        if rounds { cost.round() as i64 } else { cost as i64 }
    };
    let normalize = move |nodes: &[&NodeInfo], scores: &mut [i64]| even_out(nodes, scores, &ignored);
    PreScore::Score(Score { raw: Box::new(raw), normalize: comparing(steady, normalize) })
}

/// The normalisation by lowest and highest, where the costs are the same whichever nodes are compared.
fn comparing<'a>(steady: bool, normalize: impl Fn(&[&NodeInfo], &mut [i64]) + 'a) -> Normalize<'a> {
    if steady { Normalize::Stretch(Box::new(normalize)) } else { Normalize::Compare(Box::new(normalize)) }
}

/// Whether domains cost the same whichever nodes the scheduler leaves out: only those it comes to count, and each is too large to be missed, or empty.
fn found_in_any_sample(domains: &HashMap<Arc<str>, i64>, key: &str, feasible: &Feasible) -> bool {
    let mut nodes: HashMap<&str, usize> = HashMap::new();
    for node in feasible.iter() {
        *nodes.entry(node.labels.get(key).unwrap_or_default()).or_default() += 1;
    }
    domains.values().all(|pods| *pods == 0) || nodes.values().all(|count| *count > feasible.unseen)
}

fn domains(
    cycle: &Cycle,
    feasible: &[&NodeInfo],
    constraints: &[Constraint],
    ignored: &NodeSet,
    place: &[usize],
    pods: &[Vec<i64>],
    require_all: bool,
) -> Vec<DomainCounts> {
    let nowhere: Arc<str> = Arc::default();
    let value = |node: &NodeInfo, constraint: &Constraint| node.labels.shared(&constraint.key).cloned().unwrap_or_else(|| nowhere.clone());
    let mut counts: Vec<DomainCounts> =
        constraints.iter().map(|constraint| (&*constraint.key != HOSTNAME_LABEL).then(HashMap::new)).collect();
    for node in feasible.iter().filter(|node| !ignored.contains(&node.id)) {
        for (at, constraint) in constraints.iter().enumerate() {
            if let Some(domains) = &mut counts[place[at]] {
                domains.entry(value(node, constraint)).or_insert(0);
            }
        }
    }
    for node in cycle.state.nodes().filter(|node| !require_all || has_all_keys(node, constraints)) {
        for (at, constraint) in constraints.iter().enumerate() {
            let count = pods[at][node.id as usize];
            if count == 0 || counts[place[at]].is_none() || !constraint.includes(node, cycle) {
                continue;
            }
            if let Some(known) = counts[place[at]].as_mut().and_then(|domains| domains.get_mut(&value(node, constraint))) {
                *known += count;
            }
        }
    }
    counts
}

/// Costs become points: the lowest cost is full, nodes that take no part get none.
fn even_out(nodes: &[&NodeInfo], scores: &mut [i64], ignored: &NodeSet) {
    let taking_part = || nodes.iter().zip(scores.iter()).filter(|(node, _)| !ignored.contains(&node.id)).map(|(_, score)| *score);
    let least = taking_part().min().unwrap_or(i64::MAX);
    let most = taking_part().max().unwrap_or(0).max(0);
    for (node, score) in nodes.iter().zip(scores.iter_mut()) {
        *score = if ignored.contains(&node.id) {
            0
        } else if most == 0 {
            100
        } else {
            100 * (most + least - *score) / most
        };
    }
}

/// 1.16 to 1.18: each node's matching pods, turned round against the sum over all nodes.
fn flip<'a>(cycle: &'a Cycle<'a>, feasible: &Feasible, constraints: Vec<Constraint>) -> PreScore<'a> {
    let max = cycle.profile.rules.max_score;
    let zero_first = cycle.profile.rules.spread_zeroes_others_first();
    let eligible: NodeSet = feasible.iter().filter(|node| has_all_keys(node, &constraints)).map(|node| node.id).collect();
    let pods: Vec<Vec<i64>> = constraints.iter().map(|constraint| constraint.scored_pods_by_node(cycle)).collect();
    let mut counts: HashMap<(Arc<str>, Arc<str>), i64> = HashMap::new();
    let pair = |node: &NodeInfo, constraint: &Constraint| Some((constraint.key.clone(), node.labels.shared(&constraint.key)?.clone()));
    for node in feasible.iter().filter(|node| eligible.contains(&node.id)) {
        counts.extend(constraints.iter().filter_map(|constraint| Some((pair(node, constraint)?, 0))));
    }
    for node in cycle.state.nodes().filter(|node| has_all_keys(node, &constraints)) {
        for (at, constraint) in constraints.iter().enumerate().filter(|(_, constraint)| constraint.includes(node, cycle)) {
            if let Some(count) = pair(node, constraint).and_then(|pair| counts.get_mut(&pair)) {
                *count += pods[at][node.id as usize];
            }
        }
    }
    let steady = eligible.len() == feasible.len() && counts.values().all(|pods| *pods == 0);
    let taking_part = eligible.clone();
    let raw = move |node: &NodeInfo| {
        if !taking_part.contains(&node.id) {
            return 0;
        }
        constraints.iter().filter_map(|constraint| counts.get(&pair(node, constraint)?)).sum()
    };
    let normalize = move |nodes: &[&NodeInfo], scores: &mut [i64]| {
        let taking_part = || nodes.iter().zip(scores.iter()).filter(|(node, _)| eligible.contains(&node.id)).map(|(_, score)| *score);
        let total: i64 = taking_part().sum();
        // 1.17 and 1.18 take an endless minimum where no node takes part, and then give none anything.
        let spread = total - taking_part().min().unwrap_or(if zero_first { total } else { i64::MAX });
        for (node, score) in nodes.iter().zip(scores.iter_mut()) {
            *score = if spread == 0 && (!zero_first || eligible.contains(&node.id)) {
                max
            } else if eligible.contains(&node.id) {
                (max as f64 * ((total - *score) as f64 / spread as f64)) as i64
            } else {
                0
            };
        }
    };
    PreScore::Score(Score { raw: Box::new(raw), normalize: comparing(steady, normalize) })
}

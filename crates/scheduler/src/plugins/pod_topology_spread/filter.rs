//! Constraints that must hold: domains are counted once, each node is then one comparison.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::WhenUnsatisfiable;
use crate::framework::SpreadCheck;
use crate::{Candidate, Cycle, PreFilter, Verdict};

use super::{Constraint, constraints, has_all_keys};

pub(super) const SKEW_REASON: &str = "node(s) didn't match pod topology spread constraints";
pub(super) const MISSING_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";
/// What the emptiest domain counts where there is no domain at all (`math.MaxInt32`).
pub(super) const NO_DOMAIN: i64 = 2_147_483_647;

/// Matching pods by the value of one topology key.
#[derive(Default)]
pub(super) struct Domains {
    pub(super) counts: HashMap<Arc<str>, i64>,
    emptiest: Vec<(Arc<str>, i64)>,
}

impl Domains {
    fn rank(&mut self) {
        for (value, count) in &self.counts {
            let at = self.emptiest.partition_point(|(_, known)| known <= count);
            if at < 2 {
                self.emptiest.insert(at, (value.clone(), *count));
                self.emptiest.truncate(2);
            }
        }
    }

    /// The count of the emptiest domain, while `value` counts `count`.
    fn least(&self, value: &str, count: i64) -> i64 {
        let others = self.emptiest.iter().filter(|(known, _)| &**known != value).map(|(_, least)| *least);
        let own = self.counts.contains_key(value).then_some(count);
        others.chain(own).min().unwrap_or(NO_DOMAIN)
    }
}

/// The constraints with DoNotSchedule, counted.
pub(super) struct Counted {
    pub(super) constraints: Vec<Constraint>,
    /// Whose counts each constraint uses.
    place: Vec<usize>,
    pub(super) domains: Vec<Domains>,
    pub(super) own: Vec<i64>,
}

impl Counted {
    pub(super) fn new(cycle: &Cycle) -> Option<Self> {
        let constraints = constraints(cycle, WhenUnsatisfiable::DoNotSchedule);
        if constraints.is_empty() {
            return None;
        }
        // Up to 1.32 constraints on the same key share their counts.
        let per_constraint = cycle.profile.rules.spread_counts_per_constraint;
        let shares = |at: usize| if per_constraint { at } else { first_with_key(&constraints, at) };
        let place: Vec<usize> = (0..constraints.len()).map(shares).collect();
        let domains = count(cycle, &constraints, &place);
        let own = constraints.iter().map(|constraint| i64::from(constraint.matches(&cycle.pod.labels))).collect();
        Some(Self { constraints, place, domains, own })
    }

    /// What the constraint at a place compares on a node; `None` where the node has no such label.
    fn compare(&self, at: usize, node: &Candidate, cycle: &Cycle) -> Option<SpreadCheck> {
        let constraint = &self.constraints[at];
        let value = node.labels.shared(&constraint.key)?;
        let domains = &self.domains[self.place[at]];
        let known = domains.counts.get(value).copied();
        let count = known.unwrap_or(0) + difference(node, cycle, &self.constraints, &self.place, at);
        let few = i64::try_from(domains.counts.len()).unwrap_or(i64::MAX) < constraint.min_domains;
        let least = if few { 0 } else { domains.least(value, count) };
        let (key, max_skew, min_domains) = (constraint.key.clone(), constraint.max_skew, constraint.min_domains);
        Some(SpreadCheck { key, value: value.clone(), count, own: self.own[at], least, max_skew, few, min_domains, domains: Vec::new() })
    }

    /// Every domain of a constraint with its count, the emptiest first.
    fn ranked(&self, at: usize) -> Vec<(Arc<str>, i64)> {
        let mut domains: Vec<_> = self.domains[self.place[at]].counts.iter().map(|(value, count)| (value.clone(), *count)).collect();
        domains.sort_by(|(name, count), (other, more)| count.cmp(more).then_with(|| name.cmp(other)));
        domains
    }
}

/// What every constraint with DoNotSchedule compares on a node, in order; an error is the key of a label the node lacks.
pub(crate) fn comparisons(cycle: &Cycle, node: &Candidate) -> Vec<Result<SpreadCheck, Arc<str>>> {
    let Some(counted) = Counted::new(cycle) else { return Vec::new() };
    let compare = |at: usize| match counted.compare(at, node, cycle) {
        Some(compared) => Ok(SpreadCheck { domains: counted.ranked(at), ..compared }),
        None => Err(counted.constraints[at].key.clone()),
    };
    (0..counted.constraints.len()).map(compare).collect()
}

/// Prepares the constraints with DoNotSchedule.
pub(crate) fn filter<'a>(cycle: &'a Cycle<'a>) -> PreFilter<'a> {
    let rules = &cycle.profile.rules;
    let Some(counted) = Counted::new(cycle) else {
        return if rules.skips("PodTopologySpread") { PreFilter::Skip } else { PreFilter::Filter(Box::new(|_| Verdict::Pass)) };
    };
    if rules.spread_nothing_counted_passes && counted.domains.iter().all(|domains| domains.counts.is_empty()) {
        return PreFilter::Filter(Box::new(|_| Verdict::Pass));
    }
    PreFilter::Filter(Box::new(move |node| {
        for at in 0..counted.constraints.len() {
            match counted.compare(at, node, cycle) {
                None if rules.spread_missing_label_unresolvable => return Verdict::unresolvable(MISSING_LABEL),
                None => return Verdict::unschedulable(SKEW_REASON),
                Some(comparison) if comparison.is_skewed() => return Verdict::unschedulable(SKEW_REASON),
                Some(_) => {}
            }
        }
        Verdict::Pass
    }))
}

fn first_with_key(constraints: &[Constraint], at: usize) -> usize {
    constraints.iter().position(|constraint| constraint.key == constraints[at].key).unwrap_or(at)
}

fn count(cycle: &Cycle, constraints: &[Constraint], place: &[usize]) -> Vec<Domains> {
    let mut domains: Vec<Domains> = constraints.iter().map(|_| Domains::default()).collect();
    let pods: Vec<Vec<i64>> = constraints.iter().map(|constraint| constraint.pods_by_node(cycle)).collect();
    for node in cycle.state.nodes().filter(|node| has_all_keys(node, constraints)) {
        for (at, constraint) in constraints.iter().enumerate() {
            let Some(value) = node.labels.shared(&constraint.key).filter(|_| constraint.includes(node, cycle)) else { continue };
            let own = if cycle.profile.rules.spread_counts_other_nodes { 0 } else { pods[at][node.id as usize] };
            *domains[place[at]].counts.entry(value.clone()).or_insert(0) += own;
        }
    }
    if cycle.profile.rules.spread_counts_other_nodes {
        for node in cycle.state.nodes() {
            for (at, constraint) in constraints.iter().enumerate() {
                // A node without the label counts where the label is empty.
                let value = node.labels.get(&constraint.key).unwrap_or_default();
                let domain = domains[place[at]].counts.get_mut(value);
                domain.into_iter().for_each(|count| *count += pods[at][node.id as usize]);
            }
        }
    }
    domains.iter_mut().for_each(Domains::rank);
    domains
}

/// What pods added to or taken off the node change in its domain's count.
fn difference(node: &Candidate, cycle: &Cycle, constraints: &[Constraint], place: &[usize], at: usize) -> i64 {
    if node.added.is_empty() && node.removed.is_empty() || !has_all_keys(node, constraints) {
        return 0;
    }
    let mut sum = 0;
    for (other, constraint) in constraints.iter().enumerate().filter(|(other, _)| place[*other] == place[at]) {
        debug_assert!(place[other] == place[at]);
        if !constraint.includes(node, cycle) {
            continue;
        }
        let counts = |pod: &&Arc<crate::cluster::PodInfo>| pod.namespace == cycle.pod.namespace && constraint.matches(&pod.labels);
        let matching = |pods: &[Arc<crate::cluster::PodInfo>]| i64::try_from(pods.iter().filter(counts).count()).unwrap_or(i64::MAX);
        sum += matching(node.added) - matching(node.removed);
    }
    sum
}

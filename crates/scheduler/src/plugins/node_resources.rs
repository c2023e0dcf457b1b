//! How full a node would be: the arithmetic that scores of resources share.

use std::sync::Arc;

use crate::cluster::{NodeInfo, RequestRules, Resources};
use crate::framework::{on_shape, part};
use crate::{Cycle, PreScore, Rules, ScoringStrategy};

/// What a node offers of a resource and what would be taken of it with the pod; `None` where upstream leaves the resource out.
/// Upstream: `calculateResourceAllocatableRequest` (`plugins/noderesources/resource_allocation.go`).
pub(crate) fn offered_and_taken(
    name: &str,
    node: &NodeInfo,
    pod: &Resources,
    non_zero: bool,
    drop_unrequested: bool,
) -> Option<(i64, i64)> {
    let own = pod.get(name);
    let taken = match name {
        "cpu" if non_zero => node.non_zero_cpu,
        "memory" if non_zero => node.non_zero_memory,
        _ => node.requested.get(name),
    };
    let scalar = !matches!(name, "cpu" | "memory" | "ephemeral-storage");
    let offered = node.allocatable.get(name);
    if drop_unrequested && (offered == 0 || scalar && own == 0) {
        return None;
    }
    Some((offered, taken.wrapping_add(own)))
}

/// The score by a strategy, as NodeResourcesFit (and its forerunners) give it; `requests`: what the scorer knows of the pod.
pub(super) fn strategy_score<'a>(
    cycle: &'a Cycle<'a>,
    strategy: ScoringStrategy,
    resources: &'a [(Arc<str>, i64)],
    requests: RequestRules,
) -> PreScore<'a> {
    let rules = &cycle.profile.rules;
    let pod = requests.scored(cycle.pod, true);
    PreScore::plain(move |node| match &strategy {
        ScoringStrategy::LeastAllocated => weighted_mean(resources, node, &pod, rules, |offered, taken| {
            if offered == 0 || taken > offered { 0 } else { part(offered.wrapping_sub(taken), rules.max_score, offered) }
        }),
        ScoringStrategy::MostAllocated => weighted_mean(resources, node, &pod, rules, |offered, taken| {
            if offered == 0 || taken > offered && !rules.most_clamps { 0 } else { part(taken.min(offered), rules.max_score, offered) }
        }),
        ScoringStrategy::RequestedToCapacityRatio(shape) => ratio(shape, resources, node, &pod, rules),
    })
}

fn weighted_mean(resources: &[(Arc<str>, i64)], node: &NodeInfo, pod: &Resources, rules: &Rules, score: impl Fn(i64, i64) -> i64) -> i64 {
    let (mut sum, mut weights) = (0, 0);
    for (name, weight) in resources {
        if let Some((offered, taken)) = offered_and_taken(name, node, pod, true, rules.least_skips_empty) {
            sum = weight.wrapping_mul(score(offered, taken)).wrapping_add(sum);
            weights += weight;
        }
    }
    if weights == 0 { 0 } else { sum / weights }
}

fn ratio(shape: &[(i64, i64)], resources: &[(Arc<str>, i64)], node: &NodeInfo, pod: &Resources, rules: &Rules) -> i64 {
    // Shape points are given on a scale of 10; from 1.17 on they are stretched to 100.
    let stretch = rules.max_score / 10;
    let (mut sum, mut weights) = (0, 0);
    for (name, weight) in resources {
        let Some((offered, taken)) = offered_and_taken(name, node, pod, true, rules.least_skips_empty) else { continue };
        let used = match (offered, taken) {
            (0, _) => 100,
            _ if taken > offered => 100,
            _ if rules.ratio_by_use => part(taken, 100, offered),
            _ => 100 - part(offered.wrapping_sub(taken), 100, offered),
        };
        let score = on_shape(shape, used, stretch);
        if score > 0 {
            sum += score * weight;
            weights += weight;
        }
    }
    if weights == 0 { 0 } else { (sum as f64 / weights as f64).round() as i64 }
}

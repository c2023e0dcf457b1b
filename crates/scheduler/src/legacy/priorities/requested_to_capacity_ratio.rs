//! RequestedToCapacityRatioPriority: a node's use with the pod, put on a shape.
//! Source: `algorithm/priorities/requested_to_capacity_ratio.go` (1.11–1.17).

use std::sync::Arc;

use crate::framework::{on_shape, part};
use crate::plugins::offered_and_taken;
use crate::{Cycle, Feasible, Plugin, PreScore};

/// The priority, with a Policy's arguments or the defaults.
pub(crate) struct RequestedToCapacityRatioPriority {
    /// A Policy's arguments; none: cpu and memory alike, on a shape that is full for an empty node.
    pub arguments: Option<CapacityRatio>,
}

/// A Policy's arguments.
#[derive(Clone)]
pub(crate) struct CapacityRatio {
    /// Utilisation in percent against a score from 0 to 10.
    pub shape: Vec<(i64, i64)>,
    /// Resources with weights.
    pub resources: Vec<(Arc<str>, i64)>,
}

impl Default for CapacityRatio {
    fn default() -> Self {
        Self { shape: vec![(0, 10), (100, 0)], resources: vec![("cpu".into(), 1), ("memory".into(), 1)] }
    }
}

impl Plugin for RequestedToCapacityRatioPriority {
    fn name(&self) -> &'static str {
        "RequestedToCapacityRatioPriority"
    }

    fn doc(&self) -> &'static str {
        "A node's use with the pod gives points by a shape.

Checks
  For each resource its utilisation in percent, rounded up, put on the shape's line.
Reads
  node status.allocatable; requests of the pod and of the pods on the node; the Policy's argument requestedToCapacityRatioArguments
History
  1.11–1.15 the mean of cpu and memory
  1.16–1.17 the mean by weight of the resources whose score is above 0, rounded
  1.17–1.22 the plugin RequestedToCapacityRatioPriority; since 1.22 also NodeResourcesFit's strategy of that name
Differs from upstream
  nowhere"
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let rules = &cycle.profile.rules;
        let pod = rules.requests.scored(cycle.pod, true);
        let CapacityRatio { shape, resources } = self.arguments.clone().unwrap_or_default();
        let (stretch, plain_mean) = (rules.max_score / 10, rules.capacity_ratio_is_plain_mean());
        PreScore::plain(move |node| {
            let scored = resources.iter().map(|(name, weight)| {
                let (offered, taken) = offered_and_taken(name, node, &pod, true, false).unwrap_or_default();
                let used = if offered == 0 || taken > offered { 100 } else { 100 - part(offered.wrapping_sub(taken), 100, offered) };
                (on_shape(&shape, used, stretch), *weight)
            });
            mean(scored, plain_mean)
        })
    }
}

fn mean(scored: impl Iterator<Item = (i64, i64)>, plain: bool) -> i64 {
    if plain {
        return scored.map(|(score, _)| score).sum::<i64>() / 2;
    }
    let counted = scored.filter(|(score, _)| *score > 0);
    let (sum, weights) = counted.fold((0, 0), |(sum, weights), (score, weight)| (sum + score * weight, weights + weight));
    if weights == 0 { 0 } else { (sum as f64 / weights as f64).round() as i64 }
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn zero_scores_are_left_out_from_1_16_on() {
        assert_eq!(mean([(10, 1), (0, 1)].into_iter(), true), 5);
        assert_eq!(mean([(10, 1), (0, 1)].into_iter(), false), 10);
        assert_eq!(mean([(5, 1), (8, 2)].into_iter(), false), 7);
        assert_eq!(mean([(0, 1), (0, 1)].into_iter(), false), 0);
    }
}

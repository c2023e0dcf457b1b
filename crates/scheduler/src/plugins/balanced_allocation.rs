//! NodeResourcesBalancedAllocation: resources are used up evenly.

use std::sync::Arc;

use crate::cluster::{NodeInfo, Resources};
use crate::framework::WithoutState;
use crate::release::BalancedFormula;
use crate::release::Rules;
use crate::{Cycle, Feasible, Plugin, PreScore};

use super::node_resources::offered_and_taken;

/// Upstream: `plugins/noderesources/balanced_allocation.go`; up to 1.16 BalancedResourceAllocation.
pub(super) struct BalancedAllocation;

impl Plugin for BalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    fn doc(&self) -> &'static str {
        "The more evenly a node's resources would be used, the more points.

Checks
  Score: how far the shares of cpu and memory (or of the resources configured) taken on the node differ.
Reads
  node status.allocatable; requests of the pod and of the pods on the node
History
  1.18–1.21 one minus the difference of both shares; containers without requests count 100m and 200Mi; an overfull node gets 0
            (1.19.13–15, 1.20.9–11, 1.21.3–5: it counts as full)
  1.22–1.32 one minus the standard deviation of the shares, of plain requests (up to 1.22.3 with the defaults)
  1.33–1.35 the same; not run for pods that request none of the resources
  1.36–     what the pod changes about it: 75 is no change
Differs from upstream
  With BalanceAttachedNodeVolumes (1.11–1.21, off) the score is unknown: volumes count as earlier pods left them in memory.
  Up to 1.26 more than two resources were summed in an order that varied; here in the configured order."
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let rules = &cycle.profile.rules;
        let max = rules.max_score;
        if rules.balanced == BalancedFormula::Difference {
            // Written by the volume limits of the last pod with volumes, on a node that the cache may not have copied since.
            if cycle.profile.gates.on("BalanceAttachedNodeVolumes") {
                return PreScore::Unknown("the volumes it counts (BalanceAttachedNodeVolumes) are what earlier pods left in memory".into());
            }
            let pod = rules.requests.scored(cycle.pod, true);
            let clamps = rules.balanced_clamps;
            return PreScore::plain(move |node| difference(node, &pod, max, clamps));
        }
        let defaults = rules.balanced_defaults;
        let pod = rules.requests.scored(cycle.pod, defaults);
        let resources = &cycle.profile.arguments.balanced_resources;
        if rules.balanced != BalancedFormula::Deviation && resources.iter().all(|name| pod.get(name) == 0) {
            return PreScore::Skip;
        }
        let changes = rules.balanced == BalancedFormula::Change;
        PreScore::plain(move |node| {
            let with = deviation(node, &pod, resources, true, defaults);
            if changes { 50 + (50 + with - deviation(node, &pod, resources, false, defaults)) / 2 } else { with }
        })
    }

    fn without_prescore(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }
}

fn share(offered: i64, taken: i64) -> f64 {
    if offered == 0 { 1.0 } else { taken as f64 / offered as f64 }
}

fn difference(node: &NodeInfo, pod: &Resources, max: i64, clamps: bool) -> i64 {
    let most = if clamps { 1.0 } else { f64::MAX };
    let cpu = share(node.allocatable.milli_cpu, node.non_zero_cpu.wrapping_add(pod.milli_cpu)).min(most);
    let memory = share(node.allocatable.memory, node.non_zero_memory.wrapping_add(pod.memory)).min(most);
    if !clamps && (cpu >= 1.0 || memory >= 1.0) { 0 } else { ((1.0 - (cpu - memory).abs()) * max as f64) as i64 }
}

fn deviation(node: &NodeInfo, pod: &Resources, resources: &[Arc<str>], with_pod: bool, defaults: bool) -> i64 {
    let mut shares = Vec::with_capacity(resources.len());
    for name in resources {
        if let Some((offered, taken)) = offered_and_taken(name, node, pod, defaults, true) {
            let taken = if with_pod { taken } else { taken.wrapping_sub(pod.get(name)) };
            shares.push((taken as f64 / offered as f64).min(1.0));
        }
    }
    let deviation = match shares.as_slice() {
        [] | [_] => 0.0,
        [one, other] => ((one - other) / 2.0).abs(),
        many => {
            let mean = many.iter().sum::<f64>() / many.len() as f64;
            (many.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / many.len() as f64).sqrt()
        }
    };
    ((1.0 - deviation) * 100.0) as i64
}

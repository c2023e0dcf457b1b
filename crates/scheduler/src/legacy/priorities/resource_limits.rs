//! ResourceLimitsPriority: a point for nodes that could grant the pod's limits whole.
//! Source: `algorithm/priorities/resource_limits.go` (1.9–1.17).

use crate::cluster::Resources;
use crate::framework::WithoutState;
use crate::release::Rules;
use crate::{Cycle, Feasible, Plugin, PreScore};

pub(super) struct ResourceLimits;

impl Plugin for ResourceLimits {
    fn name(&self) -> &'static str {
        "ResourceLimitsPriority"
    }

    fn doc(&self) -> &'static str {
        "A point for nodes that could grant the pod's limits whole.

Checks
  1 where the pod's cpu limit, or its memory limit, is set and no more than the node's allocatable; else 0.
Reads
  limits of the pod's containers and init containers; node allocatable
History
  1.9–1.18 behind the gate ResourceLimitsPriorityFunction (off); the gate adds it to the default priorities from 1.13 on
Differs from upstream
  nowhere"
    }

    fn looks_at_pods(&self) -> bool {
        false
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let native_scalars = cycle.profile.rules.requests.native_scalars;
        let mut limits = Resources::default();
        for container in &cycle.pod.spec.requests.containers {
            limits.add(&Resources::from_list(&container.limits, native_scalars));
        }
        for container in &cycle.pod.spec.requests.init_containers {
            limits.raise_to(&Resources::from_list(&container.limits, native_scalars));
        }
        let granted = |limit: i64, offered: i64| limit != 0 && offered != 0 && limit <= offered;
        PreScore::plain(move |node| {
            let offered = &node.allocatable;
            i64::from(granted(limits.milli_cpu, offered.milli_cpu) || granted(limits.memory, offered.memory))
        })
    }

    fn without_prescore(&self, rules: &Rules) -> WithoutState {
        WithoutState::fails(rules.reading_scores(), "PreScore", "NodeResourceLimits")
    }
}

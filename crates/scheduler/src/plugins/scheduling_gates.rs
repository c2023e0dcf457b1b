//! SchedulingGates: a pod with gates does not enter the queue.

use crate::{Cycle, Plugin};

/// Upstream: `plugins/schedulinggates/scheduling_gates.go`.
pub(super) struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        "SchedulingGates"
    }

    fn doc(&self) -> &'static str {
        "A pod with scheduling gates waits until the last one is removed.

Checks
  spec.schedulingGates is empty. It runs before the queue (PreEnqueue), so a gated pod is never tried on a node.
Reads
  pod spec.schedulingGates
History
  1.26 (off by default), 1.27–  waiting for scheduling gates: [a b]
  The API server writes the condition PodScheduled=False with the reason SchedulingGated when the pod is created.
Differs from upstream
  nowhere"
    }

    fn pre_enqueue(&self, cycle: &Cycle) -> Option<String> {
        let gates = || format!("waiting for scheduling gates: [{}]", cycle.pod.spec.scheduling_gates.join(" "));
        cycle.profile.waits_at_gates(cycle.pod).then(gates)
    }
}

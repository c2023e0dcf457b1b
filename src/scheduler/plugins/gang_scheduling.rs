//! GangScheduling: pods of a group wait for each other. Off by default; what it holds back is named, not simulated.

use crate::scheduler::Plugin;

/// Upstream: `plugins/gangscheduling/gangscheduling.go`.
pub struct GangScheduling;

impl Plugin for GangScheduling {
    fn name(&self) -> &'static str {
        "GangScheduling"
    }

    fn doc(&self) -> &'static str {
        "Pods of a group enter the queue together and wait for each other before they are bound.

Checks
  PreEnqueue: the pod's group exists and enough of its pods are there; Permit: enough of them have found a node.
Reads
  pod spec.schedulingGroup (1.35: spec.workloadRef); PodGroup (1.35: Workload)
History
  1.35– off by default (gates GangScheduling and GenericWorkload)
Differs from upstream
  It neither filters nor scores single nodes, so verdicts and scores do not depend on it;
  with the gate on, waiting for the group is named as a caveat."
    }
}

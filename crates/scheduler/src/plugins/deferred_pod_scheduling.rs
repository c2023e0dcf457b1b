//! DeferredPodScheduling: room for a bound pod whose resize waits. No pod that waits for a node is one.

use crate::Plugin;

/// Upstream: `plugins/deferredpodscheduling/deferred_pod_scheduling.go`.
pub(super) struct DeferredPodScheduling;

impl Plugin for DeferredPodScheduling {
    fn name(&self) -> &'static str {
        "DeferredPodScheduling"
    }

    fn doc(&self) -> &'static str {
        "A bound pod whose resize its kubelet deferred is tried again on its own node, to make room for it there.

Checks
  Only of pods whose condition PodResizePending has the reason Deferred: the node is the pod's own, and its
  spec.podPreemptionPolicy.disableResizePreemption is empty. Where the resize fits, the pod waits for its kubelet (Permit).
Reads
  pod status.conditions, spec.nodeName; node spec.podPreemptionPolicy
History
  1.37– off by default (gate InPlacePodVerticalScalingSchedulerPreemption)
Differs from upstream
  A bound pod is evaluated as it was before it was bound, when no resize can wait: it is skipped. What the scheduler tries for the
  resize of a bound pod, and whom it preempts for it, is not evaluated."
    }
}

//! What a step of a timeline is.

use std::fmt;

macro_rules! step_kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// What happened in a step. [`StepKind::as_str`] is the same word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum StepKind {
            $($(#[$doc])* $kind,)*
        }

        impl StepKind {
            /// Returns the word for machines: the kind's name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)*
                }
            }
        }
    };
}

step_kinds! {
    /// What a node offers for pods changed.
    Allocatable,
    /// Devices were allocated to a claim.
    Allocated,
    /// A volume could not be attached to a node.
    AttachFailed,
    /// A volume was attached to a node.
    Attached,
    /// A volume became available for claims.
    Available,
    /// A claim and a volume were bound to each other.
    Bound,
    /// An autoscaler cannot read or write the scale of its target.
    CannotScale,
    /// What a node has changed, and what it offers for pods did not.
    Capacity,
    /// Fields changed that no other kind covers.
    Changed,
    /// A condition changed that no other kind covers.
    Condition,
    /// The kubelet began to create a pod's containers.
    ContainersCreating,
    /// A pod's containers started.
    ContainersStarted,
    /// A node was made unschedulable.
    Cordoned,
    /// The object was created.
    Created,
    /// A claim gave its devices back.
    Deallocated,
    /// A debug container ended.
    DebugEnded,
    /// A debug container was requested.
    DebugRequested,
    /// A debug container started.
    DebugStarted,
    /// The object was deleted.
    Deleted,
    /// Deletion was requested: the grace period runs, or finalizers hold the object.
    Deleting,
    /// A volume could not be detached from a node.
    DetachFailed,
    /// A volume was detached from a node.
    Detached,
    /// Ready endpoints of a service were removed.
    EndpointsGone,
    /// Endpoints of a service are no longer ready.
    EndpointsNotReady,
    /// Endpoints of a service became ready.
    EndpointsReady,
    /// Endpoints of a service began to terminate.
    EndpointsTerminating,
    /// The kubelet evicted the pod.
    Evicted,
    /// A pod or job failed.
    Failed,
    /// A job is about to fail: its pods are being ended.
    Failing,
    /// A claim's file system waits for its node to resize it.
    FileSystemResizePending,
    /// A finalizer was removed from an object that is being deleted.
    FinalizerRemoved,
    /// A cron job came due.
    Fired,
    /// One of several scheduling gates was removed.
    GateRemoved,
    /// A pod was created with scheduling gates.
    Gated,
    /// A node's heartbeats came back after its lease had expired.
    HeartbeatAgain,
    /// The control plane noticed that a node's heartbeats are missing.
    HeartbeatLost,
    /// Indexes of an indexed job failed.
    IndexFailed,
    /// An init container failed.
    InitFailed,
    /// An init container finished.
    InitFinished,
    /// An init container started.
    InitStarted,
    /// All init containers of a pod finished.
    Initialized,
    /// A job of a cron job ended.
    JobEnded,
    /// A cron job started a job.
    JobStarted,
    /// A job of a cron job succeeded.
    JobSucceeded,
    /// The last heartbeat of a node before its lease expired.
    LastHeartbeat,
    /// A service lost the addresses of its load balancer.
    LoadBalancerGone,
    /// A service got the addresses of its load balancer.
    LoadBalancerReady,
    /// A claim lost its volume.
    Lost,
    /// An autoscaler can read its metrics again.
    MetricsReadable,
    /// A service has no ready endpoint left.
    NoEndpoints,
    /// An autoscaler cannot read its metrics.
    NoMetrics,
    /// The scheduler chose the node for a volume that is yet to be provisioned.
    NodeSelected,
    /// That choice of a node was taken back.
    NodeUnselected,
    /// A pod was nominated to a node, where preemption makes room for it.
    Nominated,
    /// A pod's nomination was cleared.
    NominationCleared,
    /// The object is no longer ready.
    NotReady,
    /// A deployment was paused.
    Paused,
    /// The object's phase changed to one that no other kind covers.
    Phase,
    /// A pod preempted another one.
    Preempting,
    /// A node came under pressure, or reports another problem.
    Pressure,
    /// A node's pressure or problem is over.
    PressureOver,
    /// Counts of a workload's pods changed.
    Progress,
    /// A claim waits for its provisioner.
    Provisioning,
    /// The object became ready.
    Ready,
    /// The scheduler found no node for the pod.
    Refused,
    /// A kubelet registered its node.
    Registered,
    /// A volume's claim is gone.
    Released,
    /// A volume was reserved for a claim, or a claim for a volume.
    Reserved,
    /// A claim of devices was reserved for a pod.
    ReservedFor,
    /// An in-place resize waits until the node has room.
    ResizeDeferred,
    /// An in-place resize can never fit the node.
    ResizeInfeasible,
    /// An in-place resize was requested.
    ResizeRequested,
    /// The kubelet began an in-place resize.
    ResizeStarted,
    /// An in-place resize was carried out.
    Resized,
    /// A volume is being resized.
    Resizing,
    /// A container was restarted.
    Restarted,
    /// A deployment, job or cron job was resumed.
    Resumed,
    /// A node is ready again.
    Returned,
    /// A workload began a new revision.
    Revision,
    /// A rollout is complete.
    RolledOut,
    /// A rollout began.
    Rollout,
    /// A pod's sandbox is ready: its network is set up.
    SandboxReady,
    /// A workload was scaled down.
    ScaledDown,
    /// A workload was scaled up.
    ScaledUp,
    /// An autoscaler wants more or fewer replicas than its limits allow.
    ScalingLimited,
    /// A pod was bound to a node.
    Scheduled,
    /// A sidecar ended.
    SidecarEnded,
    /// A sidecar failed.
    SidecarFailed,
    /// A sidecar started.
    SidecarStarted,
    /// A job started.
    Started,
    /// A rollout makes no progress.
    Stuck,
    /// A pod or job succeeded.
    Succeeded,
    /// A job or cron job was suspended.
    Suspended,
    /// A node got a taint.
    Tainted,
    /// A container terminated.
    Terminated,
    /// A node was made schedulable again.
    Uncordoned,
    /// A deployment was rolled back to an earlier revision.
    Undo,
    /// The last scheduling gate was removed.
    Ungated,
    /// A claim of devices is no longer reserved for a pod.
    Unreserved,
    /// A node lost a taint.
    Untainted,
    /// A node runs another version of the kubelet or its system.
    Upgraded,
    /// A container waits for a reason.
    Waiting,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

//! What a step of a timeline is.

use std::fmt;

macro_rules! step_kinds {
    ($($kind:ident,)*) => {
        /// What happened in a step. Each kind is named after it; [`StepKind::as_str`] is the same word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the names say it")]
        #[non_exhaustive]
        pub enum StepKind {
            $($kind,)*
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
    Allocatable, Allocated, AttachFailed, Attached, Available, Bound, CannotScale, Changed, Condition, ContainersCreating,
    ContainersStarted, Cordoned, Created, Deallocated, DebugEnded, DebugRequested, DebugStarted, Deleted, Deleting, DetachFailed,
    Detached, EndpointsGone, EndpointsNotReady, EndpointsReady, EndpointsTerminating, Evicted, Failed, Failing,
    FileSystemResizePending, FinalizerRemoved, Fired, GateRemoved, Gated, HeartbeatAgain, HeartbeatLost, IndexFailed, InitFailed,
    InitFinished, InitStarted, Initialized, JobEnded, JobStarted, JobSucceeded, LastHeartbeat, LoadBalancerGone,
    LoadBalancerReady, Lost, MetricsReadable, NoEndpoints, NoMetrics, NodeSelected, NodeUnselected, Nominated, NominationCleared,
    NotReady, Paused, Phase, Preempting, Pressure, PressureOver, Progress, Provisioning, Ready, Refused, Registered, Released,
    Reserved, ReservedFor, ResizeDeferred, ResizeInfeasible, ResizeRequested, ResizeStarted, Resized, Resizing, Restarted,
    Resumed, Returned, Revision, RolledOut, Rollout, SandboxReady, ScaledDown, ScaledUp, ScalingLimited, Scheduled, SidecarEnded,
    SidecarFailed, SidecarStarted, Started, Stuck, Succeeded, Suspended, Tainted, Terminated, Uncordoned, Undo, Ungated,
    Unreserved, Untainted, Upgraded, Waiting,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

//! More about a step, besides its kind: names, numbers and the words of who wrote them.

use jiff::SignedDuration;

use super::step_parts::{
    ContainerExit, CreatedAs, DeviceName, FieldEdit, NodeTaint, ResourceChange, StatusReason, TemplateChange, Utilization,
};

/// More about a step. Which variants a [`StepKind`](super::StepKind) has follows from what it is of; any may have [`StepDetail::None`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum StepDetail {
    /// The kind says it all.
    #[default]
    None,
    /// The reason and message of a condition, a container's state or the status.
    Reason(StatusReason),
    /// A component's message.
    Message(String),
    /// The last message of a refusal that was repeated.
    LastMessage(String),
    /// A creation.
    Created {
        /// Kind and name of the controlling owner.
        owner: Option<(String, String)>,
        /// What the object is to be.
        with: CreatedAs,
    },
    /// A deletion without grace and finalizers.
    AtOnce,
    /// Fields that changed.
    Fields(Vec<FieldEdit>),
    /// The fields that a manager set in its last write, all of those it manages.
    LastWrite(Vec<String>),
    /// A value in place of another.
    Replaced {
        /// The old one; `None` where there was none.
        before: Option<String>,
        /// The new one.
        after: String,
    },
    /// A condition whose status turned.
    Condition {
        /// Its type.
        kind: String,
        /// Its status.
        status: String,
        /// Why.
        reason: StatusReason,
    },
    /// The finalizers that hold a deletion, or the one that was removed.
    Finalizers(Vec<String>),
    /// Seconds that a pod has to end.
    GracePeriod(i64),
    /// The scheduling gates that hold a pod back.
    Gates(Vec<String>),
    /// Scheduling gates that were removed.
    GatesRemoved {
        /// Those.
        removed: Vec<String>,
        /// Those that still hold the pod back.
        left: Vec<String>,
    },
    /// The node that a pod was created on.
    CreatedOn(String),
    /// The node that a pod was bound to.
    BoundTo(String),
    /// The node concerned or, as `namespace/name`, the claim.
    Target(String),
    /// Containers of a pod.
    Containers(Vec<String>),
    /// A container with its image.
    ContainerImage {
        /// The container.
        container: String,
        /// Its image.
        image: String,
    },
    /// A container that ended.
    ContainerEnded {
        /// The container.
        container: String,
        /// How it ended.
        exit: ContainerExit,
    },
    /// A container that waits.
    ContainerWaits {
        /// The container.
        container: String,
        /// Why.
        reason: StatusReason,
    },
    /// A container that was started again.
    Restarted {
        /// The container.
        container: String,
        /// How often by now.
        count: i64,
        /// How it ended before.
        after: Option<ContainerExit>,
    },
    /// Resources of a container, or of the pod.
    Resources {
        /// The container; `None`: the pod itself.
        container: Option<String>,
        /// What changed.
        changes: Vec<ResourceChange>,
    },
    /// The version of a node's kubelet.
    Kubelet(String),
    /// A kubelet of another version.
    KubeletUpgraded {
        /// The old version.
        before: String,
        /// The new one.
        after: String,
    },
    /// A node's status became unknown.
    StatusLost {
        /// Why.
        reason: StatusReason,
        /// When the kubelet last posted it.
        last: Option<String>,
    },
    /// A node's lease was not renewed in time.
    LeaseExpired {
        /// Seconds for which it is good.
        seconds: i64,
        /// How long it was not renewed.
        silence: SignedDuration,
    },
    /// A taint of a node.
    Taint(NodeTaint),
    /// Resources of a node: allocatable ones, or its capacity.
    Allocatable(Vec<ResourceChange>),
    /// A pod template that was set.
    Rollout {
        /// What differs in it.
        change: TemplateChange,
        /// The annotation `kubernetes.io/change-cause`.
        cause: Option<String>,
    },
    /// A pod template that came back.
    Undo {
        /// The revision number that it had, if it had one.
        number: Option<String>,
        /// What differs in it.
        change: TemplateChange,
        /// The annotation `kubernetes.io/change-cause`.
        cause: Option<String>,
    },
    /// The revision number that a Deployment's controller gave a rollout.
    RevisionNumber(String),
    /// Another number of replicas.
    Scaled {
        /// The old number.
        before: i64,
        /// The new one.
        after: i64,
        /// What an autoscaler measured.
        usage: Vec<Utilization>,
    },
    /// A Deployment's replicas.
    DeploymentReplicas {
        /// How many have the last template.
        updated: i64,
        /// How many there should be.
        wanted: i64,
        /// How many are available.
        available: i64,
    },
    /// Replicas that are ready.
    ReadyReplicas {
        /// How many are.
        ready: i64,
        /// How many there should be.
        wanted: i64,
    },
    /// Replicas that are ready and have the last template: a StatefulSet's or DaemonSet's rollout is complete.
    UpToDate(i64),
    /// A Job's pods.
    JobPods {
        /// How many run.
        active: i64,
        /// How many succeeded.
        succeeded: i64,
        /// How many should.
        completions: Option<i64>,
        /// How many failed.
        failed: i64,
    },
    /// Indexes of a Job that failed, as its status has them.
    FailedIndexes(String),
    /// A time, as the object has it.
    Time(String),
    /// A Job of a CronJob.
    Job(String),
    /// Addresses of Endpoints or an EndpointSlice that turned.
    Endpoints {
        /// The names of their pods, or the addresses.
        names: Vec<String>,
        /// How many are ready now.
        ready: usize,
    },
    /// Addresses of a load balancer.
    Addresses(Vec<String>),
    /// Who is to make a volume.
    Provisioner(String),
    /// The volume that a claim is for.
    Volume(String),
    /// The claim that a volume is for.
    Claim {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A volume whose claim is gone, with its reclaim policy where it is known.
    Released(Option<String>),
    /// Devices that a claim was allocated.
    Devices(Vec<DeviceName>),
    /// Who may use a claim's devices.
    Consumer {
        /// The resource: `pods`.
        resource: String,
        /// Its name.
        name: String,
    },
    /// The object that makes room for a pod.
    Victim(String),
}

impl From<StatusReason> for StepDetail {
    fn from(reason: StatusReason) -> Self {
        Self::Reason(reason)
    }
}

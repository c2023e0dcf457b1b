//! An attempt and its outcome, compared with the rules.

mod caveat;

use std::sync::Arc;

use crate::cluster::PodInfo;

pub use caveat::{AssumedPod, Assumption, Caveat, NeighbourDoubt, UnreadObject, UnseenEnd};

use super::devices::{NodeDevices, RecordedDevices};
use super::framework::{Fix, Obstacle};
use super::{Fact, Judgement, PreemptionCandidate, Release, VersionFrom};

/// How a recorded attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The pod was bound.
    Scheduled,
    /// It was unschedulable.
    Unschedulable,
    /// It waits; no outcome is written.
    Pending,
    /// It is held back by its scheduling gates.
    Gated,
}

/// A scheduling decision that etcd shows, or the one to come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The pod as it was before the outcome.
    pub pod: Arc<PodInfo>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// The node the pod was bound to.
    pub node: Option<Arc<str>>,
    /// The revision that wrote the outcome; for a pod that waits, the one evaluated.
    pub revision: i64,
    /// The message recorded with a rejection.
    pub recorded_message: Option<Arc<str>>,
    /// Whether the outcome is dated within a second of the pod's creation.
    pub at_once: bool,
    /// Whether only an Event, whose revision is `revision`, records it: it was never written to the pod.
    pub event_only: bool,
    /// The revision since which the pod waited for it: its creation, or its last refusal.
    pub queued: i64,
    /// The node that the pod was nominated to by then.
    pub(crate) nominated_before: Option<Arc<str>>,
}

/// Who decides where a pod runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum DecidedBy {
    /// A scheduler.
    Scheduler,
    /// The kubelet of the node, which runs the pod from a file there: a static pod.
    Kubelet,
    /// The client that created the pod, with its node.
    Creator,
    /// It can no longer be read.
    Unreadable,
}

impl DecidedBy {
    /// Returns who decided about a pod that is bound though no attempt shows it. `complete`: no revision is missing.
    pub fn without_attempt(pod: &PodInfo, complete: bool) -> Self {
        match (pod.mirror, complete) {
            (true, _) => Self::Kubelet,
            (false, true) => Self::Creator,
            (false, false) => Self::Unreadable,
        }
    }
}

/// The state an attempt was evaluated on, where it is not simply the revision before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateSeen {
    /// The revision before the attempt's own first write: it cannot have seen later ones.
    BeforeOwnWrites,
    /// The attempt's own writes were undone.
    WithoutOwnWrites,
    /// The revision before the decisions about pods that were queued later.
    BeforeLaterPods,
    /// The state at the pod's turn: what was written while its outcome was on its way was undone.
    AtItsTurn,
    /// An earlier revision from which the outcome follows.
    Earlier,
}

/// How the recorded outcome compares with the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The recorded node is the only best, or the recorded rejection is ours too.
    Agrees,
    /// The recorded node is one of several best.
    Tie,
    /// The recorded node is not among the best, or feasibility differs.
    Disagrees,
    /// The evidence is not in the data.
    Unverifiable,
}

/// An attempt explained.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The attempt.
    pub attempt: Attempt,
    /// The revision whose state it was evaluated on.
    pub evaluated_revision: i64,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// The node the pod is meant for, if its node affinity names exactly one.
    pub meant_for: Option<Arc<str>>,
    /// The pod's `schedulerName`.
    pub scheduler_name: Arc<str>,
    /// The release whose rules were asked for, and the evidence for it.
    pub version: VersionFrom,
    /// The release of the scheduler that decided, as the data show it; `None` where nothing does.
    pub decided_release: Option<Release>,
    /// The judgement of the rules.
    pub judgement: Judgement,
    /// Whether the judgement agrees with what was recorded.
    pub agreement: Agreement,
    /// Why the scheduler may have decided differently, the gravest first.
    pub caveats: Vec<Caveat>,
    /// What is assumed of the scheduler, the same for every pod of its profile.
    pub assumptions: Vec<Assumption>,
    /// Pods that were counted on nodes before their bindings were written.
    pub assumed: Vec<AssumedPod>,
    /// Facts about rejections, at the depth requested.
    pub evidence: Vec<Evidence>,
    /// What would make a pod that fits no node fit.
    pub help: Help,
    /// The nodes on which preemption would make room, the best first.
    pub preemption: Vec<PreemptionCandidate>,
    /// Pods of lower priority that left the nominated node while the pod waited, each with the revision: its victims.
    pub preempted: Vec<(Arc<PodInfo>, i64)>,
    /// Devices the pod's claims would get on each node that fits.
    pub devices: Vec<NodeDevices>,
    /// Devices they were seen to get.
    pub recorded_devices: Vec<RecordedDevices>,
}

/// What a filter compared on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// The node.
    pub node: Arc<str>,
    /// The filter.
    pub plugin: &'static str,
    /// Facts, in the order they are compared.
    pub facts: Vec<Fact>,
}

/// How much evidence an explanation should bring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Verdicts alone.
    #[default]
    Verdicts,
    /// For each kind of rejection, what was compared on its first nodes.
    Refusals,
    /// For one node, everything that was compared.
    Node(String),
}

/// The smallest set of changes that makes the pod fit a node, proved by evaluating the pod again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remedy {
    /// The node it would then fit.
    pub node: Arc<str>,
    /// The changes, equal for nodes that need the same.
    pub fixes: Vec<Fix>,
    /// The plugins that reject without them.
    pub plugins: Vec<&'static str>,
}

/// What would make a pod that fits no node fit, and how far the search went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Help {
    /// For each node searched, the smallest sets of changes, the best first.
    pub remedies: Vec<Remedy>,
    /// What no change known here meets.
    pub hopeless: Vec<Hopeless>,
    /// How many nodes were searched: those nearest to fitting.
    pub searched: usize,
    /// How many there are.
    pub of: usize,
    /// Nodes on which the search was cut short, so that a smaller set may exist.
    pub cut: Vec<Arc<str>>,
    /// Whether the remedies were played on in a cluster with its controllers; those that filters accept need not hold there.
    pub is_played: bool,
    /// How many were left out, because the pod found no place after all.
    pub refuted: usize,
}

/// A rejection on a node that no change meets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hopeless {
    /// The node.
    pub node: Arc<str>,
    /// The filter; empty where it is not a single one.
    pub plugin: &'static str,
    /// The obstacles.
    pub obstacles: Vec<Obstacle>,
}

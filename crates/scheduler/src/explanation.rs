//! An attempt and what became of it, held against what the rules say.

mod caveat;

use std::sync::Arc;

use crate::cluster::PodInfo;

pub use caveat::{Assumption, Caveat, UnreadObject};

use super::devices::{NodeDevices, RecordedDevices};
use super::framework::{Fix, Obstacle};
use super::{Fact, Judgement, PreemptionCandidate, VersionFrom};

/// How a recorded attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The pod got a node.
    Scheduled,
    /// It was refused.
    Unschedulable,
    /// It waits; no outcome is written.
    Pending,
    /// It is held back by its scheduling gates.
    Gated,
}

/// A scheduling decision that etcd shows, or the one to come.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The pod as it was before the outcome.
    pub pod: Arc<PodInfo>,
    /// How it ended.
    pub outcome: Outcome,
    /// The node it got.
    pub node: Option<Arc<str>>,
    /// The revision that wrote the outcome; of a pod that waits, the one judged.
    pub revision: i64,
    /// The sentence recorded with a refusal.
    pub recorded_message: Option<Arc<str>>,
    /// Whether the outcome is dated within a second of the pod's creation.
    pub at_once: bool,
    /// Whether only an Event tells of it, whose revision is `revision`: it was never written into the pod.
    pub event_only: bool,
}

/// Who decided, or is to decide, where a pod runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// A scheduler.
    Scheduler,
    /// The kubelet of the node, which runs the pod from a file there: a static pod.
    Kubelet,
    /// Whoever created the pod, with its node.
    Creator,
    /// Not readable any more.
    Unreadable,
}

impl DecidedBy {
    /// Who decided about a pod that is on a node though no attempt shows it. `complete`: no revision is missing.
    pub fn without_attempt(pod: &PodInfo, complete: bool) -> Self {
        match (pod.mirror, complete) {
            (true, _) => Self::Kubelet,
            (false, true) => Self::Creator,
            (false, false) => Self::Unreadable,
        }
    }
}

/// Which state an attempt was evaluated on, where it is not simply the revision before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateSeen {
    /// The revision before the attempt's own first write: later ones it cannot have seen.
    BeforeOwnWrites,
    /// The attempt's own writes were taken back.
    WithoutOwnWrites,
    /// The state at the pod's turn: what was written while its outcome was on its way was taken back.
    AtItsTurn,
    /// An earlier revision from which the outcome follows.
    Earlier,
}

/// What the rules say of the recorded outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The recorded node is the only best, or the recorded refusal is ours too.
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
pub struct Explanation {
    /// The attempt.
    pub attempt: Attempt,
    /// The revision whose state it was judged on.
    pub evaluated_revision: i64,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// The node the pod is meant for, where it names one alone.
    pub meant_for: Option<Arc<str>>,
    /// The scheduler's name, as the pod asks for it.
    pub scheduler_name: Arc<str>,
    /// Its release, and from what that is known.
    pub version: VersionFrom,
    /// What the rules say.
    pub judgement: Judgement,
    /// Whether they agree with what was recorded.
    pub agreement: Agreement,
    /// Why the scheduler may have decided otherwise, the gravest first.
    pub caveats: Vec<Caveat>,
    /// What is assumed of the scheduler, the same for every pod of its profile.
    pub assumptions: Vec<Assumption>,
    /// Facts about refusals, as far as they were asked for.
    pub evidence: Vec<Evidence>,
    /// What would make a pod fit that fits nowhere.
    pub help: Help,
    /// The nodes preemption would make room on, the best first.
    pub preemption: Vec<PreemptionCandidate>,
    /// Lower pods that went from the node the pod is nominated to while it waited, each with the revision: whom it preempted.
    pub preempted: Vec<(Arc<PodInfo>, i64)>,
    /// Devices the pod's claims would get on each node that fits.
    pub devices: Vec<NodeDevices>,
    /// Devices they were seen to get.
    pub recorded_devices: Vec<RecordedDevices>,
}

/// What a filter compared on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The node.
    pub node: Arc<str>,
    /// The filter.
    pub plugin: &'static str,
    /// Facts, in the order they are looked at.
    pub facts: Vec<Fact>,
}

/// How much evidence an explanation should bring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Verdicts alone.
    #[default]
    Verdicts,
    /// For each kind of refusal, what was compared on its first nodes.
    Refusals,
    /// For one node, everything that was compared.
    Node(String),
}

/// The smallest set of changes that lets the pod fit a node, proved by judging again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The node it would fit then.
    pub node: Arc<str>,
    /// The changes, equal for nodes that want the same.
    pub fixes: Vec<Fix>,
    /// The plugins that refuse without them.
    pub plugins: Vec<&'static str>,
}

/// What would help a pod that fits nowhere, and how far that was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    /// For each node looked at the smallest sets of changes, the best first.
    pub remedies: Vec<Remedy>,
    /// What no change known here meets.
    pub hopeless: Vec<Hopeless>,
    /// How many nodes were looked at: those nearest to fitting.
    pub searched: usize,
    /// How many there are.
    pub of: usize,
    /// Nodes on which the search was cut short, so that a smaller set may exist.
    pub cut: Vec<Arc<str>>,
}

/// What refuses on a node and cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hopeless {
    /// The node.
    pub node: Arc<str>,
    /// The filter; empty where it is not one alone.
    pub plugin: &'static str,
    /// Why: each of them stands in the way.
    pub obstacles: Vec<Obstacle>,
}

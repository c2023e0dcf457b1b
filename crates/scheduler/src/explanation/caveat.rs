//! What limits an explanation: evidence that etcd does not hold, randomness, and what is assumed of the scheduler.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Release;
use crate::cluster::{ObjectProblem, Unreadable};
use crate::framework::{GroupCaveat, Sample, Unverifiable};

use super::{DecidedBy, StateSeen};

/// What is assumed of a scheduler, the same for every pod of its profile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Assumption {
    /// The configuration has parts that cannot be verified.
    Unverifiable(Unverifiable),
    /// No configuration was given, and etcd does not hold it: the default profile of the release is assumed, without extenders.
    DefaultProfile(Release),
}

/// A reason why the scheduler may have decided differently than the rules do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Caveat {
    /// No attempt shows how the pod got its node: it is evaluated as if it were to be scheduled now.
    NoAttempt(DecidedBy),
    /// The profile of the pod's `schedulerName` is not known; another is applied.
    OtherProfile {
        /// The pod's `schedulerName`.
        requested: Arc<str>,
        /// The profile applied.
        applied: String,
        /// Other pods of that `schedulerName`, each as `namespace/name`, that were decided about near the attempt: their choices depend on the same
        /// profile, and this one on where they were assumed.
        others: Vec<String>,
    },
    /// The release is newer than any known; the rules of another are applied.
    UnknownRelease {
        /// The release.
        release: Release,
        /// The one whose rules are applied.
        applied: Release,
    },
    /// The data is of another release than the one whose rules are applied.
    OtherReleaseRecorded {
        /// The release whose rules are applied.
        applied: Release,
        /// The release that the data shows.
        recorded: Release,
    },
    /// Only an Event records the rejection: the pod was deleted or bound before the condition was written.
    EventOnly,
    /// Only an Event records the rejection: the condition had the same message already. Further ones with that message may have left no trace.
    RepeatedRefusal,
    /// The attempt saw another state than that of the revision before it.
    StateSeen {
        /// Which state.
        state: StateSeen,
        /// Its revision.
        revision: i64,
    },
    /// These pods were assumed on nodes by then, though nothing in etcd shows it yet.
    Assumed(Vec<AssumedPod>),
    /// Whether the attempt came before or after the decisions about these pods is not known, and its numbers depend on it.
    Neighbours(Vec<NeighbourDoubt>),
    /// Pods ended so shortly before the attempt that the scheduler may not have known it, and its numbers depend on that.
    UnseenEnds(Vec<UnseenEnd>),
    /// The scheduler holds no lock, so nothing in etcd shows when its process began anew: pods that it had assumed would be forgotten then.
    RestartsUntraced,
    /// A filter's verdict is unknown on nodes that seem to fit.
    UnknownFilters {
        /// The nodes.
        nodes: Vec<Arc<str>>,
        /// The evidence missing on the first.
        missing: String,
    },
    /// A score is unknown.
    UnknownScore {
        /// The plugin.
        plugin: &'static str,
        /// The missing evidence.
        missing: Cow<'static, str>,
    },
    /// By the rules the attempt ends with an error, though the pod was bound.
    EndsWithError,
    /// Objects that could not be read, or not in full, the pod itself first.
    Unread(Vec<UnreadObject>),
    /// The cycle of the pod's group may have had another result.
    Group(GroupCaveat),
    /// The pod waits for others of its group, and which of them get nodes at the same time is not in etcd; with Permit's message.
    WaitsOnPermit(&'static str),
    /// These nodes lack several extended resources, and 1.17 names only one of them in its message, in a map's order.
    OneOfSeveralResources {
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
    /// 1.22 to 1.24 may count the pod's claim as unused after preemption was tried on its user's node: the filter may have passed.
    ClaimUseForgotten {
        /// The release.
        release: Release,
        /// The claim, of access mode ReadWriteOncePod.
        claim: Arc<str>,
    },
    /// 1.22 to 1.24 may count the pod's claim as used, because a pod that uses it was nominated: the filter may have rejected.
    ClaimUseOvercounted {
        /// The release.
        release: Release,
        /// The claim, of access mode ReadWriteOncePod.
        claim: Arc<str>,
    },
    /// The recorded message differs from the one that the rules give for the state.
    OtherMessage,
    /// The message may also be one of these: upstream's choice is random.
    EqualMessages(Vec<String>),
    /// The scheduler stops before it has evaluated every node that fits, and which it evaluated is not recorded.
    Sampled {
        /// How many nodes there were, how many fit, and after how many it stops.
        sample: Sample,
        /// A node on which a filter fails: the attempt ends with an error if the scheduler evaluated it.
        failing: Option<Arc<str>>,
        /// The scores that depend on which nodes were evaluated.
        plugins: Vec<&'static str>,
    },
    /// The pod was nominated to this node, which fits: no other was evaluated.
    Nominated(Arc<str>),
    /// ImageLocality counts nodes by their history, and a part of that was compacted.
    ImageHistoryCompacted,
    /// A score is not certain on these nodes: it depends on what the scheduler had counted of their image lists.
    UncertainScore {
        /// The plugin.
        plugin: &'static str,
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
    /// The pod's node may be that of a pod with the same signature, taken without evaluating others (OpportunisticBatching, since 1.35).
    NextBest(Arc<str>),
    /// Preemption stops before it has tried all candidates, from a random start.
    PreemptionSampled {
        /// How many it tries.
        kept: usize,
        /// How many there are.
        candidates: usize,
    },
    /// On these nodes victims of equal importance differ by their order in the scheduler's cache.
    EqualVictims {
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
    /// On these nodes the victims depend on the order of disruption budgets, or of a group's pods, which is random (1.18, 1.37).
    BudgetOrder {
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
}

/// A pod that the scheduler counts on a node before etcd shows it there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssumedPod {
    /// `namespace/name`.
    pub pod: String,
    /// The node.
    pub node: Arc<str>,
    /// The first revision that shows it: a nomination, a claim's node, a volume or device taken, or the binding.
    pub written: i64,
}

/// A pod that may have been decided about before an attempt, or after it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeighbourDoubt {
    /// `namespace/name`.
    pub pod: String,
    /// The first revision that shows the decision about it.
    pub written: i64,
    /// Whether the evaluation counts it on its node.
    pub counted: bool,
    /// Whether the recorded outcome follows only because of that.
    pub needed: bool,
    /// The nodes whose numbers depend on it.
    pub nodes: Vec<Arc<str>>,
}

/// The end of a pod that an attempt may not have seen: it is evaluated without the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnseenEnd {
    /// `namespace/name`.
    pub pod: String,
    /// The revision that shows its end.
    pub written: i64,
    /// The nodes whose numbers depend on it.
    pub nodes: Vec<Arc<str>>,
}

/// An object that could not be read, or not in full.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum UnreadObject {
    /// An object that could be read only in part.
    Problem(ObjectProblem),
    /// An object that was looked up and could not be read at all.
    Unreadable(Arc<Unreadable>),
}

//! What limits an explanation: evidence that etcd does not hold, chance, and what is assumed of the scheduler.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Release;
use crate::cluster::{Problem, Unreadable};
use crate::framework::{GroupCaveat, Sample, Unverifiable};

use super::{DecidedBy, StateSeen};

/// What is assumed of a scheduler, the same for every pod of its profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// The configuration brings what cannot be verified.
    Unverifiable(Unverifiable),
    /// No configuration was given, and etcd does not hold it: the default profile of the release is assumed, without extenders.
    DefaultProfile(Release),
}

/// A reason why the scheduler may have decided otherwise than the rules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// No attempt shows how the pod came to its node: it is evaluated as if it were to be placed now.
    NoAttempt(DecidedBy),
    /// The pod asks for a scheduler whose profile is not known; another is applied.
    OtherProfile {
        /// The pod's `schedulerName`.
        requested: Arc<str>,
        /// The profile applied.
        applied: String,
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
    /// Only an Event shows the refusal: the pod was deleted or bound before it was written into the pod.
    EventOnly,
    /// The attempt saw another state than that of the revision before it.
    StateSeen {
        /// Which.
        state: StateSeen,
        /// Its revision.
        revision: i64,
    },
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
    /// Once one of these nodes is chosen, DynamicResources refuses the pod there (up to 1.31).
    DriverWait {
        /// The nodes.
        nodes: Vec<Arc<str>>,
        /// Whether no other node fits.
        every: bool,
        /// Why, in the plugin's words.
        reason: String,
    },
    /// The cycle of the pod's group may have gone otherwise.
    Group(GroupCaveat),
    /// The pod waits for others of its group, and which of them get nodes at the same time is not in etcd; with Permit's words.
    WaitsOnPermit(&'static str),
    /// Of several extended resources that these nodes lack, 1.17 names one in its message, by a map's order.
    OneOfSeveralResources {
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
    /// 1.22 to 1.24 may take the pod's claim for unused once preemption was tried on its user's node: it may have passed.
    ClaimUseForgotten {
        /// The release.
        release: Release,
        /// The claim, of access mode ReadWriteOncePod.
        claim: Arc<str>,
    },
    /// 1.22 to 1.24 may take the pod's claim for used, as a pod that uses it was nominated: it may have been refused.
    ClaimUseOvercounted {
        /// The release.
        release: Release,
        /// The claim, of access mode ReadWriteOncePod.
        claim: Arc<str>,
    },
    /// The recorded message is not the one that the rules give for the state.
    OtherMessage,
    /// The message may as well be one of these: upstream leaves it to chance.
    EqualMessages(Vec<String>),
    /// The scheduler stops before it has seen every node that fits, and which it saw is not recorded.
    Sampled {
        /// How many nodes there were, how many fit, and when it stops.
        sample: Sample,
        /// A node on which a filter fails: the attempt ends with an error if the scheduler came to it.
        failing: Option<Arc<str>>,
        /// The scores that depend on which nodes were seen.
        plugins: Vec<&'static str>,
    },
    /// The pod was nominated to this node, which fits: no other was looked at.
    Nominated(Arc<str>),
    /// ImageLocality counts nodes by their history, part of which was compacted.
    ImageHistoryCompacted,
    /// A score is not certain on these nodes: it depends on what the scheduler had counted of their image lists.
    UncertainScore {
        /// The plugin.
        plugin: &'static str,
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
    /// The pod's node may be the next best of a pod like it, taken without a look at others (OpportunisticBatching, since 1.35).
    NextBest(Arc<str>),
    /// Preemption stops before it has seen all candidates, from a start drawn by chance.
    PreemptionSampled {
        /// How many it looks at.
        kept: usize,
        /// How many there are.
        candidates: usize,
    },
    /// On these nodes victims of equal importance differ by their order in the scheduler's cache.
    EqualVictims {
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
    /// On these nodes the victims depend on the order of disruption budgets, or of a group's pods, which is left to chance (1.18, 1.37).
    BudgetOrder {
        /// The nodes.
        nodes: Vec<Arc<str>>,
    },
}

/// An object that could not be read, or not in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadObject {
    /// Of which a part could not be read.
    Problem(Problem),
    /// Which was looked up and could not be read at all.
    Unreadable(Arc<Unreadable>),
}

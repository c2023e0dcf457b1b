//! What the result of a group's cycle depends on besides the cluster's state: what is inferred, random or unknown.

use std::borrow::Cow;
use std::sync::Arc;

use crate::cluster::PodKey;

/// A reason why the cycle of a pod group may have had another result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum GroupCaveat {
    /// The scheduler keeps the pod out of the queue until the groups above its own exist; it is evaluated as if it had no group (since 1.37).
    KeptAside {
        /// Upstream's error.
        error: String,
    },
    /// Whether preemption makes room for the group was not computed: there are too many combinations.
    PreemptionNotTried {
        /// Units of pods that may be evicted.
        victims: usize,
        /// Nodes of the cluster.
        nodes: usize,
    },
    /// A pod of the group could have got other nodes; one is chosen at random.
    MemberTied {
        /// The pod.
        pod: PodKey,
        /// The node it got.
        node: Arc<str>,
        /// The others.
        tied: Vec<Arc<str>>,
    },
    /// The node of a pod of the group is not certain.
    MemberUncertain {
        /// The pod.
        pod: PodKey,
        /// Why.
        doubt: PlacementDoubt,
    },
    /// Other placements are as good as the chosen one; one is chosen at random.
    PlacementTied {
        /// The one chosen.
        chosen: Arc<str>,
        /// The others.
        tied: Vec<Arc<str>>,
    },
    /// Several pods differ from their group; which one the error names is random.
    MismatchDrawn,
    /// Which pods preemption evicts for the group is random.
    VictimsDrawn,
    /// Which node or pod the error of preemption names is random.
    ErrorDrawn,
    /// That the group's pods without a node were tried in one cycle is inferred from the state.
    TriedTogether {
        /// How many.
        pods: usize,
        /// The composite group they belong to, if it is one.
        composite: Option<Arc<str>>,
        /// Whether their order is inferred too: pods of one priority differ.
        order: bool,
    },
    /// Pods of the group that a PreEnqueue plugin keeps out of the queue, each with the plugin: since 1.37 the others wait for them.
    HeldBack(Vec<(Arc<str>, &'static str)>),
    /// No placement fits, and the scheduler reports the one it tries first, in random order.
    PlacementReported {
        /// The one assumed to be reported.
        name: Arc<str>,
        /// How many are tried.
        tried: usize,
    },
}

/// Why the node of one pod of a group is not certain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum PlacementDoubt {
    /// Which of several volumes its claims get is random.
    VolumesDrawn,
    /// A filter's verdict on a node that seems to fit is unknown.
    Filter {
        /// The node.
        node: Arc<str>,
        /// The missing evidence.
        missing: String,
    },
    /// A score is unknown.
    Score {
        /// The plugin.
        plugin: &'static str,
        /// The missing evidence.
        missing: Cow<'static, str>,
    },
}

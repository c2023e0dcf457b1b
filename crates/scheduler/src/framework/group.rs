//! What the cycle of a whole group changes about the cycle of one of its pods (since 1.36).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::NodeId;

/// What the cycle of a group changes about the attempt of one of its pods.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The nodes looked at; `None`: all.
    pub within: Option<BTreeSet<Arc<str>>>,
    /// What becomes of PostFilter.
    pub post_filter: PostFilters,
    /// Where affinity terms of other pods are looked for; `None`: everywhere.
    pub listed: Option<Arc<Listed>>,
    /// Claims (`namespace/name`) that pods of the group brought devices to before.
    pub pending: BTreeSet<String>,
    /// Claims that pods of other groups of the same hierarchy brought devices to before: the pod cannot have them yet.
    pub elsewhere: BTreeSet<String>,
    /// How many pods of the group had nodes when the cycle began.
    pub scheduled: usize,
    /// Whether the nodes are copies that preemption for the group tries things on. They have lost how many nodes have an image
    /// (`framework/types.go` SnapshotConcrete, of what is a copy already), so that no image counts.
    pub on_copies: bool,
}

/// Nodes that had pods with affinity terms, and claims that were used, when the cycle began. 1.36 does not add those that assumed pods bring
/// (`backend/cache/snapshot.go` AssumePod), nor takes off those of victims; 1.37 does.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Nodes with a pod that has a required anti-affinity term.
    pub required_anti_affinity: BTreeSet<NodeId>,
    /// Nodes with a pod that has pod affinity or anti-affinity, be it without terms.
    pub any: BTreeSet<NodeId>,
    /// Claims of pods on nodes: namespace and name.
    pub claims: BTreeSet<(Arc<str>, Arc<str>)>,
}

/// What becomes of PostFilter for a pod of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostFilters {
    /// Its plugins run.
    #[default]
    Run,
    /// DefaultPreemption declines, saying this.
    Declines(&'static str),
    /// None runs.
    Skip,
}

//! What the cycle of a pod group changes about the cycle of one of its pods (since 1.36).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::NodeId;

/// What the cycle of a group changes about the attempt of one of its pods.
#[derive(Clone, Debug, Default)]
pub struct GroupScope {
    /// The nodes evaluated; `None`: all.
    pub within: Option<BTreeSet<Arc<str>>>,
    /// How PostFilter is run.
    pub post_filter: PostFilters,
    /// Where affinity terms of other pods are looked up; `None`: everywhere.
    pub listed: Option<Arc<ListedNodes>>,
    /// Claims (`namespace/name`) that earlier pods of the group were assumed with devices for.
    pub pending: BTreeSet<String>,
    /// The same for pods of other groups of the hierarchy: the pod cannot have these claims' devices yet.
    pub elsewhere: BTreeSet<String>,
    /// How many pods of the group were bound when the cycle began.
    pub scheduled: usize,
    /// Whether the nodes are copies for a dry run of the group's preemption. On a copy of a copy the number of nodes that have an image is missing
    /// (`framework/types.go` SnapshotConcrete), so no image counts.
    pub on_copies: bool,
}

/// Nodes that had pods with affinity terms, and claims in use, when the cycle began. 1.36 does not add those of assumed pods
/// (`backend/cache/snapshot.go` AssumePod), nor remove those of victims; 1.37 does.
#[derive(Clone, Debug, Default)]
pub struct ListedNodes {
    /// Nodes with a pod that has a required anti-affinity term.
    pub required_anti_affinity: BTreeSet<NodeId>,
    /// Nodes with a pod that has `podAffinity` or `podAntiAffinity`, even without terms.
    pub any: BTreeSet<NodeId>,
    /// Claims of pods on nodes: namespace and name.
    pub claims: BTreeSet<(Arc<str>, Arc<str>)>,
}

/// How PostFilter is run for a pod of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostFilters {
    /// Its plugins run.
    #[default]
    Run,
    /// DefaultPreemption declines with this message.
    Declines(&'static str),
    /// None runs.
    Skip,
}

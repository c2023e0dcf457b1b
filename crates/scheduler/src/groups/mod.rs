//! The cycle of a pod group (since 1.36): its pods are tried one after the other, on one placement after the other. A composite group's child groups
//! are tried one after the other (1.37).
//! Sources: `pkg/scheduler/schedule_one_podgroup.go` (1.36, 1.37); sources in plugins are named where they are used.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{CachedObject, ObjectKey, PodInfo};
use crate::framework::{GroupScope, Judgement, ListedNodes, PostFilters, Profile};
use crate::pod_groups::GroupId;

mod assignments;
mod attempt;
mod final_status;
mod group_play;
mod known_members;
mod members;
mod placement;
mod preemption;
mod report;
mod status;
mod turn;
mod verdict;

pub use group_play::{PlayedGroup, PlayedMember, play_group};
pub(crate) use known_members::KnownMembers;
pub(crate) use verdict::evaluate;

/// What the parent's attempt imposes on a child group.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParentScope {
    /// The nodes of the parent's placement; `None`: all.
    pub within: Option<BTreeSet<Arc<str>>>,
    /// As in `GroupScope`.
    pub elsewhere: BTreeSet<String>,
}

/// How the pods of a group are tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// How PostFilter is run.
    pub post_filter: PostFilters,
    /// Whether the filters run on copies of the nodes.
    pub on_copies: bool,
}

/// The mode for preemption's dry runs.
const PREEMPTION_MODE: Mode = Mode { post_filter: PostFilters::Skip, on_copies: true };

/// A pod group or composite group, where this release and these gates have cycles of groups.
pub(crate) struct Group<'a> {
    /// The profile that schedules it.
    pub profile: &'a Profile,
    /// Its id.
    pub id: GroupId,
    /// Its spec; the default where the PodGroup does not exist.
    pub spec: crate::cluster::PodGroupSpec,
    /// Whether the PodGroup exists.
    pub exists: bool,
    /// Why its pods are not tried, if they are not: a parent group does not exist.
    pub aside: Option<String>,
    /// Its child groups, in the order they are tried.
    pub children: Vec<Self>,
    /// Its own pods that are tried, in order.
    pub queue: Vec<Arc<PodInfo>>,
    /// Pods that a PreEnqueue plugin keeps out of the queue, each with that plugin.
    pub gated: Vec<(Arc<str>, &'static str)>,
    /// How many of its pods are bound already.
    pub scheduled: usize,
    /// Where affinity terms of other pods are looked up.
    pub listed: Option<Arc<ListedNodes>>,
    /// What is known of its pods from what became of them.
    pub known: &'a KnownMembers,
}

impl Group<'_> {
    /// Returns the groups that hold pods, itself or descendants, in the order they are tried.
    pub(crate) fn leaves(&self) -> Vec<&Self> {
        if self.id.composite { self.children.iter().flat_map(Self::leaves).collect() } else { vec![self] }
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.leaves().into_iter().flat_map(|leaf| &leaf.queue)
    }

    /// How many pods, or child groups, must fit.
    pub(crate) fn min_count(&self) -> Option<usize> {
        self.spec.scheduling_policy.gang.as_ref().map(|gang| gang.min_count)
    }

    /// Whether the release is 1.37 or later.
    pub(crate) fn newer(&self) -> bool {
        self.profile.rules.pod_group_post_filter()
    }

    pub(crate) fn by_topology(&self) -> bool {
        self.profile.gates.on("TopologyAwareWorkloadScheduling")
    }

    /// How the profile runs PostFilter for the group's pods.
    /// Sources: `plugins/defaultpreemption/default_preemption.go` PostFilter (1.36), `schedule_one.go` schedulingAlgorithm (1.37).
    pub(crate) fn post_filters(&self) -> PostFilters {
        if self.newer() {
            PostFilters::Skip
        } else if self.by_topology() && self.spec.scheduling_constraints.is_some() {
            PostFilters::Declines("not eligible due to placement-based pod group scheduling limitation")
        } else if self.profile.gates.on("WorkloadAwarePreemption") {
            PostFilters::Declines("not eligible due to workload aware preemption enabled")
        } else {
            PostFilters::Run
        }
    }
}

/// The judgement of one pod by its group's cycle, and the pods that were assumed before it.
pub(crate) struct GroupEvaluation {
    /// The judgement.
    pub judgement: Judgement,
    /// The scope the pod was evaluated in: the nodes of its placement.
    pub scope: GroupScope,
    /// Pods of the group before it, as assumed, and their claims.
    pub assumed: Vec<(ObjectKey, CachedObject)>,
}

fn object_key(pod: &PodInfo) -> crate::cluster::ObjectKey {
    crate::cluster::ObjectKey { kind: crate::cluster::WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() }
}

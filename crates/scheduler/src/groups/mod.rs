//! The cycle of a whole group of pods (since 1.36): its pods are tried one after the other, on one set of nodes after the other. A group may be
//! one of groups, which are then tried one after the other (1.37).
//! Sources: `pkg/scheduler/schedule_one_podgroup.go` (1.36, 1.37); what plugins add is told where it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{CachedObject, ObjectKey, PodInfo, PodKey};
use crate::framework::{Judgement, Listed, PostFilters, Profile, Scope};
use crate::pod_groups::GroupId;

mod assignments;
mod attempt;
mod final_status;
mod members;
mod placement;
mod preemption;
mod report;
mod status;
mod turn;
mod verdict;

pub(crate) use verdict::judge;

/// What holds where a group is tried that belongs to another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// The nodes that the other is tried on; `None`: all.
    pub within: Option<BTreeSet<Arc<str>>>,
    /// As in `Scope`.
    pub elsewhere: BTreeSet<String>,
}

/// How the pods of a group are tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// What becomes of PostFilter.
    pub post_filter: PostFilters,
    /// Whether on copies of the nodes.
    pub on_copies: bool,
}

/// To see what taking pods away would help.
const PREEMPTION: Mode = Mode { post_filter: PostFilters::Skip, on_copies: true };

/// A group of pods or of groups, where this release and these gates have cycles of groups.
pub(crate) struct Group<'a> {
    /// Who schedules.
    pub profile: &'a Profile,
    /// Which it is.
    pub id: GroupId,
    /// What it says; the default where the PodGroup is not there.
    pub spec: crate::cluster::PodGroupSpec,
    /// Whether the PodGroup is there.
    pub exists: bool,
    /// Why its pods are not tried, if they are not: a group above it is not there.
    pub aside: Option<String>,
    /// The groups it is made of, in the order they are tried.
    pub children: Vec<Self>,
    /// Its own pods that are tried, in order.
    pub queue: Vec<Arc<PodInfo>>,
    /// Those that a PreEnqueue plugin keeps out of the queue, each with that plugin.
    pub gated: Vec<(Arc<str>, &'static str)>,
    /// How many pods have nodes already.
    pub scheduled: usize,
    /// Where affinity terms of other pods are looked for.
    pub listed: Option<Arc<Listed>>,
    /// Where pods of the group are known to have gone.
    pub known: &'a BTreeMap<PodKey, Arc<str>>,
}

impl Group<'_> {
    /// The groups of pods in it, itself or below it, in the order they are tried.
    pub(crate) fn leaves(&self) -> Vec<&Self> {
        if self.id.composite { self.children.iter().flat_map(Self::leaves).collect() } else { vec![self] }
    }

    /// The pods of all of them.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.leaves().into_iter().flat_map(|leaf| &leaf.queue)
    }

    /// How many pods must have nodes, or groups must fit.
    pub(crate) fn min_count(&self) -> Option<usize> {
        self.spec.scheduling_policy.gang.as_ref().map(|gang| gang.min_count)
    }

    /// Whether the release is 1.37 or later.
    pub(crate) fn newer(&self) -> bool {
        self.profile.rules.pod_group_post_filter()
    }

    /// Whether placements are told apart by topology.
    pub(crate) fn by_topology(&self) -> bool {
        self.profile.gates.on("TopologyAwareWorkloadScheduling")
    }

    /// What the profile makes of PostFilter for the group's pods.
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

/// The judgement of one pod by its group's cycle, and the pods that were assumed on nodes before it.
pub(crate) struct Judged {
    /// The judgement.
    pub judgement: Judgement,
    /// What held for the pod: the nodes of its placement.
    pub scope: Scope,
    /// Pods of the group before it, as if bound, and their claims.
    pub assumed: Vec<(ObjectKey, CachedObject)>,
}

/// The key of a pod in a state.
fn object_key(pod: &PodInfo) -> crate::cluster::ObjectKey {
    crate::cluster::ObjectKey { kind: crate::cluster::WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() }
}

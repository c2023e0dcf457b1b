//! The cycle of a whole group of pods (since 1.36): its pods are tried one after the other, on one set of nodes after the other. A group may be
//! one of groups, which are then tried one after the other (1.37).
//! Sources: `pkg/scheduler/schedule_one_podgroup.go` (1.36, 1.37); what plugins add is told where it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{CachedObject, ClusterState, NodeId, ObjectKey, PodInfo, PodKey};

use super::cycle::Cycle;
use super::cycle::judgement::Judgement;
use super::volumes::claim_refs;
use super::{Gates, Profile};

mod assignments;
mod attempt;
mod evict;
mod hierarchy;
mod members;
mod placement;
mod preemption;
mod settled;
mod status;
mod told;
mod turn;
mod verdict;

pub(crate) use evict::{Reprieved, Together, Unit, lost, priority, repeated, reprieve, violating};
pub(crate) use hierarchy::{GroupId, Hierarchy};
pub use told::{CompositeTried, GroupCycle, GroupOutcome, MemberTried, PlacementTried};
pub(crate) use verdict::judge;

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

impl Listed {
    fn of(state: &ClusterState) -> Self {
        let mut listed = Self::default();
        for (node, pod) in state.nodes().flat_map(|node| node.pods.iter().map(move |pod| (node.id, pod))) {
            listed.claims.extend(claim_refs(pod, false).map(|claim| (pod.namespace.clone(), claim.name)));
            listed.any.extend(pod.spec.has_pod_affinity().then_some(node));
            listed.required_anti_affinity.extend((!pod.spec.pod_anti_affinity.required.is_empty()).then_some(node));
        }
        listed
    }
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
        self.profile.release.0 >= 37
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

/// Whether groups have cycles of their own.
pub(crate) fn have_cycles(gates: &Gates, release: u16) -> bool {
    release >= 36 && gates.on("GenericWorkload")
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

/// How many pods of the pod's group had nodes when the cycle began.
pub(crate) fn scheduled(cycle: &Cycle) -> usize {
    let on_nodes = || {
        let group = cycle.pod.spec.pod_group.as_deref().map(|name| GroupId::of_pods(&cycle.pod.namespace, name));
        group.map_or(0, |group| placed(cycle.state, &group).count())
    };
    cycle.scope.map_or_else(on_nodes, |scope| scope.scheduled)
}

/// Pods of a group that are on nodes.
fn placed<'s>(state: &'s ClusterState, group: &'s GroupId) -> impl Iterator<Item = &'s Arc<PodInfo>> {
    let of = move |pod: &&Arc<PodInfo>| pod.namespace == group.namespace && pod.spec.pod_group.as_ref() == Some(&group.name);
    state.pods().filter(of).filter(|pod| pod.is_on_node())
}

//! The cycle of a whole group of pods (since 1.36): its pods are tried one after the other, on one set of nodes after the other. A group may be
//! one of groups, which are then tried one after the other (1.37).
//! Sources: `pkg/scheduler/schedule_one_podgroup.go` (1.36, 1.37); what plugins add is told where it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, NodeId, ObjectKey, PodInfo, PodKey, Stored};

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
mod status;
mod verdict;

pub use evict::{Together, Unit, priority, repeated};
pub use hierarchy::{GroupId, Hierarchy};
pub use verdict::judge;

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
pub struct Around {
    /// The nodes that the other is tried on; `None`: all.
    pub within: Option<BTreeSet<Arc<str>>>,
    /// As in `Scope`.
    pub elsewhere: BTreeSet<String>,
}

/// How the pods of a group are tried.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// What becomes of PostFilter.
    pub post_filter: PostFilters,
    /// Whether on copies of the nodes.
    pub on_copies: bool,
}

/// To see what taking pods away would help.
const PREEMPTION: Mode = Mode { post_filter: PostFilters::Skip, on_copies: true };

/// The cycle of a group.
#[derive(Clone, Debug)]
pub struct GroupCycle {
    /// The group's name; its namespace is the pod's.
    pub name: String,
    /// How many pods must have nodes; `None`: it is no gang.
    pub min_count: Option<usize>,
    /// How many had nodes before.
    pub scheduled: usize,
    /// The pods tried, in order.
    pub order: Vec<PodKey>,
    /// The label whose values tell placements apart.
    pub topology_key: Option<String>,
    /// The sets of nodes tried, in order of their names.
    pub placements: Vec<PlacementTried>,
    /// Which of them the outcome is that of.
    pub chosen: Option<usize>,
    /// Others that would have done as well.
    pub tied: Vec<usize>,
    /// The groups it belongs to, the topmost first.
    pub above: Vec<CompositeTried>,
    /// Pods of other groups of the hierarchy that were given nodes before.
    pub before: Vec<MemberTried>,
    /// What becomes of the group.
    pub outcome: GroupOutcome,
    /// What is written into the group's status.
    pub message: String,
    /// Whom the group's own preemption would evict.
    pub victims: Vec<Arc<PodInfo>>,
    /// What is inferred, each a sentence.
    pub inferred: Vec<String>,
    /// What cannot be known, each a sentence: the outcome may be another.
    pub unknown: Vec<String>,
}

impl GroupCycle {
    /// Whether nothing that is drawn by chance or unknown comes before the pod's turn.
    pub fn is_certain(&self, pod: &PodKey) -> bool {
        let drawn = self.above.iter().any(|group| !group.tied.is_empty()) || !self.tied.is_empty();
        let mut others = self.members().filter(|member| member.pod != *pod);
        self.unknown.is_empty() && !drawn && others.all(|member| member.tied.is_empty() && member.unknown.is_none())
    }

    /// The pods tried: those of groups before, and its own on the placement that counts.
    fn members(&self) -> impl Iterator<Item = &MemberTried> {
        self.before.iter().chain(self.chosen.into_iter().flat_map(|at| &self.placements[at].members))
    }

    /// What the outcome rests on beside the state, each a sentence.
    pub fn caveats(&self) -> Vec<String> {
        let mut said = self.unknown.clone();
        for member in self.members() {
            let name = format!("{}/{}", member.pod.0, member.pod.1);
            if let (Some(node), [first, ..]) = (&member.node, member.tied.as_slice()) {
                let more = if member.tied.len() > 1 { format!(" and {} more", member.tied.len() - 1) } else { String::new() };
                said.push(format!("of its group {name} could have gone to {first}{more} as well as to {node}: one is drawn by chance, and what comes after depends on it"));
            }
            said.extend(member.unknown.iter().map(|why| format!("where {name} of its group goes is uncertain: {why}")));
        }
        let own = (self.outcome == GroupOutcome::Scheduled).then_some((&self.placements, self.chosen, &self.tied));
        let above = self.above.iter().filter(|group| group.fits).map(|group| (&group.placements, group.chosen, &group.tied));
        for (placements, chosen, tied) in above.chain(own) {
            if let (Some(at), [first, ..]) = (chosen, tied.as_slice()) {
                let name = |at: usize| placements[at].name.as_deref().unwrap_or_default();
                said.push(format!("placement {} is as good as {}: one is drawn by chance", name(*first), name(at)));
            }
        }
        said.extend(self.inferred.iter().cloned());
        said
    }
}

/// What becomes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOutcome {
    /// Its pods that found nodes are bound.
    Scheduled,
    /// None is bound.
    Unschedulable,
    /// None is bound until the victims are gone.
    WaitsForPreemption,
    /// The cycle ends with an error.
    Error,
    /// The cycle is not simulated.
    Unknown,
}

/// A set of nodes that the group was tried on.
#[derive(Clone, Debug)]
pub struct PlacementTried {
    /// The label's value; `None`: all nodes.
    pub name: Option<Arc<str>>,
    /// How many nodes it has.
    pub nodes: usize,
    /// The pods tried, in order.
    pub members: Vec<MemberTried>,
    /// Whether the group fits, be it after a preemption.
    pub feasible: bool,
    /// What was said of it.
    pub message: String,
    /// Scores, where several placements do: the plugin, its number, that on the common scale, its weight.
    pub scores: Vec<(&'static str, i64, i64, i64)>,
}

impl PlacementTried {
    /// The weighted sum.
    pub fn total(&self) -> Option<i64> {
        (!self.scores.is_empty()).then(|| self.scores.iter().map(|(_, _, normalized, weight)| normalized * weight).sum())
    }
}

/// What became of a group of groups.
#[derive(Clone, Debug)]
pub struct CompositeTried {
    /// Its name.
    pub name: Arc<str>,
    /// How many of its groups must fit; `None`: one.
    pub min_group_count: Option<usize>,
    /// Its groups, in the order they are tried, and whether each fits; `None`: it was not tried.
    pub groups: Vec<(Arc<str>, Option<bool>)>,
    /// The label whose values tell placements apart.
    pub topology_key: Option<String>,
    /// The sets of nodes tried, in order of their names, without pods.
    pub placements: Vec<PlacementTried>,
    /// Which of them the outcome is that of.
    pub chosen: Option<usize>,
    /// Others that would have done as well.
    pub tied: Vec<usize>,
    /// Whether it fits.
    pub fits: bool,
    /// What is said of it.
    pub message: String,
}

/// What became of one pod on one set of nodes.
#[derive(Clone, Debug)]
pub struct MemberTried {
    /// The pod.
    pub pod: PodKey,
    /// The node it was given.
    pub node: Option<Arc<str>>,
    /// Whether that node must be cleared for it first.
    pub preempts: bool,
    /// Nodes that would have done as well; which is taken is drawn by chance.
    pub tied: Vec<Arc<str>>,
    /// Why it found none.
    pub message: Option<String>,
    /// What is unknown about the node it was given.
    pub unknown: Option<String>,
}

/// A group of pods or of groups, where this release and these gates have cycles of groups.
pub struct Group<'a> {
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
    pub fn leaves(&self) -> Vec<&Self> {
        if self.id.composite { self.children.iter().flat_map(Self::leaves).collect() } else { vec![self] }
    }

    /// The pods of all of them.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.leaves().into_iter().flat_map(|leaf| &leaf.queue)
    }

    /// How many pods must have nodes, or groups must fit.
    pub fn min_count(&self) -> Option<usize> {
        self.spec.scheduling_policy.gang.as_ref().map(|gang| gang.min_count)
    }

    /// Whether the release is 1.37 or later.
    pub fn newer(&self) -> bool {
        self.profile.release.0 >= 37
    }

    /// Whether placements are told apart by topology.
    pub fn by_topology(&self) -> bool {
        self.profile.gates.on("TopologyAwareWorkloadScheduling")
    }

    /// What the profile makes of PostFilter for the group's pods.
    /// Sources: `plugins/defaultpreemption/default_preemption.go` PostFilter (1.36), `schedule_one.go` schedulingAlgorithm (1.37).
    pub fn post_filters(&self) -> PostFilters {
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
pub fn have_cycles(gates: &Gates, release: u16) -> bool {
    release >= 36 && gates.on("GenericWorkload")
}

/// The judgement of one pod by its group's cycle, and the pods that were assumed on nodes before it.
pub struct Judged {
    /// The judgement.
    pub judgement: Judgement,
    /// What held for the pod: the nodes of its placement.
    pub scope: Scope,
    /// Pods of the group before it, as if bound, and their claims.
    pub assumed: Vec<(ObjectKey, Stored)>,
}

/// The key of a pod in a state.
fn object_key(pod: &PodInfo) -> crate::cluster::ObjectKey {
    crate::cluster::ObjectKey { kind: crate::cluster::Watched::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() }
}

/// How many pods of the pod's group had nodes when the cycle began.
pub fn scheduled(cycle: &Cycle) -> usize {
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

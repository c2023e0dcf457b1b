//! What is told of the cycle of a group.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, PodKey};

use super::Group;
use super::attempt::Tried;
use super::placement::{Outcome, Placement};
use super::preemption::Answer;
use super::status::Status;
use super::turn::Turn;

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

impl Turn<'_, '_> {
    /// The cycle as it is told. `answer`: what preemption said, if it was tried.
    pub(super) fn described(&self, outcome: &Outcome, answer: Option<&Answer>, state: &ClusterState) -> GroupCycle {
        let (reached, before) = self.reach(outcome);
        let (leaf, standing) = (self.leaf, self.standing(outcome, answer));
        let mut cycle = GroupCycle {
            name: leaf.id.name.to_string(),
            min_count: leaf.min_count(),
            scheduled: leaf.scheduled,
            order: leaf.queue.iter().map(|pod| pod.key()).collect(),
            topology_key: leaf.topology_key(),
            placements: reached.map(|reached| reached.described(state)).unwrap_or_default(),
            chosen: reached.and_then(|reached| reached.chosen),
            tied: reached.map(Outcome::tied).unwrap_or_default(),
            above: self.above(outcome, state),
            before: before.into_iter().map(|member| member.tried.clone()).collect(),
            outcome: match &standing.after {
                Status::Success => GroupOutcome::Scheduled,
                Status::Error(_) => GroupOutcome::Error,
                Status::Rejected { .. } if standing.waits => GroupOutcome::WaitsForPreemption,
                Status::Rejected { .. } => GroupOutcome::Unschedulable,
            },
            message: standing.after.message(),
            victims: Vec::new(),
            inferred: Vec::new(),
            unknown: Vec::new(),
        };
        match answer {
            Some(Answer::Helps { victims, tied, .. }) => {
                cycle.victims.clone_from(victims);
                if *tied {
                    let why = "other pods may have to go for the group: that depends on what the scheduler draws by chance";
                    cycle.inferred.push(why.to_owned());
                }
            }
            Some(Answer::Fails { drawn: true, .. }) => {
                cycle.inferred.push("which node or pod the error names is drawn by chance".to_owned());
            }
            Some(Answer::Unknown(why)) => cycle.unknown.push(why.clone()),
            _ => {}
        }
        cycle
    }

    /// What became of the groups above the pod's, the topmost first.
    fn above(&self, outcome: &Outcome, state: &ClusterState) -> Vec<CompositeTried> {
        let (mut group, mut reached, mut above) = (self.root, Some(outcome), Vec::new());
        while let Some(place) = self.place_in(group) {
            let below = reached.map_or(&[][..], Outcome::below);
            let fits = |at: usize| below.get(at).map(|outcome| outcome.status == Status::Success);
            above.push(CompositeTried {
                name: group.id.name.clone(),
                min_group_count: group.min_count(),
                groups: group.children.iter().enumerate().map(|(at, child)| (child.id.name.clone(), fits(at))).collect(),
                topology_key: group.topology_key(),
                placements: reached.map(|reached| reached.described(state)).unwrap_or_default(),
                chosen: reached.and_then(|reached| reached.chosen),
                tied: reached.map(Outcome::tied).unwrap_or_default(),
                fits: reached.is_some_and(|reached| reached.status == Status::Success),
                message: reached.map(|reached| reached.status.message()).unwrap_or_default(),
            });
            (group, reached) = (&group.children[place], below.get(place));
        }
        above
    }
}

impl Group<'_> {
    /// The label whose values tell placements apart, if any does.
    fn topology_key(&self) -> Option<String> {
        self.spec.topology_key().filter(|_| self.by_topology()).map(str::to_owned)
    }
}

impl Outcome {
    fn tied(&self) -> Vec<usize> {
        self.drawn.iter().copied().filter(|at| Some(*at) != self.chosen).collect()
    }

    fn described(&self, state: &ClusterState) -> Vec<PlacementTried> {
        let described = |(at, (placement, tried)): (usize, &(Placement, Tried))| {
            let seen = tried.members.first().map(|member| member.judgement.nodes.len());
            let of_groups = || if tried.groups.is_empty() { 0 } else { state.node_count() };
            PlacementTried {
                name: placement.name.clone(),
                nodes: seen.unwrap_or_else(|| placement.nodes.as_ref().map_or_else(of_groups, BTreeSet::len)),
                members: tried.members.iter().map(|member| member.tried.clone()).collect(),
                feasible: tried.feasible(),
                message: tried.status.message(),
                scores: self.scores.get(&at).cloned().unwrap_or_default(),
            }
        };
        self.tries.iter().enumerate().map(described).collect()
    }
}

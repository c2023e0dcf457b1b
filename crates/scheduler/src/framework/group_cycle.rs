//! The result of the cycle of a pod group, as the judgement of one of its pods reports it.

use std::sync::Arc;

use crate::cluster::{PodInfo, PodKey};

use super::group_caveat::{GroupCaveat, PlacementDoubt};

/// The cycle of a group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupCycle {
    /// The group's name; its namespace is the pod's.
    pub name: String,
    /// How many pods must fit; `None`: it is not a gang.
    pub min_count: Option<usize>,
    /// How many were bound before.
    pub scheduled: usize,
    /// The pods tried, in order.
    pub order: Vec<PodKey>,
    /// The label whose values make placements.
    pub topology_key: Option<String>,
    /// The placements tried, in order of their names.
    pub placements: Vec<PlacementResult>,
    /// The placement that the result is taken from.
    pub chosen: Option<usize>,
    /// Other placements that are as good.
    pub tied: Vec<usize>,
    /// The composite groups above it, the topmost first.
    pub above: Vec<CompositeGroupResult>,
    /// Pods of other groups of the hierarchy that got nodes before.
    pub before: Vec<MemberResult>,
    /// The result for the group.
    pub outcome: GroupOutcome,
    /// The message written to the group's status.
    pub message: String,
    /// The victims of the group's own preemption.
    pub victims: Vec<Arc<PodInfo>>,
    /// What is inferred, or random.
    pub inferred: Vec<GroupCaveat>,
    /// What cannot be known: the result may differ.
    pub unknown: Vec<GroupCaveat>,
}

impl GroupCycle {
    /// Whether nothing random or unknown comes before the pod's turn.
    pub fn is_certain(&self, pod: &PodKey) -> bool {
        let drawn = self.above.iter().any(|group| !group.tied.is_empty()) || !self.tied.is_empty();
        let mut others = self.members().filter(|member| member.pod != *pod);
        self.unknown.is_empty() && !drawn && others.all(|member| member.tied.is_empty() && member.unknown.is_none())
    }

    /// The pods tried: those of groups before, and its own on the chosen placement.
    fn members(&self) -> impl Iterator<Item = &MemberResult> {
        self.before.iter().chain(self.chosen.into_iter().flat_map(|at| &self.placements[at].members))
    }

    /// What the result depends on besides the state.
    pub fn caveats(&self) -> Vec<GroupCaveat> {
        let mut caveats = self.unknown.clone();
        for member in self.members() {
            let pod = || member.pod.clone();
            if let Some(node) = member.node.clone().filter(|_| !member.tied.is_empty()) {
                caveats.push(GroupCaveat::MemberTied { pod: pod(), node, tied: member.tied.clone() });
            }
            caveats.extend(member.unknown.clone().map(|doubt| GroupCaveat::MemberUncertain { pod: pod(), doubt }));
        }
        let own = (self.outcome == GroupOutcome::Scheduled).then_some((&self.placements, self.chosen, &self.tied));
        let above = self.above.iter().filter(|group| group.fits).map(|group| (&group.placements, group.chosen, &group.tied));
        for (placements, chosen, tied) in above.chain(own) {
            if let Some(at) = chosen.filter(|_| !tied.is_empty()) {
                let name = |at: usize| placements[at].name.clone().unwrap_or_default();
                caveats.push(GroupCaveat::PlacementTied { chosen: name(at), tied: tied.iter().map(|at| name(*at)).collect() });
            }
        }
        caveats.extend(self.inferred.iter().cloned());
        caveats
    }
}

/// The result of a group's cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum GroupOutcome {
    /// Its pods that found nodes are bound.
    Scheduled,
    /// None is bound.
    Unschedulable,
    /// None is bound until the victims have terminated.
    WaitsForPreemption,
    /// The cycle ends with an error.
    Error,
    /// The cycle is not simulated.
    Unknown,
}

/// A placement (a set of nodes) that the group was tried on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlacementResult {
    /// The label's value; `None`: all nodes.
    pub name: Option<Arc<str>>,
    /// How many nodes it has.
    pub nodes: usize,
    /// The pods tried, in order.
    pub members: Vec<MemberResult>,
    /// Whether the group fits, possibly after a preemption.
    pub feasible: bool,
    /// The message of its status.
    pub message: String,
    /// Scores, where several placements fit: plugin, raw score, normalised score, weight.
    pub scores: Vec<(&'static str, i64, i64, i64)>,
}

impl PlacementResult {
    /// The weighted sum.
    pub fn total(&self) -> Option<i64> {
        (!self.scores.is_empty()).then(|| self.scores.iter().map(|(_, _, normalized, weight)| normalized * weight).sum())
    }
}

/// The result for a composite group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompositeGroupResult {
    /// Its name.
    pub name: Arc<str>,
    /// How many of its child groups must fit; `None`: one.
    pub min_group_count: Option<usize>,
    /// Its child groups, in the order they are tried, and whether each fits; `None`: it was not tried.
    pub groups: Vec<(Arc<str>, Option<bool>)>,
    /// The label whose values make placements.
    pub topology_key: Option<String>,
    /// The placements tried, in order of their names, without pods.
    pub placements: Vec<PlacementResult>,
    /// The placement that the result is taken from.
    pub chosen: Option<usize>,
    /// Other placements that are as good.
    pub tied: Vec<usize>,
    /// Whether it fits.
    pub fits: bool,
    /// The message of its status.
    pub message: String,
}

/// The result for one pod on one placement.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemberResult {
    /// The pod.
    pub pod: PodKey,
    /// The node it got.
    pub node: Option<Arc<str>>,
    /// Whether victims on that node must be evicted first.
    pub preempts: bool,
    /// Nodes that are as good; which one is taken is random.
    pub tied: Vec<Arc<str>>,
    /// Why it got none.
    pub message: Option<String>,
    /// Why its node is not certain.
    pub unknown: Option<PlacementDoubt>,
}

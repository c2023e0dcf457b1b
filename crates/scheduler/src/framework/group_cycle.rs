//! What came of the cycle of a whole group, as the judgement of one of its pods reports it.

use std::sync::Arc;

use crate::cluster::{PodInfo, PodKey};

use super::group_caveat::{GroupCaveat, PlacementDoubt};

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
    /// What is inferred, or drawn by chance.
    pub inferred: Vec<GroupCaveat>,
    /// What cannot be known: the outcome may be another.
    pub unknown: Vec<GroupCaveat>,
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

    /// What the outcome rests on beside the state.
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
    /// Why the node it was given is not certain.
    pub unknown: Option<PlacementDoubt>,
}

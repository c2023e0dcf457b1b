//! What came of the cycle of a whole group, as the judgement of one of its pods reports it.

use std::sync::Arc;

use crate::cluster::{PodInfo, PodKey};

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

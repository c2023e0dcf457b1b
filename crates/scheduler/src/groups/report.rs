//! The report of a group's cycle.

use std::collections::BTreeSet;

use crate::cluster::ClusterState;
use crate::framework::{CompositeGroupResult, GroupCaveat, GroupCycle, GroupOutcome, PlacementResult};

use super::Group;
use super::attempt::GroupAttempt;
use super::placement::{Placement, PodGroupAlgorithmResult};
use super::preemption::PodGroupPostFilterResult;
use super::status::Status;
use super::turn::GroupTurn;

impl GroupTurn<'_, '_> {
    /// Returns the cycle as it is reported. `answer`: the result of preemption, if it was tried.
    pub(super) fn described(
        &self,
        outcome: &PodGroupAlgorithmResult,
        answer: Option<&PodGroupPostFilterResult>,
        state: &ClusterState,
    ) -> GroupCycle {
        let (reached, before) = self.reach(outcome);
        let (leaf, final_status) = (self.leaf, self.final_status(outcome, answer));
        let mut cycle = GroupCycle {
            name: leaf.id.name.to_string(),
            min_count: leaf.min_count(),
            scheduled: leaf.scheduled,
            order: leaf.queue.iter().map(|pod| pod.key()).collect(),
            topology_key: leaf.topology_key(),
            placements: reached.map(|reached| reached.described(state)).unwrap_or_default(),
            chosen: reached.and_then(|reached| reached.chosen),
            tied: reached.map(PodGroupAlgorithmResult::tied).unwrap_or_default(),
            above: self.above(outcome, state),
            before: before.into_iter().map(|member| member.tried.clone()).collect(),
            outcome: match &final_status.after {
                Status::Success => GroupOutcome::Scheduled,
                Status::Error(_) => GroupOutcome::Error,
                Status::Rejected { .. } if final_status.waits => GroupOutcome::WaitsForPreemption,
                Status::Rejected { .. } => GroupOutcome::Unschedulable,
            },
            message: final_status.after.message(),
            victims: Vec::new(),
            inferred: Vec::new(),
            unknown: Vec::new(),
        };
        match answer {
            Some(PodGroupPostFilterResult::Helps { victims, tied, .. }) => {
                cycle.victims.clone_from(victims);
                cycle.inferred.extend(tied.then_some(GroupCaveat::VictimsDrawn));
            }
            Some(PodGroupPostFilterResult::Fails { drawn: true, .. }) => cycle.inferred.push(GroupCaveat::ErrorDrawn),
            Some(PodGroupPostFilterResult::NotTried { victims, nodes }) => {
                cycle.unknown.push(GroupCaveat::PreemptionNotTried { victims: *victims, nodes: *nodes });
            }
            _ => {}
        }
        cycle
    }

    /// Returns the results of the composite groups above the pod's group, the topmost first.
    fn above(&self, outcome: &PodGroupAlgorithmResult, state: &ClusterState) -> Vec<CompositeGroupResult> {
        let (mut group, mut reached, mut above) = (self.root, Some(outcome), Vec::new());
        while let Some(place) = self.place_in(group) {
            let below = reached.map_or(&[][..], PodGroupAlgorithmResult::below);
            let fits = |at: usize| below.get(at).map(|outcome| outcome.status == Status::Success);
            above.push(CompositeGroupResult {
                name: group.id.name.clone(),
                min_group_count: group.min_count(),
                groups: group.children.iter().enumerate().map(|(at, child)| (child.id.name.clone(), fits(at))).collect(),
                topology_key: group.topology_key(),
                placements: reached.map(|reached| reached.described(state)).unwrap_or_default(),
                chosen: reached.and_then(|reached| reached.chosen),
                tied: reached.map(PodGroupAlgorithmResult::tied).unwrap_or_default(),
                fits: reached.is_some_and(|reached| reached.status == Status::Success),
                message: reached.map(|reached| reached.status.message()).unwrap_or_default(),
            });
            (group, reached) = (&group.children[place], below.get(place));
        }
        above
    }
}

impl Group<'_> {
    /// The label whose values make placements, if there is one.
    fn topology_key(&self) -> Option<String> {
        self.spec.topology_key().filter(|_| self.by_topology()).map(str::to_owned)
    }
}

impl PodGroupAlgorithmResult {
    fn tied(&self) -> Vec<usize> {
        self.drawn.iter().copied().filter(|at| Some(*at) != self.chosen).collect()
    }

    fn described(&self, state: &ClusterState) -> Vec<PlacementResult> {
        let described = |(at, (placement, tried)): (usize, &(Placement, GroupAttempt))| {
            let seen = tried.members.first().map(|member| member.judgement.nodes.len());
            let of_groups = || if tried.groups.is_empty() { 0 } else { state.node_count() };
            PlacementResult {
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

//! A pod's place in the cycle of its group: the path to it through a tree of groups, and what may be reported on that path.

use std::sync::Arc;

use crate::cluster::PodInfo;

use super::Group;
use super::attempt::PodAttempt;
use super::placement::PodGroupAlgorithmResult;
use super::status::Status;

/// A pod's place in the cycle of its group.
pub(super) struct GroupTurn<'g, 'a> {
    /// The group that is tried as a whole.
    pub root: &'g Group<'a>,
    /// The pod's own group: the root, or one below it.
    pub leaf: &'g Group<'a>,
    /// The pod.
    pub pod: &'g Arc<PodInfo>,
}

impl GroupTurn<'_, '_> {
    /// Returns the result of the pod's group, if it was tried, and the pods of other groups that got nodes before.
    pub(super) fn reach<'o>(&self, outcome: &'o PodGroupAlgorithmResult) -> (Option<&'o PodGroupAlgorithmResult>, Vec<&'o PodAttempt>) {
        let (mut group, mut reached, mut before) = (self.root, Some(outcome), Vec::new());
        while let Some(place) = self.place_in(group) {
            let below = reached.map_or(&[][..], PodGroupAlgorithmResult::below);
            before.extend(below.iter().take(place).flat_map(PodGroupAlgorithmResult::kept));
            (group, reached) = (&group.children[place], below.get(place));
        }
        (reached, before)
    }

    /// Returns which child group contains the pod's group.
    pub(super) fn place_in(&self, group: &Group) -> Option<usize> {
        group.children.iter().position(|child| child.leaves().iter().any(|leaf| leaf.id == self.leaf.id))
    }

    /// Returns the attempt of the pod itself, if it was tried.
    pub(super) fn member<'o>(&self, outcome: &'o PodGroupAlgorithmResult) -> Option<&'o PodAttempt> {
        let reached = self.reach(outcome).0?;
        reached.tries[reached.chosen?].1.members.iter().find(|member| member.tried.pod == self.pod.key())
    }

    /// Returns the other placements that may be reported, each as the choice of every group on the path: where none fits, upstream reports the first
    /// it tries, in random order.
    pub(super) fn alternatives(&self, group: &Group, outcome: &PodGroupAlgorithmResult) -> Vec<Vec<usize>> {
        let drawn = outcome.drawn.len() > 1 && outcome.status != Status::Success && !outcome.waits;
        let choices = if drawn { outcome.drawn.clone() } else { outcome.chosen.into_iter().collect() };
        let mut found = Vec::new();
        for at in choices {
            let place = self.place_in(group);
            let below = place.and_then(|place| Some((&group.children[place], outcome.tries[at].1.groups.get(place)?)));
            let rest = below.map_or_else(|| vec![Vec::new()], |(child, below)| self.alternatives(child, below));
            found.extend(rest.into_iter().map(|rest| [at].into_iter().chain(rest).collect()));
        }
        found
    }

    /// Returns the placement that is reported, for every group on the path.
    pub(super) fn chosen(&self, outcome: &PodGroupAlgorithmResult) -> Vec<usize> {
        let (mut group, mut reached, mut found) = (self.root, Some(outcome), Vec::new());
        while let Some(outcome) = reached {
            found.extend(outcome.chosen);
            let Some(place) = self.place_in(group) else { break };
            (group, reached) = (&group.children[place], outcome.below().get(place));
        }
        found
    }

    /// Reports another placement.
    pub(super) fn choose(&self, outcome: &mut PodGroupAlgorithmResult, choice: &[usize]) {
        let (mut group, mut outcome, mut choice) = (self.root, outcome, choice);
        while let [at, rest @ ..] = choice {
            if outcome.chosen != Some(*at) {
                outcome.status = group.none_available(outcome.tries.len(), &outcome.tries[*at].1.status);
                outcome.chosen = Some(*at);
            }
            let Some(place) = self.place_in(group) else { return };
            let Some(below) = outcome.tries[*at].1.groups.get_mut(place) else { return };
            (group, outcome, choice) = (&group.children[place], below, rest);
        }
    }
}

impl PodGroupAlgorithmResult {
    /// Returns the results of the child groups that were tried; none after an error.
    pub(crate) fn below(&self) -> &[Self] {
        let chosen = self.chosen.filter(|_| !matches!(self.status, Status::Error(_)));
        chosen.map_or(&[], |at| &self.tries[at].1.groups)
    }
}

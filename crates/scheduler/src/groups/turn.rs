//! A pod's turn in the cycle of its group: the way down to it through a tree of groups, and what may be reported on that way.

use std::sync::Arc;

use crate::cluster::PodInfo;

use super::Group;
use super::attempt::Attempted;
use super::placement::PodGroupAlgorithmResult;
use super::status::Status;

/// A pod's turn in the cycle of its group.
pub(super) struct Turn<'g, 'a> {
    /// What is tried at once.
    pub root: &'g Group<'a>,
    /// The pod's own group: the same, or one below it.
    pub leaf: &'g Group<'a>,
    /// The pod.
    pub pod: &'g Arc<PodInfo>,
}

impl Turn<'_, '_> {
    /// What came of the pod's group, if it was tried, and which pods of other groups were given nodes before.
    pub(super) fn reach<'o>(&self, outcome: &'o PodGroupAlgorithmResult) -> (Option<&'o PodGroupAlgorithmResult>, Vec<&'o Attempted>) {
        let (mut group, mut reached, mut before) = (self.root, Some(outcome), Vec::new());
        while let Some(place) = self.place_in(group) {
            let below = reached.map_or(&[][..], PodGroupAlgorithmResult::below);
            before.extend(below.iter().take(place).flat_map(PodGroupAlgorithmResult::kept));
            (group, reached) = (&group.children[place], below.get(place));
        }
        (reached, before)
    }

    /// Which of a composite group's groups the pod's is, or is below.
    pub(super) fn place_in(&self, group: &Group) -> Option<usize> {
        group.children.iter().position(|child| child.leaves().iter().any(|leaf| leaf.id == self.leaf.id))
    }

    /// What came of the pod itself, if it was tried.
    pub(super) fn member<'o>(&self, outcome: &'o PodGroupAlgorithmResult) -> Option<&'o Attempted> {
        let reached = self.reach(outcome).0?;
        reached.tries[reached.chosen?].1.members.iter().find(|member| member.tried.pod == self.pod.key())
    }

    /// What else may be reported, each by the placement of every group on the way down: where none does, the first that is tried, in an order
    /// drawn by chance.
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

    /// The placement that is reported of every group on the way down.
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
    /// What the groups below came to, those that were tried; nothing is kept of them after an error.
    pub(crate) fn below(&self) -> &[Self] {
        let chosen = self.chosen.filter(|_| !matches!(self.status, Status::Error(_)));
        chosen.map_or(&[], |at| &self.tries[at].1.groups)
    }
}

//! The final status of each group of a tree after the cycle: a group that was not tried, or that fits while its parent does not, has its parent's
//! status.
//! Sources: `completeCompositePodGroupAlgorithmResultMap`, `applyPodGroupPostFilterResult` of `schedule_one_podgroup.go` (1.37).

use crate::pod_groups::GroupId;

use super::Group;
use super::placement::PodGroupAlgorithmResult;
use super::preemption::PodGroupPostFilterResult;
use super::status::Status;
use super::turn::GroupTurn;

pub(super) struct FinalStatus {
    /// Its status before preemption.
    pub before: Status,
    /// Its status after preemption.
    pub after: Status,
    /// Whether it is the group's own status, not its parent's.
    pub own: bool,
    /// Whether the group waits for victims to terminate.
    pub waits: bool,
}

#[derive(Default)]
struct FinalStatuses {
    /// Each status, with the number of groups that have it.
    statuses: Vec<(Status, usize)>,
    /// The index of the status that the pod's group has, and whether it is the group's own.
    leaf: Option<(usize, bool)>,
}

impl FinalStatuses {
    fn complete(&mut self, group: &Group, outcome: Option<&PodGroupAlgorithmResult>, above: usize, leaf: &GroupId) {
        let fails = self.statuses[above].0 != Status::Success;
        let own = outcome.filter(|outcome| !fails || outcome.status != Status::Success);
        let at = own.map_or(above, |outcome| {
            self.statuses.push((outcome.status.clone(), 0));
            self.statuses.len() - 1
        });
        self.statuses[at].1 += 1;
        if group.id == *leaf {
            self.leaf = Some((at, own.is_some()));
        }
        let below = outcome.map_or(&[][..], PodGroupAlgorithmResult::below);
        for (place, child) in group.children.iter().enumerate() {
            self.complete(child, below.get(place), at, leaf);
        }
    }
}

impl GroupTurn<'_, '_> {
    /// Returns the final status of the pod's own group. `answer`: the result of preemption, if it was tried.
    pub(super) fn final_status(&self, outcome: &PodGroupAlgorithmResult, answer: Option<&PodGroupPostFilterResult>) -> FinalStatus {
        let mut statuses = FinalStatuses { statuses: vec![(Status::Success, 0)], leaf: None };
        statuses.complete(self.root, Some(outcome), 0, &self.leaf.id);
        let (at, own) = statuses.leaf.unwrap_or((0, false));
        let (before, shared) = statuses.statuses.swap_remove(at);
        let mut after = before.clone();
        // The text is appended once for each group that shares the status (`applyPodGroupPostFilterResult`).
        let mut append = |what: &String| (0..shared).for_each(|_| after.append(what.clone()));
        match answer {
            Some(PodGroupPostFilterResult::Helps { message, .. }) if self.root.newer() => append(message),
            Some(PodGroupPostFilterResult::Declines(why)) => append(why),
            Some(PodGroupPostFilterResult::Fails { why, .. }) => after = Status::Error(why.clone()),
            _ => {}
        }
        FinalStatus { before, after, own, waits: outcome.waits || matches!(answer, Some(PodGroupPostFilterResult::Helps { .. })) }
    }
}

//! What stands for each group of a tree once it was tried: one that was not, or that fits while the one above does not, has the status of that one.
//! Sources: `completeCompositePodGroupAlgorithmResultMap`, `applyPodGroupPostFilterResult` of `schedule_one_podgroup.go` (1.37).

use crate::pod_groups::GroupId;

use super::Group;
use super::placement::PodGroupAlgorithmResult;
use super::preemption::Answer;
use super::status::Status;
use super::turn::Turn;

/// What stands for the pod's group in the end.
pub(super) struct Standing {
    /// Its status before preemption was tried.
    pub before: Status,
    /// And after that.
    pub after: Status,
    /// Whether it is the group's own, not that of one above it.
    pub own: bool,
    /// Whether the group waits for victims to go.
    pub waits: bool,
}

/// What stands for every group of a tree.
#[derive(Default)]
struct Settled {
    /// Each status with how many groups have it.
    statuses: Vec<(Status, usize)>,
    /// Which of them the pod's group has, and whether it is its own.
    leaf: Option<(usize, bool)>,
}

impl Settled {
    fn settle(&mut self, group: &Group, outcome: Option<&PodGroupAlgorithmResult>, above: usize, leaf: &GroupId) {
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
            self.settle(child, below.get(place), at, leaf);
        }
    }
}

impl Turn<'_, '_> {
    /// What stands for the pod's own group. `answer`: what preemption said, if it was tried.
    pub(super) fn standing(&self, outcome: &PodGroupAlgorithmResult, answer: Option<&Answer>) -> Standing {
        let mut settled = Settled { statuses: vec![(Status::Success, 0)], leaf: None };
        settled.settle(self.root, Some(outcome), 0, &self.leaf.id);
        let (at, own) = settled.leaf.unwrap_or((0, false));
        let (before, shared) = settled.statuses.swap_remove(at);
        let mut after = before.clone();
        // What is said is added once for each group that shares the status (`applyPodGroupPostFilterResult`).
        let mut say = |what: &String| (0..shared).for_each(|_| after.append(what.clone()));
        match answer {
            Some(Answer::Helps { message, .. }) if self.root.newer() => say(message),
            Some(Answer::Declines(why)) => say(why),
            Some(Answer::Fails { why, .. }) => after = Status::Error(why.clone()),
            _ => {}
        }
        Standing { before, after, own, waits: outcome.waits || matches!(answer, Some(Answer::Helps { .. })) }
    }
}

//! What the outcomes of neighbours say of the order. The place of a neighbour is no longer open if its own outcome follows only where the attempt was
//! decided about before it, or only where it was not.

use crate::cluster::{CachedObject, UndoLog};
use crate::explanation::Attempt;

use super::assumed::{Neighbour, Neighbours, Order};
use super::{Replay, attempt};

/// The number of further neighbours whose orders are all tried before an outcome is said not to follow.
const MAX_JOINT_NEIGHBOURS: usize = 3;

/// How often outcomes are followed on all nodes together, at least, and at most.
const MAX_NODE_EVALUATIONS: usize = 50_000;
const OUTCOME_TRIALS: std::ops::RangeInclusive<usize> = 8..=400;

impl Replay {
    /// The decisions near an attempt; those on which its numbers depend are put on the side of it that their own outcomes decide.
    pub(crate) fn settled_neighbours(&mut self, attempt: &Attempt) -> Neighbours {
        let neighbours = self.neighbours(attempt);
        if neighbours.open().is_empty() || !self.scheduler.is_as_recorded() {
            return neighbours;
        }
        let mut trial = UndoLog::new(self);
        let (_, doubts) = trial.evaluated(attempt, &neighbours);
        drop(trial);
        let mut left = (MAX_NODE_EVALUATIONS / self.state.node_count().max(1)).clamp(*OUTCOME_TRIALS.start(), *OUTCOME_TRIALS.end());
        let mut settled = neighbours.clone();
        for at in neighbours.open() {
            let neighbour = neighbours.get(at);
            let name = neighbour.pod.full_name();
            if doubts.iter().any(|doubt| doubt.pod == name && !doubt.needed)
                && let Some(order) = self.order_by_outcome(neighbour, attempt, &mut left)
            {
                settled.settle(at, order);
            }
        }
        // Outcomes that contradict each other decide nothing.
        if self.may_follow_with(attempt, &settled) { settled } else { neighbours }
    }

    /// When a neighbour was decided about, as its own outcome tells: it follows with the attempt on one side of it alone. Two processes may both have
    /// decided without knowing of the other one's decision.
    fn order_by_outcome(&mut self, neighbour: &Neighbour, attempt: &Attempt, left: &mut usize) -> Option<Order> {
        if neighbour.foreign {
            return None;
        }
        let theirs = self.attempt_of(neighbour)?;
        let around = self.neighbours(&theirs);
        if !around.members().is_empty() {
            return None;
        }
        let own = around.number_of(&attempt.pod)?;
        if around.get(own).order() != Order::Either {
            return None;
        }
        let others: Vec<usize> = around.open().into_iter().filter(|at| *at != own).collect();
        if others.len() > MAX_JOINT_NEIGHBOURS {
            return None;
        }
        let mut may_follow = |order: Order| {
            (0..1_usize << others.len()).any(|after| {
                let mut tried = around.with(own, order);
                for (bit, at) in others.iter().enumerate() {
                    tried.settle(*at, if after >> bit & 1 == 1 { Order::After } else { Order::Before });
                }
                // Where no more may be tried, nothing is excluded.
                *left = left.saturating_sub(1);
                *left == 0 || self.may_follow_with(&theirs, &tried)
            })
        };
        match (may_follow(Order::Before), may_follow(Order::After)) {
            (true, false) => Some(Order::After),
            (false, true) => Some(Order::Before),
            _ => None,
        }
    }

    /// Whether an attempt's outcome may follow where its neighbours stand as they are given.
    fn may_follow_with(&mut self, attempt: &Attempt, neighbours: &Neighbours) -> bool {
        let mut undone = UndoLog::new(self);
        let end = undone.journal.len();
        let back = undone.undo_after(attempt.revision - 1, end);
        let sought = undone.sought(attempt);
        undone.may_follow(&sought, neighbours, back)
    }

    /// The attempt that ended with a neighbour's binding or refusal; `None` where it is not known.
    fn attempt_of(&self, neighbour: &Neighbour) -> Option<Attempt> {
        let mut ended = self.changes_within(neighbour.ended - 1, neighbour.ended);
        let found = ended.find_map(|(revision, change)| match (&change.before, &change.after) {
            (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) if before.uid == neighbour.pod.uid => {
                attempt::attempt(Some(before), after, revision)
            }
            _ => None,
        })?;
        let nominated_before = neighbour.pod.nominated_node_name.clone();
        Some(Attempt { queued: neighbour.queued, nominated_before, ..found })
    }
}

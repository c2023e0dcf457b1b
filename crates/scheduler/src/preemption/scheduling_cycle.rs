//! One attempt to schedule a single pod: its cycle, and PostFilter where no node fits (upstream's `schedulingCycle`).

use crate::cluster::unreadable;
use crate::cycle::fit_error;
use crate::cycle::prepared::Prepared;
use crate::framework::{Cycle, Judgement, NodeJudgement};

impl<'a> Cycle<'a> {
    /// Evaluates the pod on every node, scores the nodes that fit, and returns the message the scheduler would write.
    pub fn evaluate(&'a self) -> Judgement {
        let (judgement, unread) = unreadable::collect(|| self.attempted());
        Judgement { unread, ..judgement }
    }

    fn attempted(&'a self) -> Judgement {
        let (mut judgement, prepared) = self.schedule();
        if judgement.whole_pod.is_some() || !judgement.nodes.iter().any(NodeJudgement::fits) {
            self.end_refused(&prepared, &mut judgement);
        } else if self.scope.is_none() {
            self.end_bound(&mut judgement);
        }
        judgement
    }

    /// Runs PostFilter and adds the message of a pod that no node was found for.
    fn end_refused(&self, prepared: &Prepared<'a>, judgement: &mut Judgement) {
        let post = super::post_filter(self, prepared, judgement);
        let message = |post: &String| fit_error::message(self, prepared, judgement, post);
        let (first, equals) = (message(&post.message), post.equals.iter().filter_map(message).collect::<Vec<String>>());
        judgement.preemption_helps = post.nominates;
        judgement.message = first;
        judgement.equal_messages.extend(equals);
    }
}

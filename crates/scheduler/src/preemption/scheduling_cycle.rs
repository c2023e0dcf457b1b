//! One attempt to schedule a single pod: its cycle, and PostFilter where no node fits (upstream's `schedulingCycle`).

use crate::cycle::fit_error;
use crate::cycle::prepared::Prepared;
use crate::framework::{Cycle, Judgement, NodeJudgement};

impl<'a> Cycle<'a> {
    /// Evaluates the pod on every node, scores the nodes that fit, and returns the message the scheduler would write.
    pub fn evaluate(&'a self) -> Judgement {
        self.with_unread(|| self.attempted(true))
    }

    /// Evaluates the pod as [`Cycle::evaluate`] does, but scores no node where the scheduler sees only some of those that fit
    /// ([`Sample::unseen`](crate::Sample::unseen)): for a caller that knows which, and lets them be scored by [`Cycle::score_among`].
    pub fn evaluate_for_sample(&'a self) -> Judgement {
        self.with_unread(|| self.attempted(false))
    }

    /// Adds what could not be read.
    fn with_unread(&self, evaluate: impl FnOnce() -> Judgement) -> Judgement {
        let (judgement, unread) = self.state.collect(evaluate);
        Judgement { unread, ..judgement }
    }

    fn attempted(&'a self, scores_unseen: bool) -> Judgement {
        let (mut judgement, prepared) = self.schedule(scores_unseen);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::cluster::{ClusterState, ObjectKey};
    use crate::framework::{Cycle, Judgement};
    use crate::{Gates, Release, Rules, Scheduler, VersionEvidence, VersionFrom};

    /// A pod on this many equal nodes, evaluated in both ways, and all nodes that fit scored afterwards.
    fn evaluated(nodes: usize) -> (Judgement, Judgement, Option<Vec<i64>>) {
        let scheduler = Scheduler::with_defaults(VersionFrom { release: Release(36), patch: None, evidence: VersionEvidence::Given });
        let mut state = ClusterState::new(Rules::new(Release(36), &Gates::new(Release(36))).requests);
        let node = |at: usize| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at}")},
                "status": {"allocatable": {"cpu": format!("{}", 1 + at % 3), "memory": "8Gi", "pods": "10"}}})
        };
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}});
        for object in (0..nodes).map(node).chain([pod]) {
            state.apply(&ObjectKey::of(&object).unwrap(), Some(object.to_string().as_bytes()), 1);
        }
        let pod = state.pod("ns", "p").unwrap().clone();
        let cycle = Cycle::new(&pod, &state, scheduler.profile_for(&pod).0);
        let (whole, sampled) = (cycle.evaluate(), cycle.evaluate_for_sample());
        let fitting: Vec<String> = sampled.nodes.iter().filter(|node| node.fits()).map(|node| node.name.to_string()).collect();
        let scores = cycle.score_among(&fitting).unwrap();
        (whole, sampled, scores.map(|scores| scores.totals))
    }

    #[test]
    fn nodes_are_left_unscored_only_where_some_are_not_seen() {
        let fits = |judgement: &Judgement| judgement.nodes.iter().map(|node| node.fits()).collect::<Vec<_>>();
        for (nodes, is_scored) in [(90, true), (600, false)] {
            let (whole, sampled, scores) = evaluated(nodes);
            assert_eq!(fits(&whole), fits(&sampled));
            assert_eq!(sampled.scores.is_some(), is_scored, "{nodes} nodes");
            assert_eq!(whole.scores.map(|scores| scores.totals), scores);
        }
    }
}

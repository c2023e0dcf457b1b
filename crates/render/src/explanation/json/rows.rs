//! An explanation as rows of the tables `decisions` and `decision_nodes` of `export`.

use ketcd_history::clock::Dated;
use ketcd_scheduler::{Explanation, FilterMode};

use super::node::{FilterStatus, Node};
use super::{assumptions, caveats, nodes};
use crate::contract::common::Time;
use crate::contract::export::{DecisionNodeRow, DecisionRow};

/// A scheduling decision that becomes rows.
pub struct Decision<'a> {
    explanation: &'a Explanation,
    time: Option<Dated>,
    nodes: Vec<Node<'a>>,
}

impl<'a> Decision<'a> {
    /// The decision of an explanation, made at `time`.
    pub fn new(explanation: &'a Explanation, mode: FilterMode, time: Option<Dated>) -> Self {
        Self { explanation, time, nodes: nodes(explanation, mode, None).collect() }
    }

    /// The row of table `decisions`.
    pub fn row(&self) -> DecisionRow<'a> {
        let Explanation { attempt, judgement, .. } = self.explanation;
        DecisionRow {
            revision: attempt.revision,
            time: Time::of(self.time),
            time_error_seconds: self.time.map(|dated| dated.error),
            namespace: &attempt.pod.namespace,
            pod: &attempt.pod.name,
            uid: &attempt.pod.uid,
            outcome: attempt.outcome.into(),
            decided_by: self.explanation.decided_by.into(),
            node: attempt.node.as_deref(),
            verdict: self.explanation.agreement.into(),
            recorded_message: attempt.recorded_message.as_deref(),
            message: judgement.message.as_deref(),
            scheduler_name: &self.explanation.scheduler_name,
            scheduler_version: self.explanation.version.release.to_string(),
            evaluated_revision: self.explanation.evaluated_revision,
            nodes: self.nodes.len() as i64,
            feasible_nodes: self.nodes.iter().filter(|node| node.feasible).count() as i64,
            caveats: caveats(self.explanation).into_iter().chain(assumptions(self.explanation)).collect(),
        }
    }

    /// The rows of table `decision_nodes`.
    pub fn node_rows(&self) -> impl Iterator<Item = DecisionNodeRow<'_>> {
        let attempt = &self.explanation.attempt;
        self.nodes.iter().map(move |node| {
            let refuses =
                |status| matches!(status, FilterStatus::Unschedulable | FilterStatus::UnschedulableAndUnresolvable | FilterStatus::Error);
            let refusal = node.filters.iter().find(|filter| filter.reached && refuses(filter.status));
            DecisionNodeRow {
                revision: attempt.revision,
                time: Time::of(self.time),
                namespace: &attempt.pod.namespace,
                pod: &attempt.pod.name,
                uid: &attempt.pod.uid,
                node: node.name,
                chosen: attempt.node.as_deref() == Some(node.name),
                feasible: node.feasible,
                refused_by: refusal.map(|filter| filter.plugin),
                status: refusal.map(|filter| filter.status),
                reasons: refusal.map(|filter| filter.reasons.join(", ")),
                total: node.total,
                filters: &node.filters,
                scores: &node.scores,
            }
        })
    }
}

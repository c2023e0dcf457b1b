//! Recorded decisions evaluated by another scheduler: another configuration, other gates, another release; each on the state that it saw.

use std::sync::Arc;

use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Error, Result};
use ketcd_scheduler::{AttemptOutcome, Depth, Explanation, Judgement, Scores};

use super::scheduling::best;

/// What another scheduler would have decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionVerdict {
    /// The same node, as the only best one.
    Same,
    /// The node is one of several that are equally good.
    Tied,
    /// Another node.
    Other {
        /// The nodes it might choose.
        nodes: Vec<String>,
        /// The filter that refuses the recorded node, or the score that turned it.
        plugin: Option<&'static str>,
    },
    /// A pod that was refused would find a node.
    Fits {
        /// The nodes it might choose.
        nodes: Vec<String>,
    },
    /// A pod that was bound would find none.
    FitsNowhere {
        /// The scheduler's message.
        message: Option<String>,
    },
    /// A pod that was refused would be refused.
    StillRefused,
    /// It depends on what etcd does not hold.
    Unknown,
}

/// A recorded decision, evaluated by another scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedDecision {
    /// The revision that shows it.
    pub revision: i64,
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// The node that was chosen; `None`: it was refused.
    pub node: Option<String>,
    /// What the other scheduler would have decided.
    pub verdict: DecisionVerdict,
}

/// Evaluates every decision that the readable history shows, up to the revision looked at, by the scheduler that the options name.
///
/// # Errors
/// The source cannot be read, or the options would be refused by that scheduler.
pub async fn judged_decisions(cluster: &Cluster, options: &SchedulerOptions<'_>) -> Result<Vec<JudgedDecision>> {
    let mut decisions = cluster.explainer(options).await?.with_depth(Depth::Verdicts).decisions();
    let mut found = Vec::new();
    decisions
        .each(|decision| {
            found.push(judged(&decision.explain().explanation));
            Ok::<(), Error>(())
        })
        .await?;
    Ok(found)
}

fn judged(explanation: &Explanation) -> JudgedDecision {
    let attempt = &explanation.attempt;
    let pod = format!("{}/{}", attempt.pod.namespace, attempt.pod.name);
    let node = attempt.node.as_ref().filter(|_| attempt.outcome == AttemptOutcome::Scheduled);
    let verdict = verdict(&explanation.judgement, node);
    JudgedDecision { revision: attempt.revision, pod, node: node.map(ToString::to_string), verdict }
}

fn verdict(judgement: &Judgement, node: Option<&Arc<str>>) -> DecisionVerdict {
    if judgement.nodes.iter().any(|node| node.fits() && node.unknown().is_some()) {
        return DecisionVerdict::Unknown;
    }
    let best = best(judgement);
    let nodes = || best.iter().map(ToString::to_string).collect::<Vec<_>>();
    match node {
        None if best.is_empty() => DecisionVerdict::StillRefused,
        None => DecisionVerdict::Fits { nodes: nodes() },
        Some(_) if best.is_empty() => DecisionVerdict::FitsNowhere { message: judgement.message.clone() },
        Some(node) if best.contains(node) => {
            if best.len() == 1 {
                DecisionVerdict::Same
            } else {
                DecisionVerdict::Tied
            }
        }
        Some(node) => DecisionVerdict::Other { nodes: nodes(), plugin: turned_by(judgement, node, &best[0]) },
    }
}

/// The filter that refuses the recorded node, or the score that speaks most for the other one.
fn turned_by(judgement: &Judgement, recorded: &Arc<str>, other: &Arc<str>) -> Option<&'static str> {
    let evaluated = judgement.nodes.iter().find(|node| node.name == *recorded)?;
    if let Some(at) = evaluated.stop() {
        return judgement.filters.get(at).copied();
    }
    let Scores { nodes, plugins, .. } = judgement.scores.as_ref()?;
    let (from, to) = (nodes.iter().position(|node| node == recorded)?, nodes.iter().position(|node| node == other)?);
    let gain = |normalized: &[i64], weight: i64| (normalized[to] - normalized[from]) * weight;
    plugins.iter().max_by_key(|score| gain(&score.normalized, score.weight)).map(|score| score.plugin)
}

//! One node of an explanation: what every filter said, the scores, the devices it would give.

use std::borrow::Cow;

use serde::Serialize;

use ketcd_scheduler::{Explanation, FilterMode, NodeJudgement, Scores, Verdict, WholePod};

use super::devices;

/// A node as scripts see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node<'a> {
    name: &'a str,
    feasible: bool,
    filters: Vec<Filter<'a>>,
    scores: Vec<Score<'a>>,
    total: Option<i64>,
    /// Devices the pod's claims would get here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<devices::Device<'a>>,
    /// Whether the release takes devices in random order, so that others may serve.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    devices_uncertain: bool,
}

#[derive(Serialize)]
struct Filter<'a> {
    plugin: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reasons: Cow<'a, [Cow<'static, str>]>,
    reached: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Compared>,
}

#[derive(Serialize)]
struct Compared {
    holds: bool,
    fact: String,
}

#[derive(Serialize)]
struct Score<'a> {
    plugin: &'a str,
    raw: i64,
    normalized: i64,
    weight: i64,
    weighted: i64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    uncertain: bool,
}

/// The node's part of the document. `scored`: the scores and its place among them.
pub(super) fn node<'a>(
    explanation: &'a Explanation,
    node: &'a NodeJudgement,
    scored: Option<(&'a Scores, usize)>,
    mode: FilterMode,
) -> Node<'a> {
    let judgement = &explanation.judgement;
    let first = node.stop().unwrap_or(usize::MAX);
    let reached = |at: usize| match (&judgement.whole_pod, mode) {
        (Some(WholePod::Gated { .. }), _) => false,
        (Some(WholePod::Error(_)), FilterMode::FirstRefusal) => !node.absent && at <= first,
        (Some(_), _) => at == first,
        (None, FilterMode::All) => !node.absent,
        (None, _) => !node.absent && at <= first,
    };
    let filters = node.verdicts.iter().enumerate().map(|(at, verdict)| {
        let (status, reasons): (_, Cow<'a, [Cow<'static, str>]>) = match verdict {
            Verdict::Skip => ("Skip", Cow::default()),
            Verdict::Pass => ("Success", Cow::default()),
            Verdict::Reject(refusal) if refusal.preemption_may_help => ("Unschedulable", Cow::Borrowed(&refusal.reasons)),
            Verdict::Reject(refusal) => ("UnschedulableAndUnresolvable", Cow::Borrowed(&refusal.reasons)),
            Verdict::Unknown { missing } => ("Unknown", Cow::Owned(vec![missing.clone()])),
            Verdict::Error(error) => ("Error", Cow::Owned(vec![error.clone().into()])),
        };
        let plugin = judgement.filters[at];
        let evidence = explanation.evidence.iter().filter(|evidence| evidence.node == node.name && evidence.plugin == plugin);
        let facts = evidence.flat_map(|evidence| &evidence.facts);
        let compared = facts.map(|fact| Compared { holds: fact.holds, fact: fact.whole() }).collect();
        Filter { plugin, status, reasons, reached: reached(at), compared }
    });
    let scores = scored.into_iter().flat_map(|(scores, at)| {
        scores.plugins.iter().map(move |score| Score {
            plugin: score.plugin,
            raw: score.raw[at],
            normalized: score.normalized[at],
            weight: score.weight,
            weighted: score.normalized[at] * score.weight,
            uncertain: score.doubtful.contains(&at),
        })
    });
    let given = explanation.devices.iter().filter(|of| of.node == node.name);
    Node {
        name: &node.name,
        feasible: judgement.whole_pod.is_none() && node.fits(),
        filters: filters.collect(),
        scores: scores.collect(),
        total: scored.map(|(scores, at)| scores.totals[at]),
        devices: given.clone().flat_map(|of| of.claims.iter().flat_map(devices::of_claim)).collect(),
        devices_uncertain: given.clone().any(|of| !of.certain),
    }
}

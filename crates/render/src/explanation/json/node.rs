//! One node of an explanation: the verdict of every filter, the scores, the devices that would be allocated.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_scheduler::{Explanation, FilterMode, NodeJudgement, Scores, Verdict, WholePod};

use super::devices;
use crate::explanation::facts;

/// A node, and the result of every plugin on it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Whether the pod fits on it.
    pub(super) feasible: bool,
    /// Every filter of the profile, in its order.
    pub(super) filters: Vec<Filter<'a>>,
    /// Every scoring plugin, where the pod fits on more than one node; empty where scores decide nothing.
    pub(super) scores: Vec<Score<'a>>,
    /// The sum of the weighted scores; null if there are none.
    pub(super) total: Option<i64>,
    /// The lowest and the highest sum, where it depends on which pods the scheduler had assumed; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_range: Option<TotalRange>,
    /// The devices that the pod's claims would be allocated here; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<devices::Device<'a>>,
    /// True where the release takes devices in random order, so that others may be allocated; absent elsewhere.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    devices_uncertain: bool,
}

/// Between which sums a node's total lies.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct TotalRange {
    /// The lowest.
    lowest: i64,
    /// The highest.
    highest: i64,
}

/// The result of a filter on a node.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Filter<'a> {
    /// The plugin (before 1.15: the predicate).
    pub(super) plugin: &'a str,
    /// The status it returns.
    pub(super) status: FilterStatus,
    /// Its reasons, in its own words; for `Unknown`, the missing evidence. Absent if there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub(super) reasons: Cow<'a, [Cow<'static, str>]>,
    /// Whether the scheduler runs it: after the first one that refuses it does not run the others.
    pub(super) reached: bool,
    /// What it compared; absent where that was not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Compared>,
}

/// What a filter returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum FilterStatus {
    /// The pod fits.
    Success,
    /// The pod does not fit, and preemption could help.
    Unschedulable,
    /// The pod does not fit, and preemption could not help.
    UnschedulableAndUnresolvable,
    /// The plugin has nothing to check for this pod.
    Skip,
    /// The data does not hold the evidence.
    Unknown,
    /// The plugin ends the attempt with an error.
    Error,
}

/// Something that a filter compared.
#[derive(Debug, Serialize, JsonSchema)]
struct Compared {
    /// Whether the comparison lets the pod pass.
    holds: bool,
    /// What was compared. For people: the words are not part of the contract.
    fact: String,
}

/// The score of a node by a scoring plugin.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Score<'a> {
    /// The plugin (before 1.15: the priority).
    plugin: &'a str,
    /// Its score before it is normalized over all feasible nodes, on the release's own scale.
    raw: i64,
    /// Its normalized score.
    normalized: i64,
    /// Its weight in the profile.
    weight: i64,
    /// `normalized` times `weight`.
    weighted: i64,
    /// True where missing evidence makes the score uncertain; absent elsewhere.
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
            Verdict::Skip => (FilterStatus::Skip, Cow::default()),
            Verdict::Pass => (FilterStatus::Success, Cow::default()),
            Verdict::Reject(refusal) if refusal.preemption_may_help => (FilterStatus::Unschedulable, Cow::Borrowed(&refusal.reasons)),
            Verdict::Reject(refusal) => (FilterStatus::UnschedulableAndUnresolvable, Cow::Borrowed(&refusal.reasons)),
            Verdict::Unknown { missing } => (FilterStatus::Unknown, Cow::Owned(vec![missing.clone()])),
            Verdict::Error(error) => (FilterStatus::Error, Cow::Owned(vec![error.clone().into()])),
        };
        let plugin = judgement.filters[at];
        let evidence = explanation.evidence.iter().filter(|evidence| evidence.node == node.name && evidence.plugin == plugin);
        let facts = evidence.flat_map(|evidence| &evidence.facts);
        let compared = facts.map(|fact| Compared { holds: fact.holds, fact: facts::whole(fact) }).collect();
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
    let range = scored.and_then(|(scores, at)| scores.ranges.get(&at));
    let given = explanation.devices.iter().filter(|of| of.node == node.name);
    Node {
        name: &node.name,
        feasible: judgement.whole_pod.is_none() && node.fits(),
        filters: filters.collect(),
        scores: scores.collect(),
        total: scored.map(|(scores, at)| scores.totals[at]),
        total_range: range.map(|(lowest, highest)| TotalRange { lowest: *lowest, highest: *highest }),
        devices: given.clone().flat_map(|of| of.claims.iter().flat_map(devices::of_claim)).collect(),
        devices_uncertain: given.clone().any(|of| !of.certain),
    }
}

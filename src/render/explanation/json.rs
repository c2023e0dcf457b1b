//! An explanation as the JSON that scripts rely on.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::history::clock::Dated;
use crate::scheduler::{
    Agreement, ClaimDevices, DecidedBy, Explanation, FilterMode, Judgement, NodeJudgement, Outcome, Scores, Verdict, WholePod,
};

use super::group;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    pod: Pod<'a>,
    attempt: Attempt<'a>,
    profile: Profile<'a>,
    verdict: &'static str,
    caveats: Vec<&'a String>,
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Waits<'a>>,
    nodes: Vec<Node<'a>>,
    remedies: Vec<Remedy<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beyond_help: Vec<Hopeless<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<Search<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preemption: Option<Preemption<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<group::Cycle<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recorded_devices: Vec<RecordedDevices<'a>>,
}

#[derive(Serialize)]
struct Pod<'a> {
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attempt<'a> {
    outcome: &'static str,
    decided_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    meant_for: Option<&'a str>,
    node: Option<&'a str>,
    revision: i64,
    evaluated_revision: i64,
    time: Option<String>,
    recorded_message: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'a> {
    scheduler_name: &'a str,
    version: String,
    version_from: &'a str,
}

/// Which plugin keeps the pod from being tried or, where it fits, from being bound, and why.
#[derive(Serialize)]
struct Waits<'a> {
    plugin: &'a str,
    status: &'static str,
    reason: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    name: &'a str,
    feasible: bool,
    filters: Vec<Filter<'a>>,
    scores: Vec<Score<'a>>,
    total: Option<i64>,
    /// Devices the pod's claims would get here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<Device<'a>>,
    /// Whether the release takes devices in random order, so that others may serve.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    devices_uncertain: bool,
}

#[derive(Serialize)]
struct Device<'a> {
    claim: &'a str,
    request: &'a str,
    driver: &'a str,
    pool: &'a str,
    device: &'a str,
}

/// Devices a claim was seen to get.
#[derive(Serialize)]
struct RecordedDevices<'a> {
    revision: i64,
    /// Whether the rules say the same of the node; null where they say nothing certain.
    agrees: Option<bool>,
    devices: Vec<Device<'a>>,
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

#[derive(Serialize)]
struct Remedy<'a> {
    node: &'a str,
    changes: &'a [String],
    plugins: &'a [&'static str],
}

/// What no change known here meets.
#[derive(Serialize)]
struct Hopeless<'a> {
    node: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    plugin: &'a str,
    why: &'a str,
}

/// How far remedies were looked for.
#[derive(Serialize)]
struct Search<'a> {
    nodes: usize,
    of: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<&'a str>,
}

#[derive(Serialize)]
struct Preemption<'a> {
    /// The best first.
    candidates: Vec<Place<'a>>,
    preempted: Vec<Preempted<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    node: &'a str,
    picked: bool,
    victims: Vec<Victim<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Victim<'a> {
    namespace: &'a str,
    name: &'a str,
    priority: i32,
    violates_budget: bool,
}

#[derive(Serialize)]
struct Preempted<'a> {
    namespace: &'a str,
    name: &'a str,
    revision: i64,
}

/// Writes one explanation as one JSON document on one line. `only`: the node to show, all of them if there is none.
///
/// # Errors
/// The stream's.
pub fn write_json(
    explanation: &Explanation,
    mode: FilterMode,
    time: Option<Dated>,
    only: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let attempt = &explanation.attempt;
    let judgement = &explanation.judgement;
    let shown = judgement.nodes.iter().filter(|node| only.is_none_or(|only| *node.name == *only));
    let places: HashMap<&str, usize> =
        judgement.scores.iter().flat_map(|scores| scores.nodes.iter().enumerate().map(|(at, name)| (&**name, at))).collect();
    let nodes = shown.map(|node| node_json(explanation, node, judgement.scores.as_ref().zip(places.get(&*node.name).copied()), mode));
    let document = Document {
        pod: Pod { namespace: &attempt.pod.namespace, name: &attempt.pod.name, uid: &attempt.pod.uid },
        attempt: Attempt {
            outcome: outcome(attempt.outcome),
            decided_by: decided_by(explanation.decided_by),
            meant_for: explanation.meant_for.as_deref(),
            node: attempt.node.as_deref(),
            revision: attempt.revision,
            evaluated_revision: explanation.evaluated_revision,
            time: time.map(|dated| format!("{:.3}", dated.time)),
            recorded_message: attempt.recorded_message.as_deref(),
        },
        profile: Profile {
            scheduler_name: &explanation.scheduler_name,
            version: explanation.version.release.to_string(),
            version_from: &explanation.version.evidence,
        },
        verdict: verdict(explanation.verdict),
        caveats: explanation.caveats.iter().chain(&explanation.assumptions).collect(),
        message: judgement.message.as_deref(),
        waits: match &judgement.whole_pod {
            Some(WholePod::Gated { plugin, reason }) => Some(Waits { plugin, status: "UnschedulableAndUnresolvable", reason }),
            _ => waits(judgement),
        },
        nodes: nodes.collect(),
        remedies: explanation
            .help
            .remedies
            .iter()
            .map(|remedy| Remedy { node: &remedy.node, changes: &remedy.changes, plugins: &remedy.plugins })
            .collect(),
        beyond_help: explanation
            .help
            .hopeless
            .iter()
            .map(|hopeless| Hopeless { node: &hopeless.node, plugin: hopeless.plugin, why: &hopeless.why })
            .collect(),
        search: search(explanation),
        preemption: preemption(explanation),
        group: judgement.group.as_deref().map(group::json),
        recorded_devices: explanation
            .recorded_devices
            .iter()
            .map(|of| RecordedDevices { revision: of.revision, agrees: of.agrees, devices: devices_json(&of.devices).collect() })
            .collect(),
    };
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// What a pod that fits waits for before it is bound.
fn waits(judgement: &Judgement) -> Option<Waits<'_>> {
    let of_driver = || {
        let wait = judgement.driver_waits.first()?;
        Some(Waits { plugin: "DynamicResources", status: wait.status, reason: &wait.reason })
    };
    judgement.permit.map(|reason| Waits { plugin: "GangScheduling", status: "Wait", reason }).or_else(of_driver)
}

fn search(explanation: &Explanation) -> Option<Search<'_>> {
    let help = &explanation.help;
    let cut = help.cut.iter().map(|node| &**node).collect();
    (help.searched > 0).then_some(Search { nodes: help.searched, of: help.of, cut })
}

fn preemption(explanation: &Explanation) -> Option<Preemption<'_>> {
    if explanation.preemption.is_empty() && explanation.preempted.is_empty() {
        return None;
    }
    let candidates = explanation.preemption.iter().map(|place| Place {
        node: &place.node,
        picked: place.picked,
        victims: place
            .victims
            .iter()
            .map(|victim| Victim {
                namespace: &victim.pod.namespace,
                name: &victim.pod.name,
                priority: victim.pod.spec.priority,
                violates_budget: victim.violates_budget,
            })
            .collect(),
    });
    let preempted = explanation.preempted.iter();
    let preempted = preempted.map(|(pod, revision)| Preempted { namespace: &pod.namespace, name: &pod.name, revision: *revision });
    Some(Preemption { candidates: candidates.collect(), preempted: preempted.collect() })
}

/// The contract's word for an outcome.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Scheduled => "Scheduled",
        Outcome::Unschedulable => "Unschedulable",
        Outcome::Pending => "Pending",
        Outcome::Gated => "Gated",
    }
}

fn decided_by(who: DecidedBy) -> &'static str {
    match who {
        DecidedBy::Scheduler => "Scheduler",
        DecidedBy::Kubelet => "Kubelet",
        DecidedBy::Creator => "Creator",
        DecidedBy::Unreadable => "Unreadable",
    }
}

/// The contract's word for an agreement.
pub fn verdict(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "Agrees",
        Agreement::Tie => "Tie",
        Agreement::Disagrees => "Disagrees",
        Agreement::Unverifiable => "Unverifiable",
    }
}

fn node_json<'a>(explanation: &'a Explanation, node: &'a NodeJudgement, scored: Option<(&'a Scores, usize)>, mode: FilterMode) -> Node<'a> {
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
    let devices = explanation.devices.iter().filter(|devices| devices.node == node.name);
    Node {
        name: &node.name,
        feasible: judgement.whole_pod.is_none() && node.fits(),
        filters: filters.collect(),
        scores: scores.collect(),
        total: scored.map(|(scores, at)| scores.totals[at]),
        devices: devices.clone().flat_map(|of| of.claims.iter().flat_map(devices_json)).collect(),
        devices_uncertain: devices.clone().any(|of| !of.certain),
    }
}

fn devices_json(of: &ClaimDevices) -> impl Iterator<Item = Device<'_>> {
    let devices = of.allocation.devices.iter();
    devices.map(|(request, driver, pool, device)| Device { claim: &of.claim, request, driver, pool, device })
}

//! An explanation as the JSON that scripts rely on.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use ketcd_history::clock::Dated;
use ketcd_scheduler::{Agreement, DecidedBy, Explanation, FilterMode, Judgement, Outcome, WholePod};

use super::group;

mod devices;
mod help;
mod node;
mod preemption;

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
    nodes: Vec<node::Node<'a>>,
    remedies: Vec<help::Remedy<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beyond_help: Vec<help::Hopeless<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<help::Search<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preemption: Option<preemption::Preemption<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<group::Cycle<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recorded_devices: Vec<devices::Recorded<'a>>,
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
    let nodes = shown.map(|node| node::node(explanation, node, judgement.scores.as_ref().zip(places.get(&*node.name).copied()), mode));
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
        remedies: help::remedies(explanation),
        beyond_help: help::hopeless(explanation),
        search: help::search(explanation),
        preemption: preemption::preemption(explanation),
        group: judgement.group.as_deref().map(group::json),
        recorded_devices: devices::recorded(explanation),
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

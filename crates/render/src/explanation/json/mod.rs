//! An explanation as the JSON that scripts rely on.

use std::collections::HashMap;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_history::clock::Dated;
use ketcd_scheduler::{Agreement, DecidedBy, Explanation, FilterMode, Judgement, WholePod};

use crate::contract::common::Time;
use crate::contract::window::HistoryWindow;

use super::caveats::{assumptions, caveats, version_evidence};
use super::pod_now::{HeldVolume, PodNow};
use super::since::SinceRefusal;

mod devices;
mod group;
mod help;
mod node;
mod preemption;
mod rows;

pub use node::{Filter, FilterStatus, Score};
pub use rows::Decision;

/// What `explain` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Explanations<'a> {
    /// `-o json` of several decisions.
    List(ExplanationList<'a>),
    /// `-o json` of one pod, and each line of `-o ndjson`: a decision.
    Explanation(Box<Document<'a>>),
}

/// Several decisions.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "List")]
pub struct ExplanationList<'a> {
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
    /// The decisions, oldest first.
    pub items: Vec<Document<'a>>,
}

/// A scheduling decision, and the reasons for it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Explanation")]
#[serde(rename_all = "camelCase")]
pub struct Document<'a> {
    /// The pod.
    pod: ExplainedPod<'a>,
    /// The decision.
    attempt: Attempt<'a>,
    /// The scheduler by whose rules it is evaluated.
    profile: Profile<'a>,
    /// Whether the rules give the recorded outcome.
    verdict: Verdict,
    /// What limits the answer: missing evidence, assumptions. For people: the words are not part of the contract.
    caveats: Vec<String>,
    /// The scheduler's own message for a pod that fits on no node; null for one that fits.
    message: Option<&'a str>,
    /// What keeps the pod from being tried or from being bound; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Waits<'a>>,
    /// What was written about the pod after its last refusal: then it is evaluated as it is now; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_refusal: Option<&'a SinceRefusal>,
    /// The volumes of a pod that was not started which are attached to another node, where the pod was named; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_volumes: Vec<HeldVolume<'a>>,
    /// The nodes; with `--node`, that one.
    nodes: Vec<node::Node<'a>>,
    /// The smallest changes that would make the pod fit, the best first; empty for a pod that found a node.
    remedies: Vec<help::Remedy<'a>>,
    /// Nodes that no known change makes fit; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beyond_help: Vec<help::BeyondHelp<'a>>,
    /// How far remedies were searched for; absent where they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<help::Search<'a>>,
    /// What preemption would do and did; absent where it does nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    preemption: Option<preemption::Preemption<'a>>,
    /// The cycle of the pod's pod group; absent for a pod without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<group::PodGroupCycle<'a>>,
    /// The devices that the pod's claims were allocated; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recorded_devices: Vec<devices::RecordedDevices<'a>>,
    /// The stretch of history that was asked for, in `-o json` of one pod; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<HistoryWindow>,
}

/// A pod.
#[derive(Debug, Serialize, JsonSchema)]
struct ExplainedPod<'a> {
    /// `Pod`.
    kind: &'static str,
    /// Its namespace.
    namespace: &'a str,
    /// Its name.
    name: &'a str,
    /// Its uid.
    uid: &'a str,
}

/// A scheduling decision as the data shows it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Attempt<'a> {
    /// How it ended.
    outcome: AttemptOutcome,
    /// Who decided.
    decided_by: Decider,
    /// The one node that the pod itself names, as a DaemonSet's pods do; absent for other pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    meant_for: Option<&'a str>,
    /// The node to which the pod was bound; null where it was not.
    node: Option<&'a str>,
    /// The revision that shows the decision.
    revision: i64,
    /// The revision on whose state it is evaluated.
    evaluated_revision: i64,
    /// When `revision` was written; null where nothing dates it.
    time: Option<Time>,
    /// The message of the pod's condition `PodScheduled`; null where it has none.
    recorded_message: Option<&'a str>,
}

/// The scheduler by whose rules a decision is evaluated.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Profile<'a> {
    /// The profile's `schedulerName`.
    scheduler_name: &'a str,
    /// Its release, such as `1.28`.
    version: String,
    /// The evidence for it. For people: the words are not part of the contract.
    version_from: String,
}

/// Which plugin keeps the pod from being tried or, where it fits, from being bound, and why.
#[derive(Debug, Serialize, JsonSchema)]
struct Waits<'a> {
    /// The plugin.
    plugin: &'a str,
    /// The status it returns: `Wait`, `Pending`, `Unschedulable`, `UnschedulableAndUnresolvable` or `Error`.
    status: &'static str,
    /// Its reason, in its own words.
    reason: &'a str,
}

/// How a decision ended.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum AttemptOutcome {
    /// The pod was bound to a node.
    Scheduled,
    /// The pod was refused: it fits on no node.
    Unschedulable,
    /// There is no decision yet.
    Pending,
    /// Scheduling gates keep the pod out of the queue.
    Gated,
}

/// Who decided.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum Decider {
    /// A scheduler.
    Scheduler,
    /// The node's kubelet: a static pod.
    Kubelet,
    /// The client that created the pod with its node's name set.
    Creator,
    /// Unknown: the evidence cannot be read.
    Unreadable,
}

/// Whether the rules give the recorded outcome.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum Verdict {
    /// The recorded node is the only best one, or the recorded refusal follows from the state.
    Agrees,
    /// The recorded node is one of several best ones.
    Tie,
    /// The recorded node is not among the best ones, or it is not feasible, or what was refused fits.
    Disagrees,
    /// The data does not hold the evidence.
    Unverifiable,
}

/// Writes one explanation as one JSON document on one line. `only` is the node to show, or `None` for all nodes; `now` is how the pod is now.
///
/// # Errors
/// The stream's.
pub fn write_json(
    explanation: &Explanation,
    mode: FilterMode,
    time: Option<Dated>,
    only: Option<&str>,
    now: PodNow<'_>,
    window: Option<HistoryWindow>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let attempt = &explanation.attempt;
    let judgement = &explanation.judgement;
    let nodes = nodes(explanation, mode, only);
    let document = Document {
        pod: ExplainedPod { kind: "Pod", namespace: &attempt.pod.namespace, name: &attempt.pod.name, uid: &attempt.pod.uid },
        attempt: Attempt {
            outcome: attempt.outcome.into(),
            decided_by: explanation.decided_by.into(),
            meant_for: explanation.meant_for.as_deref(),
            node: attempt.node.as_deref(),
            revision: attempt.revision,
            evaluated_revision: explanation.evaluated_revision,
            time: Time::of(time),
            recorded_message: attempt.recorded_message.as_deref(),
        },
        profile: Profile {
            scheduler_name: &explanation.scheduler_name,
            version: explanation.version.release.to_string(),
            version_from: version_evidence(&explanation.version.evidence),
        },
        verdict: explanation.agreement.into(),
        caveats: caveats(explanation).into_iter().chain(assumptions(explanation)).collect(),
        message: judgement.message.as_deref(),
        waits: match &judgement.whole_pod {
            Some(WholePod::Gated { plugin, reason }) => Some(Waits { plugin, status: "UnschedulableAndUnresolvable", reason }),
            _ => waits(judgement),
        },
        since_refusal: now.since,
        held_volumes: now.held_volumes(),
        nodes: nodes.collect(),
        remedies: help::remedies(explanation),
        beyond_help: help::hopeless(explanation),
        search: help::search(explanation),
        preemption: preemption::preemption(explanation),
        group: judgement.group.as_deref().map(group::group),
        recorded_devices: devices::recorded(explanation),
        window,
    };
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// The nodes in their order, or only one of them.
fn nodes<'a>(explanation: &'a Explanation, mode: FilterMode, only: Option<&'a str>) -> impl Iterator<Item = node::Node<'a>> {
    let scores = explanation.judgement.scores.as_ref();
    let places: HashMap<&str, usize> =
        scores.iter().flat_map(|scores| scores.nodes.iter().enumerate().map(|(at, name)| (&**name, at))).collect();
    let shown = explanation.judgement.nodes.iter().filter(move |node| only.is_none_or(|only| *node.name == *only));
    shown.map(move |node| node::node(explanation, node, scores.zip(places.get(&*node.name).copied()), mode))
}

/// What a pod that fits waits for before it is bound.
fn waits(judgement: &Judgement) -> Option<Waits<'_>> {
    judgement.permit.map(|reason| Waits { plugin: "GangScheduling", status: "Wait", reason })
}

mirrored!(ketcd_scheduler::AttemptOutcome => AttemptOutcome: Scheduled, Unschedulable, Pending, Gated);

mirrored!(DecidedBy => Decider: Scheduler, Kubelet, Creator, Unreadable; _);

mirrored!(Agreement => Verdict: Agrees, Tie, Disagrees, Unverifiable);

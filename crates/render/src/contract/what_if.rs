//! The JSON of `what-if`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_what_if as answer;

use crate::words::caveat;

/// What `what-if` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is only made into a schema")]
#[expect(clippy::large_enum_variant, reason = "it is described, never made")]
pub enum WhatIfs<'a> {
    /// `what-if` with actions or questions.
    WhatIf(WhatIf<'a>),
    /// `what-if --decisions`.
    Decisions(Decisions<'a>),
}

/// The decisions of the readable history, each evaluated by another scheduler.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decisions<'a> {
    /// How many there are of each verdict.
    pub counts: BTreeMap<&'static str, usize>,
    /// The decisions, in the order in which they were made.
    pub decisions: Vec<ReplayedDecision<'a>>,
}

/// What another scheduler would have decided.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum DecisionVerdict {
    /// The same node.
    Same,
    /// The node is one of several that are equally good.
    Tied,
    /// Another node.
    Other,
    /// A pod that was refused would find a node.
    Fits,
    /// A pod that was bound would find none.
    FitsNowhere,
    /// A pod that was refused would be refused.
    StillRefused,
    /// It depends on what etcd does not hold.
    Unknown,
}

/// A recorded decision, evaluated by another scheduler.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayedDecision<'a> {
    /// The scheduler's message, where the pod would find no node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    /// The node that was chosen; null where the pod was refused.
    pub node: Option<&'a str>,
    /// The nodes that it might choose.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub nodes: &'a [String],
    /// The filter that refuses the recorded node, or the score that turned the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<&'a str>,
    /// The pod, as NAMESPACE/NAME.
    pub pod: &'a str,
    /// The revision that shows the decision.
    pub revision: i64,
    /// What the other scheduler would have decided.
    pub verdict: DecisionVerdict,
}

impl DecisionVerdict {
    /// The name in JSON.
    fn name(self) -> &'static str {
        match self {
            Self::Same => "Same",
            Self::Tied => "Tied",
            Self::Other => "Other",
            Self::Fits => "Fits",
            Self::FitsNowhere => "FitsNowhere",
            Self::StillRefused => "StillRefused",
            Self::Unknown => "Unknown",
        }
    }
}

impl<'a> From<&'a answer::JudgedDecision> for ReplayedDecision<'a> {
    fn from(judged: &'a answer::JudgedDecision) -> Self {
        let plain = |verdict| Self {
            message: None,
            node: judged.node.as_deref(),
            nodes: &[],
            plugin: None,
            pod: &judged.pod,
            revision: judged.revision,
            verdict,
        };
        match &judged.verdict {
            answer::DecisionVerdict::Same => plain(DecisionVerdict::Same),
            answer::DecisionVerdict::Tied => plain(DecisionVerdict::Tied),
            answer::DecisionVerdict::Other { nodes, plugin } => Self { nodes, plugin: *plugin, ..plain(DecisionVerdict::Other) },
            answer::DecisionVerdict::Fits { nodes } => Self { nodes, ..plain(DecisionVerdict::Fits) },
            answer::DecisionVerdict::FitsNowhere { message } => Self { message: message.as_deref(), ..plain(DecisionVerdict::FitsNowhere) },
            answer::DecisionVerdict::StillRefused => plain(DecisionVerdict::StillRefused),
            answer::DecisionVerdict::Unknown => plain(DecisionVerdict::Unknown),
        }
    }
}

impl<'a> From<&'a [answer::JudgedDecision]> for Decisions<'a> {
    fn from(judged: &'a [answer::JudgedDecision]) -> Self {
        let decisions: Vec<ReplayedDecision<'a>> = judged.iter().map(ReplayedDecision::from).collect();
        let mut counts = BTreeMap::new();
        decisions.iter().for_each(|decision| *counts.entry(decision.verdict.name()).or_default() += 1);
        Self { counts, decisions }
    }
}

/// What becomes of a cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf<'a> {
    /// What was done, in order, as it was written.
    pub actions: &'a [String],
    /// What the simulation does not know, and where that matters: a sentence each.
    pub caveats: Vec<String>,
    /// The revision that the simulation began with.
    pub evaluated_revision: i64,
    /// What happens, in order.
    pub events: Vec<FutureEvent<'a>>,
    /// How many more fit, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit<'a>>,
    /// What holds in several futures, where that was asked; `events` are those of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub futures: Option<Futures<'a>>,
    /// What the loss of each node, zone or group of nodes does, the worst first, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Vec<Loss<'a>>>,
    /// What the nodes carry, by their names.
    pub nodes: BTreeMap<&'a str, LoadedNode>,
    /// Which nodes could be drained, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare: Option<Spare<'a>>,
    /// What became of the pods.
    pub summary: Summary<'a>,
}

/// What holds in several futures, in which equals are chosen differently.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Futures<'a> {
    /// How many futures there are.
    pub count: usize,
    /// The workloads whose pods looked for a node.
    pub workloads: Vec<Future<'a>>,
}

/// What becomes of a workload's pods in several futures.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Future<'a> {
    /// The workload's namespace.
    pub namespace: &'a str,
    /// The nodes its pods get, each with the number of futures.
    pub nodes: &'a BTreeMap<String, usize>,
    /// Its name, or that of a pod without a controller.
    pub owner: &'a str,
    /// In each future, how many of its pods wait at the end.
    pub waiting: &'a [usize],
}

/// What the loss of some nodes does.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Loss<'a> {
    /// The disruption budgets that have fewer healthy pods than they need, as NAMESPACE/NAME.
    pub budgets: &'a [String],
    /// How many pods leave the nodes.
    pub evicted: usize,
    /// The node, the zone, or the label's value.
    pub name: &'a str,
    /// The nodes.
    pub nodes: &'a [String],
    /// The pods that find no place.
    pub waiting: Vec<WaitingPod<'a>>,
}

/// Which nodes could be drained.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spare<'a> {
    /// Whether no larger set exists, where the first of equal nodes is chosen each time; otherwise not every order was tried.
    pub is_largest: bool,
    /// How many nodes could be drained at most: by the room of the nodes alone, where it is not known better.
    pub most: usize,
    /// Those that could be, one after the other, in this order.
    pub nodes: &'a [String],
    /// The others, each with what would prevent its drain once those are drained.
    pub others: BTreeMap<&'a str, &'a str>,
}

/// What happens to a pod.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum EventType {
    /// The eviction API, or a taint, took it off its node.
    Evicted,
    /// The eviction API refused.
    Blocked,
    /// It was deleted.
    Deleted,
    /// It was made.
    Created,
    /// A controller could not make it: the API server refused.
    Refused,
    /// It found a node.
    Scheduled,
    /// It found none.
    Unschedulable,
    /// It had to make room for another pod.
    Preempted,
}

/// Something that happens to a pod.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FutureEvent<'a> {
    /// How long after the moment looked at, in seconds of the simulation's clock.
    pub after_seconds: f64,
    /// The disruption budget that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<&'a str>,
    /// Why, in the words of the scheduler or the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    /// The node it is on or gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<&'a str>,
    /// The pod.
    pub pod: Pod<'a>,
    /// The pod for which it makes room, as NAMESPACE/NAME.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted_by: Option<&'a str>,
    /// Where the scheduler stops before it has seen every node that fits: others might be chosen then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<EventSample>,
    /// The nodes with as many points as the one it gets; for a pod that makes room, those on which room could be made as well.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub tied_with: &'a [String],
    /// What.
    #[serde(rename = "type")]
    pub kind: EventType,
}

/// The nodes among which a pod's node was chosen.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventSample {
    /// How many nodes were found before the scheduler stopped.
    pub found: usize,
    /// How many nodes fit.
    pub fitting: usize,
}

/// A pod.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pod<'a> {
    /// Whether the simulation made it. Its name is then none that an API server gives.
    pub is_new: bool,
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The Deployment, StatefulSet, DaemonSet, Job or other controller whose pod it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'a str>,
}

/// How many more of a workload's pods fit.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fit<'a> {
    /// How many.
    pub count: usize,
    /// Why the next one does not, in the scheduler's words; null where as many fit as are tried.
    pub message: Option<&'a str>,
}

/// What a node carries before and after; null where it is not there.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadedNode {
    /// After.
    pub after: Option<Load>,
    /// Before.
    pub before: Option<Load>,
}

/// What the pods of a node request, and what it offers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Load {
    /// CPU that it offers, in thousandths.
    pub allocatable_cpu: i64,
    /// Memory that it offers, in bytes.
    pub allocatable_memory: i64,
    /// How many pods it takes.
    pub allocatable_pods: i64,
    /// How many pods it has.
    pub pods: i64,
    /// CPU that they request, in thousandths.
    pub requested_cpu: i64,
    /// Memory that they request, in bytes.
    pub requested_memory: i64,
}

/// What became of the pods.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary<'a> {
    /// How many could not be evicted.
    pub blocked: usize,
    /// How many were made.
    pub created: usize,
    /// How many were deleted.
    pub deleted: usize,
    /// How many were evicted.
    pub evicted: usize,
    /// How many had to make room.
    pub preempted: usize,
    /// How many could not be made.
    pub refused: usize,
    /// How many found a node.
    pub scheduled: usize,
    /// The pods that wait for a node at the end.
    pub waiting: Vec<WaitingPod<'a>>,
}

/// A pod that waits at the end.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingPod<'a> {
    /// The scheduler's last message; null where it was not tried again.
    pub message: Option<&'a str>,
    /// The pod.
    pub pod: Pod<'a>,
}

impl<'a> From<&'a answer::SimulatedPod> for Pod<'a> {
    fn from(pod: &'a answer::SimulatedPod) -> Self {
        Self { is_new: pod.is_new, name: &pod.name, namespace: &pod.namespace, owner: pod.owner.as_deref() }
    }
}

impl From<answer::NodeLoad> for Load {
    fn from(load: answer::NodeLoad) -> Self {
        Self {
            allocatable_cpu: load.cpu_of,
            allocatable_memory: load.memory_of,
            allocatable_pods: load.pods_of,
            pods: load.pods,
            requested_cpu: load.cpu,
            requested_memory: load.memory,
        }
    }
}

impl<'a> From<&'a answer::SimulatedEvent> for FutureEvent<'a> {
    fn from(event: &'a answer::SimulatedEvent) -> Self {
        Self {
            after_seconds: event.after as f64 / 1000.0,
            budget: event.budget.as_deref(),
            message: event.message.as_deref(),
            node: event.node.as_deref(),
            pod: (&event.pod).into(),
            preempted_by: event.preempted_by.as_deref(),
            sample: event.sampled.map(|(found, fitting)| EventSample { found, fitting }),
            tied_with: &event.tied_with,
            kind: match event.what {
                answer::Happening::Evicted => EventType::Evicted,
                answer::Happening::Blocked => EventType::Blocked,
                answer::Happening::Deleted => EventType::Deleted,
                answer::Happening::Created => EventType::Created,
                answer::Happening::Refused => EventType::Refused,
                answer::Happening::Scheduled => EventType::Scheduled,
                answer::Happening::Preempted => EventType::Preempted,
                answer::Happening::Unschedulable => EventType::Unschedulable,
            },
        }
    }
}

impl<'a> From<&'a answer::WhatIf> for WhatIf<'a> {
    fn from(answer: &'a answer::WhatIf) -> Self {
        let mut nodes: BTreeMap<&str, LoadedNode> = BTreeMap::new();
        for name in answer.before.keys().chain(answer.after.keys()) {
            let of = |loads: &answer::Loads| loads.get(name).copied().map(Load::from);
            nodes.insert(name, LoadedNode { after: of(&answer.after), before: of(&answer.before) });
        }
        Self {
            actions: &answer.actions,
            caveats: answer.caveats.iter().map(caveat).collect(),
            evaluated_revision: answer.revision,
            events: answer.events.iter().map(FutureEvent::from).collect(),
            fit: answer.fit.as_ref().map(|fit| Fit { count: fit.count, message: fit.message.as_deref() }),
            futures: answer.futures.as_ref().map(Futures::from),
            losses: answer.losses.as_ref().map(|losses| losses.iter().map(Loss::from).collect()),
            nodes,
            spare: answer.spare.as_ref().map(Spare::from),
            summary: Summary::from(answer),
        }
    }
}

impl<'a> From<&'a answer::Futures> for Futures<'a> {
    fn from(futures: &'a answer::Futures) -> Self {
        let of = |future: &'a answer::Future| Future {
            namespace: &future.namespace,
            nodes: &future.nodes,
            owner: &future.owner,
            waiting: &future.waiting,
        };
        Self { count: futures.count, workloads: futures.workloads.iter().map(of).collect() }
    }
}

impl<'a> From<&'a answer::Loss> for Loss<'a> {
    fn from(loss: &'a answer::Loss) -> Self {
        let waiting = loss.waiting.iter().map(|(pod, message)| WaitingPod { message: message.as_deref(), pod: pod.into() }).collect();
        Self { budgets: &loss.budgets, evicted: loss.evicted, name: &loss.name, nodes: &loss.nodes, waiting }
    }
}

impl<'a> From<&'a answer::Spare> for Spare<'a> {
    fn from(spare: &'a answer::Spare) -> Self {
        let others = spare.others.iter().map(|(node, why)| (node.as_str(), why.as_str())).collect();
        Self { nodes: &spare.nodes, others, is_largest: spare.is_largest, most: spare.most }
    }
}

impl<'a> From<&'a answer::WhatIf> for Summary<'a> {
    fn from(answer: &'a answer::WhatIf) -> Self {
        let count = |what: answer::Happening| answer.count(what);
        let waiting = answer.waiting.iter().map(|(pod, message)| WaitingPod { message: message.as_deref(), pod: pod.into() });
        Self {
            blocked: count(answer::Happening::Blocked),
            created: count(answer::Happening::Created),
            deleted: count(answer::Happening::Deleted),
            evicted: count(answer::Happening::Evicted),
            preempted: count(answer::Happening::Preempted),
            refused: count(answer::Happening::Refused),
            scheduled: count(answer::Happening::Scheduled),
            waiting: waiting.collect(),
        }
    }
}

//! The JSON of `timeline`.

use schemars::JsonSchema;
use serde::Serialize;

use super::change::ObjectChange;
use super::common::{ActorFrom, Subject, Time};
use super::window::HistoryWindow;

/// What `timeline` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Timelines<'a> {
    /// `-o json` of several objects.
    List(TimelineList<'a>),
    /// `-o json` of one object, and each line of `-o ndjson`: a timeline.
    Timeline(Box<Timeline<'a>>),
}

/// Several timelines.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimelineList<'a> {
    /// The timelines.
    pub items: Vec<Timeline<'a>>,
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
}

/// The timeline of one object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timeline<'a> {
    /// Every readable change of it.
    pub changes: Vec<ObjectChange<'a>>,
    /// Whether the readable history holds it from its creation on, without gaps.
    pub complete: bool,
    /// When a node was closed to new pods; absent for other kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cordons: Option<Vec<Cordon<'a>>>,
    /// How it came to be deleted; null where it was not.
    pub deletion: Option<Deletion<'a>>,
    /// The Kubernetes Events about it.
    pub events: Vec<Event<'a>>,
    /// Where versions are missing.
    pub gaps: Vec<VersionGap<'a>>,
    /// Which object it is.
    pub object: Subject<'a>,
    /// The oldest revision that is readable.
    pub oldest_readable_revision: i64,
    /// Whether one version of the object is all that is known: then phases have the times that the object itself carries.
    pub one_moment: bool,
    /// When a node was lost; absent for other kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Vec<Outage<'a>>>,
    /// What happened to it, oldest first.
    pub phases: Vec<Phase<'a>>,
    /// The phases of objects that belong to it.
    pub related: Vec<Related<'a>>,
    /// The rollouts of a Deployment, StatefulSet or DaemonSet, oldest first.
    pub rollouts: Vec<Rollout<'a>>,
    /// Whether it is gone though no readable version shows its deletion.
    pub vanished: bool,
    /// Pods that keep it waiting; absent for pods and nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Vec<Waiting<'a>>>,
    /// The stretch of history that was asked for, in `-o json` of one object; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
}

/// Something that happened to an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Phase<'a> {
    /// Who did it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who did it.
    pub by_from: Option<ActorFrom>,
    /// More about it; may be empty. For people: the words are not part of the contract.
    pub detail: String,
    /// True where the revision is a free one of its time, as an audit log alone does not name the one that etcd has; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_placed: bool,
    /// Whether it took longest of all, counted from the phase before.
    pub longest: bool,
    /// What happened, such as `Created`, `Scheduled`, `Ready`, `Deleted`.
    pub phase: &'a str,
    /// The revision that shows it.
    pub revision: i64,
    /// Seconds since the phase before; null where either cannot be dated.
    pub since_previous_seconds: Option<f64>,
    /// When the revision was written; null where nothing dates it.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
}

/// A place where versions are missing.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionGap<'a> {
    /// The last readable revision before it; null where the readable history begins with the gap.
    pub after_revision: Option<i64>,
    /// How the object stood after the gap. For people: the words are not part of the contract.
    pub then: &'a str,
    /// The first readable revision after it.
    pub until_revision: i64,
}

/// A Kubernetes Event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event<'a> {
    /// How often it happened.
    pub count: i64,
    /// When it happened first; null where the Event does not record it.
    pub first_time: Option<Time>,
    /// The Event's message.
    pub message: &'a str,
    /// What it is about; its uid is empty where the Event does not say it.
    pub object: Subject<'a>,
    /// The Event's reason, such as `FailedScheduling`.
    pub reason: &'a str,
    /// The revision of its last version.
    pub revision: i64,
    /// The component that reported it, with its node where it has one.
    pub source: &'a str,
    /// When it happened last, by the reporter's clock; null where the Event does not record it.
    pub time: Option<Time>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind: &'a str,
}

/// How an object came to be deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deletion<'a> {
    /// The revision in which deletion was requested; for an object without grace period and finalizers, the one that deleted it.
    pub asked_revision: i64,
    /// When that revision was written; null where nothing dates it.
    pub asked_time: Option<Time>,
    /// Who caused it: `eviction`, `preemption`, `namespace`, `cascade`, `scale down`, `garbage collection`, `TTL`, `direct`, or `unknown`.
    pub chain: &'a str,
    /// The evidence for that. For people: the words are not part of the contract.
    pub evidence: &'a str,
    /// The finalizers that held it.
    pub finalizers: Vec<Finalizer<'a>>,
    /// The revision in which it was gone; null while it is still there, and where no readable version shows it.
    pub gone_revision: Option<i64>,
    /// When that revision was written; null where nothing dates it.
    pub gone_time: Option<Time>,
    /// The revision at which its last manifest can be read.
    pub last_manifest_revision: i64,
    /// Whether it is gone though no readable version shows when.
    pub vanished: bool,
}

/// A finalizer that held an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finalizer<'a> {
    /// Seconds from the request to its removal; null while it is there, and where either cannot be dated.
    pub held_seconds: Option<f64>,
    /// Its name.
    pub name: &'a str,
    /// The revision that removed it; null while it is there.
    pub removed_revision: Option<i64>,
}

/// A rollout: from one pod template to the next.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout<'a> {
    /// Who set the template; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who it was.
    pub by_from: Option<ActorFrom>,
    /// What changed in the template, or its images where it is the first. For people: the words are not part of the contract.
    pub change: String,
    /// The annotation `kubernetes.io/change-cause`; null where it is not set.
    pub change_cause: Option<&'a str>,
    /// The revision in which it ended; null while it continues.
    pub end_revision: Option<i64>,
    /// The number or name that the controller gave it; null where it gave none.
    pub number: Option<&'a str>,
    /// How it ended; null while it continues.
    pub outcome: Option<RolloutEnd>,
    /// The revision that set the template.
    pub revision: i64,
    /// How long it took, in seconds; null while it continues, and where either end cannot be dated.
    pub seconds: Option<f64>,
    /// Why it is stuck, in the controller's words; null where its deadline did not pass.
    pub stuck: Option<String>,
    /// When `revision` was written; null where nothing dates it.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// Whether it brought an earlier template back.
    pub undo: bool,
}

/// How a rollout ended.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum RolloutEnd {
    /// All replicas are of the template, and available.
    RolledOut,
    /// The next rollout began before.
    Superseded,
    /// The workload was deleted before.
    Deleted,
}

mirrored!(ketcd_history::timeline::RolloutEnd => RolloutEnd: RolledOut, Superseded, Deleted; _);

/// An object that belongs to the timeline's.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Related<'a> {
    /// Whether the readable history holds it from its creation on, without gaps.
    pub complete: bool,
    /// Which object it is.
    pub object: Subject<'a>,
    /// What happened to it, oldest first.
    pub phases: Vec<Phase<'a>>,
}

/// A pod that keeps a workload waiting.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting<'a> {
    /// More about it; may be empty. For people: the words are not part of the contract.
    pub detail: String,
    /// The pod.
    pub object: Subject<'a>,
    /// What it waits in, such as `Refused` or `Waiting`.
    pub phase: &'a str,
    /// The revision that shows it.
    pub since_revision: i64,
    /// When that revision was written; null where nothing dates it.
    pub since_time: Option<Time>,
}

/// A time without heartbeats of a node's kubelet.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outage<'a> {
    /// The pods that were evicted or deleted meanwhile, and what became of them.
    pub evicted: Vec<PodFate<'a>>,
    /// Seconds from the taint to the first eviction; null where there was none, and where either cannot be dated.
    pub evicted_after_taint_seconds: Option<f64>,
    /// The revision of the last heartbeat; where leases are not readable, the one that shows its loss.
    pub from_revision: i64,
    /// When that revision was written; null where nothing dates it.
    pub from_time: Option<Time>,
    /// Seconds from there to `lostRevision`; null where either cannot be dated.
    pub lost_after_seconds: Option<f64>,
    /// The revision in which the control plane marked the node's condition as unknown.
    pub lost_revision: i64,
    /// Seconds from `fromRevision` to `untilRevision`; null while the outage continues, and where either cannot be dated.
    pub seconds: Option<f64>,
    /// The pods that stayed on it.
    pub stayed: Vec<Stayed<'a>>,
    /// The revision that set the taint that evicts pods; null where none was set.
    pub tainted_revision: Option<i64>,
    /// The revision of the first sign of life after it; null while the outage continues.
    pub until_revision: Option<i64>,
}

/// A pod that stayed on a lost node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stayed<'a> {
    /// The pod.
    pub object: Subject<'a>,
    /// The revision in which it was ready again; null where it was not.
    pub ready_revision: Option<i64>,
}

/// A time in which a node took no new pods.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cordon<'a> {
    /// Who cordoned it; null where the data does not show it.
    pub by: Option<String>,
    /// The revision that cordoned it.
    pub from_revision: i64,
    /// When that revision was written; null where nothing dates it.
    pub from_time: Option<Time>,
    /// The pods that left it meanwhile, and what became of them.
    pub left: Vec<PodFate<'a>>,
    /// How long it lasted, in seconds; null while it does, and where either end cannot be dated.
    pub seconds: Option<f64>,
    /// The revision that ended it; null while it lasts.
    pub until_revision: Option<i64>,
}

/// What became of a pod that left its node.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PodFate<'a> {
    /// What became of it.
    pub fate: Fate,
    /// The pod.
    pub object: Subject<'a>,
    /// The pod that replaced it; null where none did.
    pub replacement: Option<Replacement<'a>>,
}

/// What became of a pod.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum Fate {
    /// Another pod replaced it.
    Replaced,
    /// It had finished.
    Ended,
    /// It has a controller, which did not replace it in the readable history.
    NotReplaced,
    /// It has no controller that could replace it.
    NoController,
}

/// A pod that replaced another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Replacement<'a> {
    /// Its node; null where it has none.
    pub node: Option<&'a str>,
    /// The pod.
    pub object: Subject<'a>,
}

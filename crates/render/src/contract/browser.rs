//! The JSON behind the page that `ui` and `serve --ui` give: what each question of the page is answered with.

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use ketcd_history::clock::Dated;
use ketcd_store::Revision;

use super::change::ChangeType;
use super::common::{ActorFrom, PatchOperation, Time};
use super::timeline::Timeline;
use super::triage::Triage;
use crate::explanation::json::Document;

/// What the page's questions are answered with.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PageAnswers")]
pub enum Answers<'a> {
    /// `/ui/api/window`.
    Window(Box<Window>),
    /// `/ui/api/findings`.
    Findings(Box<Findings<'a>>),
    /// `/ui/api/rows`.
    Rows(Box<Rows>),
    /// `/ui/api/object`.
    Object(Box<ObjectView>),
    /// `/ui/api/history`.
    History(Box<History>),
    /// `/ui/api/diff`.
    Diff(Box<Diff>),
    /// `/ui/api/timeline`.
    Timeline(Box<TimelineView>),
    /// `/ui/api/decision`.
    Decision(Box<DecisionView>),
    /// `/ui/api/node`.
    Node(Box<NodeView>),
    /// `/ui/api/changed`.
    Changed(Box<Changed>),
}

/// A revision, and when it was written.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageMoment")]
pub struct Moment {
    /// The revision.
    pub revision: i64,
    /// When; null where nothing dates it.
    pub time: Option<Time>,
    /// The same in milliseconds since 1970.
    pub ms: Option<i64>,
}

impl Moment {
    /// A revision with its time.
    pub fn new(revision: Revision, time: Option<jiff::Timestamp>) -> Self {
        Self { revision: revision.0, time: time.map(Time), ms: time.map(jiff::Timestamp::as_millisecond) }
    }

    /// A revision as a clock dates it.
    pub fn dated(revision: Revision, dated: Option<Dated>) -> Self {
        Self::new(revision, dated.map(|dated| dated.time))
    }
}

/// An object.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "PageName")]
pub struct Name {
    /// How it is named to ketcd: `pod/web/tomcat-1`.
    pub address: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid; empty where it is not known.
    pub uid: String,
}

/// A state: how it should strike the reader, and its words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageState")]
pub struct State {
    /// `good`, `working`, `waiting`, `bad`, `ending`, `done` or `neutral`.
    pub tone: &'static str,
    /// In Kubernetes' own words where it has some; may be empty.
    pub label: String,
}

impl From<&ketcd_history::state::State> for State {
    fn from(state: &ketcd_history::state::State) -> Self {
        Self { tone: state.tone.as_str(), label: state.label.to_string() }
    }
}

/// What can be looked at: the whole axis of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageWindow")]
pub struct Window {
    /// The version of these answers.
    pub api: u32,
    /// The moment that was asked for: where the cursor begins.
    pub asked: Moment,
    /// A command that prints about the same.
    pub command: String,
    /// How many changes there were over time; null where nothing is dated.
    pub density: Option<Density>,
    /// The first revision that can be looked at.
    pub first: Moment,
    /// Stretches of which nothing can be read.
    pub gaps: Vec<Gap>,
    /// The kinds of the objects, by name.
    pub kinds: Vec<KindCount>,
    /// The newest revision.
    pub last: Moment,
    /// Whether the source goes on.
    pub live: bool,
    /// The namespaces, as far as there are no more than 1,000.
    pub namespaces: Vec<String>,
    /// What the reader must know of the data, one sentence each.
    pub notes: Vec<String>,
    /// How many objects there ever were: without Events and leases.
    pub objects: usize,
    /// Whether it is the state of one moment, without a history.
    pub one_moment: bool,
    /// When nodes were broken or silent.
    pub outages: Vec<Outage>,
    /// How many nodes were not looked at for that.
    pub outages_left: usize,
    /// How far the history reaches back, in words.
    pub reach: String,
    /// The release of Kubernetes.
    pub release: String,
    /// Where the data comes from.
    pub source: String,
}

/// How many changes there were in each of equal stretches of time: Events and leases are left out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageDensity")]
pub struct Density {
    /// Where the first begins, in milliseconds since 1970.
    pub from: i64,
    /// How long each is, in milliseconds.
    pub width: i64,
    /// The number of changes in each.
    pub counts: Vec<usize>,
}

/// A stretch of revisions of which nothing can be read, both ends included.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageGap")]
pub struct Gap {
    /// The first.
    pub from_revision: i64,
    /// The last.
    pub to_revision: i64,
    /// When it begins, in milliseconds since 1970; null where nothing dates it.
    pub from: Option<i64>,
    /// When it ends.
    pub to: Option<i64>,
    /// Why, in words.
    pub why: String,
}

/// How many objects there are of a kind.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageKind")]
pub struct KindCount {
    /// The kind.
    pub kind: String,
    /// How many objects there ever were.
    pub count: usize,
}

/// When a node was broken or silent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageOutage")]
pub struct Outage {
    /// The node, as it is named to ketcd.
    pub address: String,
    /// Its name.
    pub name: String,
    /// Since when, in milliseconds since 1970.
    pub from: i64,
    /// Until when; null while it lasts.
    pub to: Option<i64>,
}

/// What is wrong at the cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageFindings")]
pub struct Findings<'a> {
    /// The command that prints it.
    pub command: String,
    /// The cursor.
    pub moment: Moment,
    /// Where the findings are, by their ids.
    pub places: std::collections::BTreeMap<String, Place>,
    /// What `triage -o json` prints.
    pub triage: Triage<'a>,
}

/// Where a finding is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PagePlace")]
pub struct Place {
    /// Since when, in milliseconds since 1970; null where the data do not show it.
    pub from: Option<i64>,
    /// Its objects, at most 50.
    pub objects: Vec<Name>,
    /// The cursor's time, or null where it lasts at the end of the data.
    pub to: Option<i64>,
    /// What became of it by the newest revision: `lasts` or `over`.
    pub turned_out: &'static str,
}

/// Rows of a window.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageRows")]
pub struct Rows {
    /// A command that prints about the same.
    pub command: String,
    /// What was counted.
    pub counts: RowCounts,
    /// Where the window begins.
    pub from: Moment,
    /// By what rows are grouped: `namespace`, `owner`, `node` or `none`.
    pub group: &'static str,
    /// The groups that have rows, the busiest first.
    pub groups: Vec<RowGroup>,
    /// How many groups there was no room for.
    pub groups_left: usize,
    /// The group that was asked for; null for all.
    #[serde(rename = "in")]
    pub within: Option<String>,
    /// Whether a filter that reads objects looked at some of them only.
    pub is_cut: bool,
    /// How many rows come before these.
    pub offset: usize,
    /// The rows; without a group none where there are too many.
    pub rows: Vec<Row>,
    /// Where it ends.
    pub to: Moment,
    /// How many rows there are in all, of the group or of all.
    pub total: usize,
}

/// How many objects there were in a window, and why some have no row.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageCounts")]
pub struct RowCounts {
    /// How many of those with rows were deleted by the end of the window.
    pub deleted: usize,
    /// Those that the filter hides.
    pub filtered: usize,
    /// Those with rows.
    pub matching: usize,
    /// All.
    pub objects: usize,
    /// Those without rows because nothing happened to them.
    pub quiet: usize,
}

/// A group of rows.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageGroup")]
pub struct RowGroup {
    /// How many changes its rows have.
    pub changes: usize,
    /// What `in` takes.
    pub id: String,
    /// How many objects of it have no row because nothing happened to them.
    pub quiet: usize,
    /// How many rows it has.
    pub rows: usize,
    /// What it is called.
    pub title: String,
    /// The worst state at the end of the window; null where its objects were not read.
    pub tone: Option<&'static str>,
}

/// A state over time: from when, to when (null: to the end), its tone, its label.
pub type Bar = (Option<i64>, Option<i64>, &'static str, String);
/// A change: when, `+`, `~` or `-`, what happened, its revision, how many it stands for.
pub type Tick = (i64, &'static str, String, i64, usize);
/// An Event: when, its reason, whether it warns, how many it stands for.
pub type EventMark = (i64, String, bool, usize);

/// An object through a window. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "PageRow")]
pub struct Row {
    /// Which object.
    #[serde(flatten)]
    pub object: Name,
    /// How many scheduling decisions about it the window has.
    pub attempts: usize,
    /// Its states.
    pub bars: Vec<Bar>,
    /// When it was created; null where nothing shows it.
    pub begin: Option<i64>,
    /// How many changes of it the window has.
    pub changes: usize,
    /// How many owners stand above it.
    pub depth: usize,
    /// When it was deleted, or was gone at the latest; null while it is there.
    pub end: Option<i64>,
    /// The Events about it.
    pub events: Vec<EventMark>,
    /// Its group.
    pub group: String,
    /// The node of a pod.
    pub node: Option<String>,
    /// Its state at the cursor; null where it was not there.
    pub now: Option<State>,
    /// Its controller or first owner, as it is named to ketcd.
    pub owner: Option<String>,
    /// When its first readable version was written.
    pub readable: Option<i64>,
    /// Its changes.
    pub ticks: Vec<Tick>,
    /// Whether it is gone though no readable version shows its deletion.
    pub vanished: bool,
}

/// An object at the cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageObject")]
pub struct ObjectView {
    /// The command that prints it.
    pub command: String,
    /// Why it cannot be decoded; null where it can.
    pub error: Option<String>,
    /// The Events about it, the newest 200.
    pub events: Vec<EventLine>,
    /// It as YAML.
    pub lines: Vec<Line>,
    /// The cursor.
    pub moment: Moment,
    /// Which object.
    pub name: Name,
    /// The object, whose fields are Kubernetes' own; null where it cannot be decoded.
    pub object: Option<Value>,
    /// What it owns, at most 200.
    pub owned: Vec<Related>,
    /// How many more it owns.
    pub owned_left: usize,
    /// Its owners, the nearest first.
    pub owners: Vec<Related>,
    /// What it refers to.
    pub refers_to: Vec<Related>,
    /// Who set its lines.
    pub setters: Vec<Setter>,
    /// `there`, `deleted` (then the last version is shown), `notYet` or `unreadable`.
    pub state: &'static str,
    /// The version that is shown.
    pub version: Option<Moment>,
}

/// A line of YAML.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageLine")]
pub struct Line {
    /// The line.
    pub text: String,
    /// Who set it: a place in `setters`.
    pub set: usize,
}

/// Who set something, and when.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageSetter")]
pub struct Setter {
    /// Who; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known.
    pub by_from: Option<ActorFrom>,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The request of an audit log, in words; null where no log says.
    pub request: Option<String>,
    /// The revision; null where that is older than the readable history.
    pub revision: Option<i64>,
    /// When.
    pub time: Option<Time>,
}

/// An object that another one has to do with.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageRelated")]
pub struct Related {
    /// Which object.
    #[serde(flatten)]
    pub object: Name,
    /// Whether it is there at the cursor.
    pub found: bool,
    /// What leads to it: `controller`, `owner`, or the field that names it.
    pub via: String,
}

/// A Kubernetes Event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageEvent")]
pub struct EventLine {
    /// How often it happened.
    pub count: i64,
    /// Its message.
    pub message: String,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// Its reason.
    pub reason: String,
    /// The revision of this version of it.
    pub revision: i64,
    /// The component that reported it.
    pub source: String,
    /// When.
    pub time: Option<Time>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// The versions of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageHistory")]
pub struct History {
    /// The command that prints them.
    pub command: String,
    /// How many earlier ones are left out.
    pub left: usize,
    /// Which object.
    pub name: Name,
    /// The versions, oldest first.
    pub versions: Vec<Version>,
}

/// A version of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageVersion")]
pub struct Version {
    /// Who made it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known.
    pub by_from: Option<ActorFrom>,
    /// Why it cannot be decoded; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How far the time may be off, in seconds.
    pub error_seconds: Option<f64>,
    /// What happened, in words.
    pub label: String,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The whole object, of the first version and after a gap; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    /// A JSON Patch (RFC 6902) from the version before; absent where the object is whole, deleted or unreadable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
    /// The request of an audit log, in words; null where no log says.
    pub request: Option<String>,
    /// The revision.
    pub revision: i64,
    /// When.
    pub time: Option<Time>,
    /// What happened to the key.
    #[serde(rename = "type")]
    pub kind: ChangeType,
}

/// What differs between two versions of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageDiff")]
pub struct Diff {
    /// The second as YAML; null where it is not there.
    pub after: Option<String>,
    /// The first as YAML; null where it is not there.
    pub before: Option<String>,
    /// Who changed it in between, oldest first.
    pub by: Vec<Setter>,
    /// The command that prints it.
    pub command: String,
    /// The fields that differ.
    pub fields: Vec<FieldDifference>,
    /// The first moment.
    pub from: Moment,
    /// Which object.
    pub name: Name,
    /// The second moment.
    pub to: Moment,
}

/// A field that differs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageField")]
pub struct FieldDifference {
    /// Its value after; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Its value before; absent where it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// Where it is, list items by their keys.
    pub path: String,
    /// Whether it is bookkeeping.
    pub quiet: bool,
}

/// What happened to an object.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageTimelines")]
pub struct TimelineView {
    /// The command that prints it.
    pub command: String,
    /// The cursor: what came later is left out.
    pub moment: Moment,
    /// What `timeline -o json` prints, without the changes.
    #[schemars(with = "Vec<Timeline<'static>>")]
    pub timelines: Vec<Value>,
}

/// A scheduling decision.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageDecision")]
pub struct DecisionView {
    /// The command that prints it.
    pub command: String,
    /// What `explain -o json` prints, with at most 200 nodes: the chosen one, the best others, then those that were refused.
    #[schemars(with = "Document<'static>")]
    pub decision: Value,
    /// The refusals before it, oldest first.
    pub earlier: Vec<Refusal>,
    /// The cursor.
    pub moment: Moment,
    /// The pod.
    pub name: Name,
    /// How many nodes there are.
    pub nodes_in_all: usize,
    /// How many of them are left out of `decision`.
    pub nodes_left: usize,
    /// The columns of the matrix, in their order.
    pub plugins: PluginNames,
    /// Why nodes were refused, the commonest first.
    pub reasons: Vec<ReasonCount>,
    /// The best node that was not chosen.
    pub runner_up: Option<String>,
}

/// The plugins of a decision.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "PagePlugins")]
pub struct PluginNames {
    /// Those that filter.
    pub filters: Vec<String>,
    /// Those that score.
    pub scores: Vec<String>,
}

/// How many nodes were refused for a reason.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageReason")]
pub struct ReasonCount {
    /// Some of them.
    pub examples: Vec<String>,
    /// How many.
    pub nodes: usize,
    /// The plugin that refused them; null where they fit.
    pub plugin: Option<String>,
    /// The reason.
    pub reason: String,
}

/// A refusal.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageRefusal")]
pub struct Refusal {
    /// The recorded message.
    pub message: Option<String>,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The revision that shows it.
    pub revision: i64,
}

/// A node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageNode")]
pub struct NodeView {
    /// The command that prints it.
    pub command: String,
    /// Its conditions.
    pub conditions: Vec<NodeCondition>,
    /// Its last signs of life.
    pub heartbeat: Heartbeat,
    /// The cursor.
    pub moment: Moment,
    /// Which node.
    pub name: Name,
    /// The pods that were on it in the window, at most 500.
    pub pods: Vec<Row>,
    /// How many more there were.
    pub pods_left: usize,
    /// What its pods request, against what it has.
    pub resources: Vec<NodeResource>,
    /// Its state; null where it was not there.
    pub state: Option<State>,
    /// Its taints.
    pub taints: Vec<NodeTaint>,
    /// Whether it is closed to new pods.
    pub unschedulable: bool,
}

/// A condition of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageCondition")]
pub struct NodeCondition {
    /// Kubernetes' own message.
    pub message: String,
    /// The reason.
    pub reason: String,
    /// Since when it has the status.
    pub since: Option<String>,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A taint of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageTaint")]
pub struct NodeTaint {
    /// Its effect.
    pub effect: String,
    /// Its key.
    pub key: String,
    /// Since when, where it says so.
    pub since: Option<String>,
    /// Its value; may be empty.
    pub value: String,
}

/// A resource of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageResource")]
pub struct NodeResource {
    /// How much pods may take.
    pub allocatable: String,
    /// The resource.
    pub name: String,
    /// How much of it is requested, in percent; null where there is none.
    pub percent: Option<f64>,
    /// How much its pods request.
    pub requested: String,
}

/// The last signs of life of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageHeartbeat")]
pub struct Heartbeat {
    /// The last renewal of its lease; null where none can be read.
    pub lease: Option<String>,
    /// The newest heartbeat of its conditions.
    pub status: Option<String>,
}

/// What changed between two moments.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageChanged")]
pub struct Changed {
    /// What somebody did, by author, the author of most first.
    pub authors: Vec<Author>,
    /// The command that prints it.
    pub command: String,
    /// The first moment.
    pub from: Moment,
    /// How many interventions are left out.
    pub interventions_left: usize,
    /// How the two states differ, by kind and namespace.
    pub kinds: Vec<KindDifference>,
    /// The second moment.
    pub to: Moment,
}

/// What one author did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageAuthor")]
pub struct Author {
    /// Who; null where it is not known.
    pub by: Option<String>,
    /// How that is known.
    pub by_from: Option<ActorFrom>,
    /// How many interventions.
    pub changes: usize,
    /// They, oldest first.
    pub items: Vec<Intervention>,
}

/// What somebody did to an object.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageIntervention")]
pub struct Intervention {
    /// Which object.
    #[serde(flatten)]
    pub object: Name,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The revision.
    pub revision: i64,
    /// When.
    pub time: Option<Time>,
    /// What, in words.
    pub what: String,
}

/// How many objects of a kind and a namespace differ.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "PageDifference")]
pub struct KindDifference {
    /// How many are new.
    pub added: usize,
    /// How many differ in bookkeeping alone.
    pub bookkeeping: usize,
    /// How many differ.
    pub changed: usize,
    /// How many are gone.
    pub deleted: usize,
    /// The kind.
    pub kind: String,
    /// The first 20 of them.
    pub names: Vec<Name>,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
}

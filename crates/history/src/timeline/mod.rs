//! Stories: what happened to an object, when, by whom, and how long each step took, read from its successive versions alone.
//!
//! A step is reported only where two neighbouring versions show it. Where versions are missing, the gap is reported and nothing is guessed.

mod autoscaler;
mod builder;
mod deletion;
mod deployment;
mod generic;
mod heartbeat;
mod network;
mod node;
mod note;
mod one_moment;
mod outage;
mod pod;
mod resize;
mod rollout;
mod step_detail;
mod step_detector;
mod step_kind;
mod step_parts;
mod storage;
mod story;
mod workload;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::actor::Actor;
use super::change::AttributedChange;
use super::clock::Dated;
use ketcd_kube::{Object, condition};
use ketcd_store::Revision;

pub use builder::TimelineBuilder;
pub use deletion::{Deletion, Finalizer};
pub use note::{Note, Notes};
pub use one_moment::phases as phases_of_one_moment;
pub use outage::{Cordon, Fate, Outage, Replacement};
pub use rollout::{Rollout, RolloutEnd, Undo};
pub use step_detail::StepDetail;
pub use step_detector::StepDetector;
pub use step_kind::StepKind;
pub use step_parts::{
    ContainerExit, CreatedAs, DeviceName, Edit, FieldEdit, ResourceChange, StatusReason, Taint, TemplateChange, TemplateEdit, Utilization,
};
pub use story::Story;

/// A step as one change shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What happened, for example [`StepKind::Scheduled`].
    pub phase: StepKind,
    /// More about it.
    pub detail: StepDetail,
}

impl Step {
    fn new(phase: StepKind, detail: impl Into<StepDetail>) -> Self {
        Self { phase, detail: detail.into() }
    }
}

/// A step with its place in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// What happened, for example [`StepKind::Scheduled`].
    pub phase: StepKind,
    /// The revision that shows it.
    pub revision: Revision,
    /// When.
    pub dated: Option<Dated>,
    /// By whom.
    pub by: Option<Actor>,
    /// More about it.
    pub detail: StepDetail,
    /// Whether it took longest of all, counted from the phase before.
    pub longest: bool,
}

/// A place where versions are missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The last revision of the object that is readable before the gap; `None` where the readable history begins with it.
    pub after: Option<Revision>,
    /// The first readable one after it.
    pub until: Revision,
    /// When that was written.
    pub dated: Option<Dated>,
    /// How the object stood then, in a few words.
    pub state: String,
}

/// The object that a timeline is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// `Pod`, …
    pub kind: String,
    /// Empty where cluster-scoped.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Of the last incarnation; empty where no version can be read.
    pub uid: String,
}

impl Subject {
    /// The subject that an object is.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
        }
    }
}

/// A pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The node's name.
    pub node: String,
    /// The pod's uid: names of StatefulSets' pods are given again.
    pub uid: String,
    /// The first readable revision that shows it there.
    pub since: Revision,
}

/// What happened to one object.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Whose.
    pub subject: Subject,
    /// Every uid the name has had: it is given again after a deletion.
    pub uids: Vec<String>,
    /// The uid of its controlling owner; empty where it has none.
    pub owner: String,
    /// Whether the readable history holds it from its creation on, without gaps.
    pub complete: bool,
    /// Whether it comes from one version of the object alone, as files of objects hold it: phases have the times that the object itself carries,
    /// and all of them the revision of that version.
    pub one_moment: bool,
    /// Whether it is gone though no readable version shows its deletion.
    pub vanished: bool,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// A workload's rollouts, oldest first.
    pub rollouts: Vec<Rollout>,
    /// The nodes on which a pod of this name has been, oldest first.
    pub placements: Vec<Placement>,
    /// What is missing.
    pub gaps: Vec<Gap>,
    /// The changes themselves, where they were requested.
    pub changes: Vec<AttributedChange>,
    /// Kubernetes Events about it, in order of their last time.
    pub notes: Vec<Note>,
    /// The last version that can be read, unless it was deleted since: then the one before.
    pub last: Option<Arc<Object>>,
    /// The revision of its last change.
    pub until: Option<Revision>,
}

impl Timeline {
    /// The owner that controls the object, without its uid; `None` where it has none.
    pub fn controlled_by(&self) -> Option<Subject> {
        let owner = controller(self.last.as_ref()?)?;
        let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
        // Nodes alone own what has a namespace without having one.
        let namespace = if owner["kind"] == "Node" { String::new() } else { self.subject.namespace.clone() };
        Some(Subject { kind: text("kind"), namespace, name: text("name"), uid: String::new() })
    }

    /// Leaves only what happened within `window` seconds of `center`, as far as the clock shows.
    pub fn keep_around(&mut self, center: jiff::Timestamp, window: f64) {
        let near =
            |dated: Option<Dated>| dated.is_some_and(|dated| dated.time.duration_since(center).as_secs_f64().abs() <= window + dated.error);
        self.phases.retain(|phase| near(phase.dated));
        self.gaps.retain(|gap| near(gap.dated));
        self.changes.retain(|change| near(change.dated));
        self.notes.retain(|note| near(note.dated));
    }

    /// Whether the object is gone at the end of the readable history.
    pub fn is_gone(&self) -> bool {
        self.vanished || self.phases.last().is_some_and(|last| last.phase == StepKind::Deleted)
    }

    /// Adds phases that other objects show.
    fn weave(&mut self, phases: Vec<Phase>) {
        self.phases.extend(phases);
        if self.one_moment {
            self.phases.sort_by_key(|phase| phase.dated.map(|dated| dated.time));
        } else {
            self.phases.sort_by_key(|phase| phase.revision);
        }
        mark_longest(&mut self.phases);
    }
}

/// How an object stands, in a few words.
pub fn state(object: &Value) -> String {
    let status = &object["status"];
    let phase = status["phase"].as_str().map(str::to_owned);
    let node = object["spec"]["nodeName"].as_str().map(|node| format!("on {node}"));
    let ready = condition(object, "Ready").and_then(|ready| ready["status"].as_str()).map(|ready| format!("Ready {ready}"));
    let deleting = object["metadata"]["deletionTimestamp"].as_str().map(|_| "being deleted".to_owned());
    let words: Vec<String> = [phase, node, ready, deleting].into_iter().flatten().collect();
    if words.is_empty() { "readable from here on".to_owned() } else { words.join(", ") }
}

fn mark_longest(phases: &mut [Phase]) {
    phases.iter_mut().for_each(|phase| phase.longest = false);
    let lengths = phases.windows(2).map(|pair| match (pair[0].dated, pair[1].dated) {
        (Some(from), Some(to)) => to.time.duration_since(from.time),
        _ => jiff::SignedDuration::ZERO,
    });
    let longest = lengths.enumerate().max_by_key(|(_, length)| *length).filter(|(_, length)| length.is_positive());
    if let Some((place, _)) = longest.filter(|_| phases.len() > 2) {
        phases[place + 1].longest = true;
    }
}

/// The owner that controls an object.
fn controller(object: &Value) -> Option<&Value> {
    object["metadata"]["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)
}

/// A condition's status where it differs from the version before: `(before, after)`, empty where there was none.
fn turned<'a>(before: Option<&'a Value>, after: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a Value)> {
    let now = condition(after, kind)?;
    let status = |condition: &'a Value| condition["status"].as_str().unwrap_or_default();
    let then = before.and_then(|before| condition(before, kind)).map(status).unwrap_or_default();
    (then != status(now)).then(|| (then, status(now), now))
}

/// The reason and message of a condition or state.
fn why(value: &Value) -> StatusReason {
    let text = |field: &str| value[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    StatusReason { reason: text("reason"), message: text("message") }
}

/// A condition as a step tells it.
fn condition_detail(condition: &Value) -> StepDetail {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    StepDetail::Condition { kind: text("type"), status: text("status"), reason: why(condition) }
}

/// A list of the object's status or spec.
fn items<'a>(object: Option<&'a Value>, field: [&str; 2]) -> &'a [Value] {
    object.and_then(|object| object[field[0]][field[1]].as_array()).map(Vec::as_slice).unwrap_or_default()
}

/// The items of a list by one of their fields: of a long list each is found without a look at all others. Of items that share a value the first counts.
struct ByField<'a>(HashMap<&'a Value, &'a Value>);

impl<'a> ByField<'a> {
    fn new(list: &'a [Value], field: &str) -> Self {
        let mut items = HashMap::with_capacity(list.len());
        for item in list {
            items.entry(&item[field]).or_insert(item);
        }
        Self(items)
    }

    fn named(list: &'a [Value]) -> Self {
        Self::new(list, "name")
    }

    fn find(&self, value: &Value) -> Option<&'a Value> {
        self.0.get(value).copied()
    }
}

#[cfg(test)]
mod tests;

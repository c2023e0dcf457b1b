//! Stories: what happened to an object, when, by whom, and how long each step took, read from its successive versions alone.
//!
//! A step is told only where two neighbouring versions show it. Where versions are missing, the gap is told and nothing is put into it.

mod deletion;
mod deployment;
mod generic;
mod heartbeat;
mod node;
mod note;
mod pod;
mod resize;
mod storage;
mod story;
mod workload;

use serde_json::Value;

use super::actor::Actor;
use super::change::{Change, ChangeKind, Told, Version};
use super::clock::Dated;
use crate::store::Revision;

pub use deletion::{Deletion, Finalizer};
pub use node::{Outage, Replacement};
pub use note::{Note, Notes};
pub use story::Story;

/// A step as one change shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name, for example `Scheduled`.
    pub phase: &'static str,
    /// More, in words; may be empty.
    pub detail: String,
}

impl Step {
    fn new(phase: &'static str, detail: impl Into<String>) -> Self {
        Self { phase, detail: detail.into() }
    }
}

/// A step with its place in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name, for example `Scheduled`.
    pub phase: &'static str,
    /// The revision that shows it.
    pub revision: Revision,
    /// When.
    pub dated: Option<Dated>,
    /// By whom.
    pub by: Option<Actor>,
    /// More, in words; may be empty.
    pub detail: String,
    /// Whether it took longest of all, counted from the phase before.
    pub longest: bool,
}

/// A place where versions are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last revision of the object that is readable before the gap; `None` where the readable history begins with it.
    pub after: Option<Revision>,
    /// The first readable one after it.
    pub until: Revision,
    /// How the object stood then, in a few words.
    pub state: String,
}

/// Whose story it is.
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

/// The story of one object.
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
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// What is missing.
    pub gaps: Vec<Gap>,
    /// The changes themselves, where they were asked for.
    pub changes: Vec<Told>,
    /// Kubernetes Events about it, in order of their last time.
    pub notes: Vec<Note>,
    /// The last version that can be read, unless it was deleted since: then the one before.
    pub last: Option<Value>,
    /// The revision of its last change.
    pub until: Option<Revision>,
}

impl Timeline {
    /// Adds phases that other objects show.
    fn weave(&mut self, phases: Vec<Phase>) {
        self.phases.extend(phases);
        self.phases.sort_by_key(|phase| phase.revision);
        mark_longest(&mut self.phases);
    }
}

/// Makes a timeline of one key's changes, one at a time.
#[derive(Default)]
pub struct Builder {
    timeline: Timeline,
    teller: Teller,
    begun: bool,
    alive: bool,
}

impl Builder {
    /// Takes the next change into account; `keep` holds on to the change itself.
    pub fn observe(&mut self, told: Told, keep: bool) {
        let change = &told.change;
        let timeline = &mut self.timeline;
        if !self.begun {
            timeline.complete = change.kind == ChangeKind::Added;
            self.begun = true;
        }
        // A creation while the key was alive: its deletion is missing.
        let reborn = change.kind == ChangeKind::Added && self.alive;
        self.alive = change.kind != ChangeKind::Deleted;
        if change.before == Version::Unreadable || reborn {
            timeline.complete = false;
            let state = change.object().map_or_else(|| "deleted".to_owned(), state);
            timeline.gaps.push(Gap { after: timeline.until, until: change.revision, state });
        }
        for Step { phase, detail } in self.teller.steps(change) {
            let phase = Phase { phase, revision: change.revision, dated: told.dated, by: told.actor.clone(), detail, longest: false };
            timeline.phases.push(phase);
        }
        timeline.until = Some(change.revision);
        if let Some(object) = change.object() {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            if timeline.uids.last().is_none_or(|last| last != uid) {
                timeline.uids.push(uid.to_owned());
            }
            timeline.last = Some(object.clone());
        }
        if keep {
            timeline.changes.push(told);
        }
    }

    /// Ends the timeline. `notes` may hold Events of other objects, which are left out.
    pub fn finish(self, notes: &Notes) -> Timeline {
        let mut timeline = self.timeline;
        mark_longest(&mut timeline.phases);
        if let Some(last) = &timeline.last {
            timeline.subject = Subject::of(last);
            timeline.owner = controller(last).and_then(|owner| owner["uid"].as_str()).unwrap_or_default().to_owned();
        }
        timeline.notes = notes.about(&timeline.subject, &timeline.uids);
        timeline
    }
}

/// What must be remembered between the changes of one object.
#[derive(Default)]
struct Teller {
    deployment: deployment::Rollouts,
}

impl Teller {
    fn steps(&mut self, change: &Change) -> Vec<Step> {
        let kind = change.object().and_then(|object| object["kind"].as_str()).unwrap_or_default();
        let (before, after) = match (&change.before, &change.after) {
            (_, Version::Absent) => return vec![generic::deleted(change.before.object())],
            (Version::Absent, Version::Object(after)) => (None, after),
            (Version::Object(before), Version::Object(after)) => (Some(before), after),
            (_, Version::Object(after)) if kind == "Deployment" => {
                self.deployment.remember(after);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        match kind {
            "Pod" => pod::steps(before, after),
            "Node" => node::steps(before, after),
            "Deployment" => self.deployment.steps(before, after),
            "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Job" | "CronJob" | "HorizontalPodAutoscaler" => {
                workload::steps(kind, before, after)
            }
            "PersistentVolumeClaim" | "PersistentVolume" | "Service" | "Endpoints" | "EndpointSlice" => storage::steps(kind, before, after),
            _ => generic::steps(before, after),
        }
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

/// A condition by its type.
fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// A condition's status where it differs from the version before: `(before, after)`, empty where there was none.
fn turned<'a>(before: Option<&'a Value>, after: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a Value)> {
    let now = condition(after, kind)?;
    let status = |condition: &'a Value| condition["status"].as_str().unwrap_or_default();
    let then = before.and_then(|before| condition(before, kind)).map(status).unwrap_or_default();
    (then != status(now)).then(|| (then, status(now), now))
}

/// `reason: message` of a condition or state, as far as it has them.
fn why(value: &Value) -> String {
    let text = |field: &str| value[field].as_str().filter(|text| !text.is_empty());
    match (text("reason"), text("message")) {
        (Some(reason), Some(message)) => format!("{reason}: {message}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => String::new(),
    }
}

/// A list of the object's status or spec.
fn items<'a>(object: Option<&'a Value>, field: [&str; 2]) -> &'a [Value] {
    object.and_then(|object| object[field[0]][field[1]].as_array()).map(Vec::as_slice).unwrap_or_default()
}

/// The item of a list with this name.
fn named<'a>(list: &'a [Value], name: &Value) -> Option<&'a Value> {
    list.iter().find(|item| item["name"] == *name)
}

#[cfg(test)]
mod tests;

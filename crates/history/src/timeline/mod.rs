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
mod object_fields;
mod one_moment;
mod outage;
mod pod;
mod resize;
mod rollout;
mod step;
mod step_detail;
mod step_detector;
mod step_kind;
mod step_parts;
mod storage;
mod story;
mod subject;
mod workload;

use std::sync::Arc;

use serde_json::Value;

use super::attributed_change::AttributedChange;
use super::clock::Dated;
use ketcd_kube::{Object, condition};
use ketcd_store::Revision;

pub use builder::TimelineBuilder;
pub use deletion::{Deletion, Finalizer};
pub use note::{Note, Notes};
pub use one_moment::phases as phases_of_one_moment;
pub use outage::{Cordon, Fate, Outage, Replacement};
pub use rollout::{PodsLeft, Rollout, RolloutEnd, Undo};
pub use step::{Phase, Step};
pub use step_detail::StepDetail;
pub use step_detector::StepDetector;
pub use step_kind::StepKind;
pub use step_parts::{
    ContainerExit, CreatedAs, DeviceName, Edit, FieldEdit, NodeTaint, ResourceChange, StatusReason, TemplateChange, TemplateEdit,
    Utilization,
};
pub use story::Story;
pub use subject::Subject;

use object_fields::{ByField, condition_detail, controller, items, turned, why};
use step::mark_longest;

/// A place where versions are missing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Gap {
    /// The last revision of the object that is readable before the gap; `None` where the readable history begins with it.
    pub after: Option<Revision>,
    /// The first readable one after it.
    pub until: Revision,
    /// When that was written.
    pub dated: Option<Dated>,
    /// The state of the object then, in a few words.
    pub state: String,
}

/// A pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

    /// Keeps only what happened within `window` seconds of `center`, by the clock.
    pub fn keep_around(&mut self, center: jiff::Timestamp, window: f64) {
        let near =
            |dated: Option<Dated>| dated.is_some_and(|dated| dated.time.duration_since(center).as_secs_f64().abs() <= window + dated.error);
        self.phases.retain(|phase| near(phase.dated));
        self.gaps.retain(|gap| near(gap.dated));
        self.changes.retain(|change| near(change.dated));
        self.notes.retain(|note| near(note.dated));
    }

    /// Leaves out what came up to a revision; nothing for an object without a history.
    pub fn keep_after(&mut self, after: Revision) {
        if self.one_moment {
            return;
        }
        self.phases.retain(|phase| phase.revision > after);
        self.gaps.retain(|gap| gap.until > after);
        self.changes.retain(|change| change.change.revision > after);
        self.notes.retain(|note| note.revision > after);
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

/// Describes the state of an object in a few words.
pub fn state(object: &Value) -> String {
    let status = &object["status"];
    let phase = status["phase"].as_str().map(str::to_owned);
    let node = object["spec"]["nodeName"].as_str().map(|node| format!("on {node}"));
    let ready = condition(object, "Ready").and_then(|ready| ready["status"].as_str()).map(|ready| format!("Ready {ready}"));
    let deleting = object["metadata"]["deletionTimestamp"].as_str().map(|_| "being deleted".to_owned());
    let words: Vec<String> = [phase, node, ready, deleting].into_iter().flatten().collect();
    if words.is_empty() { "readable from here on".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests;

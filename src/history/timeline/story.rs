//! Many objects' timelines together, and how they belong to each other.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::heartbeat::{self, Beats};
use super::{Builder, Deletion, Note, Notes, Outage, Phase, Timeline, deletion, node};
use crate::history::Told;

/// Timelines as they are collected, and then as they are told.
#[derive(Default)]
pub struct Story {
    builders: BTreeMap<Bytes, Builder>,
    observed: Notes,
    beats: BTreeMap<String, Beats>,
    /// The timelines by their keys, once [`Story::finish`] was called.
    pub timelines: BTreeMap<Bytes, Timeline>,
}

impl Story {
    /// Takes the next change into account; Kubernetes Events become notes. `keep` holds on to the change itself.
    pub fn observe(&mut self, told: Told, keep: bool) {
        let change = &told.change;
        if let Some(event) = change.object().filter(|object| object["kind"] == "Event") {
            // An Event's deletion is only its age.
            if change.after.object().is_some() {
                self.observed.observe(&change.key, change.revision, told.dated, event);
            }
            if !keep {
                return;
            }
        }
        if let Some(lease) = change.after.object().filter(|object| !keep && heartbeat::is_node_lease(object)) {
            let node = lease["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.beats.entry(node).or_default().observe(change.revision, told.dated, lease);
            return;
        }
        self.builders.entry(change.key.clone()).or_default().observe(told, keep);
    }

    /// Ends all timelines.
    pub fn finish(&mut self) {
        let finish = |(key, builder): (Bytes, Builder)| (key, builder.finish(&self.observed));
        self.timelines = std::mem::take(&mut self.builders).into_iter().map(finish).collect();
        for timeline in self.timelines.values_mut().filter(|timeline| timeline.subject.kind == "Node") {
            if let Some(beats) = self.beats.get(&timeline.subject.name) {
                timeline.weave(beats.silences());
            }
        }
    }

    /// All Events, in order of their last revisions.
    pub fn notes(&self) -> Vec<Note> {
        self.observed.all()
    }

    /// The timelines of what `of` controls, directly or through others, in order of their first revisions.
    pub fn controlled(&self, of: &Timeline) -> Vec<&Timeline> {
        let mut owners: Vec<&str> = of.uids.iter().map(String::as_str).collect();
        let mut found: Vec<&Timeline> = Vec::new();
        loop {
            let more: Vec<&Timeline> = self
                .timelines
                .values()
                .filter(|timeline| !timeline.owner.is_empty() && owners.contains(&timeline.owner.as_str()))
                .filter(|timeline| !found.iter().any(|known| std::ptr::eq(*known, *timeline)))
                .collect();
            if more.is_empty() {
                break;
            }
            owners.extend(more.iter().flat_map(|timeline| timeline.uids.iter().map(String::as_str)));
            found.extend(more);
        }
        found.sort_by_key(|timeline| timeline.phases.first().map(|phase| phase.revision));
        found
    }

    /// The pods that ran on a node, and those that replaced them elsewhere, in order of their first revisions.
    pub fn of_node(&self, name: &str) -> Vec<&Timeline> {
        let on = |timeline: &&Timeline| timeline.last.as_ref().is_some_and(|pod| pod["kind"] == "Pod" && pod["spec"]["nodeName"] == name);
        let mut pods: Vec<&Timeline> = self.timelines.values().filter(on).collect();
        let replaced: Vec<&Timeline> = self.timelines.values().filter(|timeline| pods.iter().any(|pod| replaces(timeline, pod))).collect();
        pods.extend(replaced);
        pods.sort_by_key(|timeline| timeline.phases.first().map(|phase| phase.revision));
        pods.dedup_by(|a, b| std::ptr::eq(*a, *b));
        pods
    }

    /// The times in which a node was not heard of.
    pub fn outages(&self, of: &Timeline) -> Vec<Outage> {
        node::outages(of, &self.of_node(&of.subject.name))
    }

    /// Why a Deployment's last rollout is not finished: the pods it waits for, each with its last refusal or trouble.
    pub fn waiting<'a>(&'a self, of: &Timeline) -> Vec<(&'a Timeline, &'a Phase)> {
        let alive =
            |timeline: &&Timeline| timeline.subject.kind == "Pod" && timeline.phases.last().is_some_and(|last| last.phase != "Deleted");
        let trouble = |timeline: &'a Timeline| {
            let last = timeline.phases.iter().rev().find(|phase| SETTLED.contains(&phase.phase) || TROUBLE.contains(&phase.phase))?;
            TROUBLE.contains(&last.phase).then_some((timeline, last))
        };
        self.controlled(of).into_iter().filter(alive).filter_map(trouble).collect()
    }

    /// How an object came to be deleted, where it was.
    pub fn deletion(&self, of: &Timeline) -> Option<Deletion> {
        deletion::find(self, of)
    }

    /// The timeline of the object with this uid.
    pub fn by_uid(&self, uid: &str) -> Option<&Timeline> {
        self.timelines.values().find(|timeline| timeline.uids.iter().any(|known| known == uid))
    }

    /// The timeline of an object by kind, namespace and name.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<&Timeline> {
        self.timelines
            .values()
            .find(|timeline| timeline.subject.kind == kind && timeline.subject.namespace == namespace && timeline.subject.name == name)
    }
}

/// Whether `timeline` is a pod that its controller made after it lost `pod`: made by the same owner, next after its deletion began.
pub(super) fn replaces(timeline: &Timeline, pod: &Timeline) -> bool {
    let first =
        |timeline: &Timeline, name: &str| timeline.phases.iter().find(|phase: &&Phase| phase.phase == name).map(|phase| phase.revision);
    let (Some(created), Some(lost)) = (first(timeline, "Created"), first(pod, "Deleting")) else { return false };
    !pod.owner.is_empty() && timeline.owner == pod.owner && created > lost && created.0 - lost.0 <= NEXT
}

/// After these a pod is no trouble any more.
const SETTLED: &[&str] = &["Ready", "Scheduled", "Succeeded", "Deleting"];
/// In these a pod keeps its controller waiting.
const TROUBLE: &[&str] = &["Refused", "Waiting", "Gated", "NotReady", "Failed", "Restarted"];

/// A controller makes up for a lost pod within this many revisions; later pods have other reasons.
const NEXT: i64 = 50;

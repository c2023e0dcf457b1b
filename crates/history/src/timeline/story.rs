//! Many objects' timelines together, and how they belong to each other.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use super::heartbeat::{self, Beats};
use super::{Cordon, Deletion, Note, Notes, Outage, Phase, StepDetail, StepKind, Subject, Timeline, TimelineBuilder, deletion, outage};
use crate::AttributedChange;
use crate::actor::{Actor, ActorFrom, CONTROLLER_MANAGER};
use crate::clock::Dated;
use ketcd_kube::FieldSet;
use ketcd_store::{Origin, Revision};

/// Collects changes into timelines, and links them at the end.
#[derive(Default)]
pub struct Story {
    builders: BTreeMap<Bytes, TimelineBuilder>,
    observed: Notes,
    beats: BTreeMap<String, Beats>,
    /// The newest time of a change.
    newest: Option<Timestamp>,
    /// The timelines by their keys, once [`Story::finish`] was called.
    pub timelines: BTreeMap<Bytes, Timeline>,
    by_uid: HashMap<String, Bytes>,
    by_name: HashMap<(String, String, String), Bytes>,
    /// The Events with which controllers say that they deleted a pod.
    deletions: Vec<Note>,
    /// The Events with which the scheduler says that it preempted a pod.
    preemptions: Vec<Note>,
    /// The owners in other namespaces of objects that have none in their own, by kind, namespace and name.
    elsewhere: HashMap<(String, String, String), Subject>,
    /// What is kept of the last version of an object that is not asked for; everything where this is `None`.
    kept: Option<FieldSet>,
    /// Whether changes are kept by their steps alone.
    drops_changes: bool,
    /// What every part of the objects has in common: the keys of timelines, and Events. See [`Story::settle`].
    settled: (HashSet<Bytes>, Notes),
}

impl Story {
    /// Begins a story that keeps only these fields of the last version of each object that is not asked for: a large cluster has many objects.
    pub fn keeping(fields: FieldSet) -> Self {
        Self { kept: Some(fields), ..Self::default() }
    }

    /// Keeps no change itself, whatever [`Story::observe`] is asked to keep.
    #[must_use]
    pub fn without_changes(self) -> Self {
        Self { drops_changes: true, ..self }
    }

    /// Adds the next change; Kubernetes Events become notes. `keep` keeps the change itself.
    pub fn observe(&mut self, attributed: AttributedChange, keep: bool) {
        let change = &attributed.change;
        self.newest = self.newest.max(attributed.dated.map(|dated| dated.time));
        if let Some(event) = change.object().filter(|object| object["kind"] == "Event") {
            // An Event's deletion is only its age.
            match change.origin {
                Origin::Objects => self.observed.observe_undated(&change.key, change.revision, event),
                _ if change.after.object().is_some() => self.observed.observe(&change.key, change.revision, attributed.dated, event),
                _ => {}
            }
            if !keep {
                return;
            }
        }
        if let Some(lease) = change.after.object().filter(|object| !keep && heartbeat::is_node_lease(object)) {
            let node = lease["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.beats.entry(node).or_default().observe(change.revision, attributed.dated, lease);
            return;
        }
        let builder = self.builders.entry(change.key.clone()).or_default();
        builder.observe(attributed, keep && !self.drops_changes);
        self.kept.iter().filter(|_| !keep).for_each(|fields| builder.reduce(fields));
    }

    /// Adds the Event that a key held at a revision.
    pub fn observe_event(&mut self, key: &[u8], revision: Revision, dated: Option<Dated>, event: &Value) {
        self.observed.observe(key, revision, dated, event);
    }

    /// Keeps what is known by now for all parts of a story of many objects. To be called after [`Story::finish`]; each part is then observed, finished,
    /// told, and [forgotten](Story::forget_part).
    pub fn settle(&mut self) {
        self.settled = (self.timelines.keys().cloned().collect(), self.observed.clone());
        self.beats = BTreeMap::new();
    }

    /// Whether a timeline is of no part.
    pub fn is_settled(&self, key: &[u8]) -> bool {
        self.settled.0.contains(key)
    }

    /// Forgets what was added since [`Story::settle`].
    pub fn forget_part(&mut self) {
        let (settled, notes) = &self.settled;
        self.timelines.retain(|key, _| settled.contains(key));
        self.by_uid.retain(|_, key| settled.contains(key));
        self.by_name.retain(|_, key| settled.contains(key));
        self.observed = notes.clone();
        self.elsewhere.clear();
    }

    /// Ends all timelines at a moment, where it is known, and weaves into each what other objects show of it.
    pub fn finish(&mut self, end: Option<Timestamp>) {
        let end = end.max(self.newest);
        let notes = self.observed.by_object();
        for (key, builder) in std::mem::take(&mut self.builders) {
            let mut timeline = builder.finish_with(|subject, uids| notes.about(subject, uids));
            if let Some(beats) = self.beats.get(&timeline.subject.name).filter(|_| timeline.subject.kind == "Node") {
                // A node that was removed is not missed from then on.
                let gone = || timeline.phases.last().and_then(|last| last.dated).map(|dated| dated.time);
                let end = if timeline.is_gone() { gone() } else { end };
                timeline.weave(beats.silences(end));
            }
            let Subject { kind, namespace, name, .. } = timeline.subject.clone();
            self.by_name.insert((kind, namespace, name), key.clone());
            self.by_uid.extend(timeline.uids.iter().filter(|uid| !uid.is_empty()).map(|uid| (uid.clone(), key.clone())));
            self.timelines.insert(key, timeline);
        }
        self.deletions = self.observed.of_reason("SuccessfulDelete");
        self.preemptions = self.observed.of_reason("Preempted");
        self.weave_preemptions();
        self.name_deleters();
    }

    /// The timelines that are not settled.
    fn of_part(&self) -> impl Iterator<Item = (&Bytes, &Timeline)> {
        self.timelines.iter().filter(|(key, _)| !self.settled.0.contains(*key))
    }

    /// Names the actor of deletions that leave no trace of it: the controller, if the chain of the deletion shows one.
    fn name_deleters(&mut self) {
        // A single moment does not show what else was deleted.
        if self.timelines.values().any(|timeline| timeline.one_moment) {
            return;
        }
        let nameless =
            |phase: &Phase| matches!(phase.phase, StepKind::Deleting | StepKind::Deleted) && phase.by.is_none() && phase.logged.is_none();
        let found: Vec<(Bytes, Revision)> = self
            .of_part()
            .filter(|(_, timeline)| timeline.phases.iter().any(nameless))
            .filter_map(|(key, timeline)| Some((key.clone(), deletion::find(self, timeline)?)))
            .filter(|(_, deletion)| deletion.by_controller())
            .map(|(key, deletion)| (key, deletion.asked))
            .collect();
        for (key, asked) in found {
            let phases = self.timelines.get_mut(&key).into_iter().flat_map(|timeline| &mut timeline.phases);
            for phase in phases.filter(|phase| phase.revision >= asked && nameless(phase)) {
                phase.by = Some(Actor { name: CONTROLLER_MANAGER.to_owned(), on: None, from: ActorFrom::Inferred });
            }
        }
    }

    /// Adds to preemptors the pods they preempted: the victims' Events name them.
    fn weave_preemptions(&mut self) {
        let preempting = |timeline: &&Timeline| timeline.phases.iter().any(|phase| phase.phase == StepKind::Nominated);
        let preempted: Vec<(Bytes, Vec<Phase>)> = self
            .of_part()
            .filter(|(_, timeline)| preempting(timeline))
            .map(|(key, timeline)| (key.clone(), self.victims(timeline).iter().map(preempts).collect()))
            .collect();
        for (key, phases) in preempted.into_iter().filter(|(_, phases): &(Bytes, Vec<Phase>)| !phases.is_empty()) {
            self.timelines.entry(key).and_modify(|timeline| timeline.weave(phases));
        }
    }

    /// Marks objects as gone that are not alive at the end, although their deletion cannot be read.
    pub fn mark_vanished(&mut self, alive: &HashSet<Bytes>) {
        let settled = &self.settled.0;
        for (_, timeline) in self.timelines.iter_mut().filter(|(key, _)| !alive.contains(*key) && !settled.contains(*key)) {
            timeline.vanished = !timeline.is_gone();
            timeline.complete &= !timeline.vanished;
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
        let on = |timeline: &&Timeline| timeline.placements.iter().any(|placement| placement.node == name);
        let mut pods: Vec<&Timeline> = self.timelines.values().filter(on).collect();
        let instead_of = |other: &Timeline, pod: &Timeline| {
            let lost = pod.phases.iter().find(|phase| phase.phase == StepKind::Deleting);
            lost.is_some_and(|lost| outage::replaces(other, pod, lost).is_some())
        };
        let replaced = |other: &&Timeline| pods.iter().any(|pod| instead_of(other, pod));
        let replaced: Vec<&Timeline> = self.timelines.values().filter(|timeline| !on(timeline)).filter(replaced).collect();
        pods.extend(replaced);
        pods.sort_by_key(|timeline| timeline.phases.first().map(|phase| phase.revision));
        pods
    }

    /// The addresses behind a Service.
    pub fn of_service(&self, of: &Timeline) -> Vec<&Timeline> {
        let Subject { namespace, name, .. } = &of.subject;
        // Slices that others than the API server's controller make have no owner, but the label.
        let label = |timeline: &Timeline| {
            let metadata = timeline.last.as_ref().map(|last| &last["metadata"]);
            metadata.is_some_and(|metadata| metadata["labels"]["kubernetes.io/service-name"] == name.as_str())
        };
        let own = |timeline: &&Timeline| {
            let subject = &timeline.subject;
            subject.namespace == *namespace
                && (subject.kind == "Endpoints" && subject.name == *name || subject.kind == "EndpointSlice" && label(timeline))
        };
        self.timelines.values().filter(own).collect()
    }

    /// What an autoscaler scales.
    pub fn scaled_by(&self, of: &Timeline) -> Option<&Timeline> {
        let target = &of.last.as_ref()?["spec"]["scaleTargetRef"];
        self.find(target["kind"].as_str()?, &of.subject.namespace, target["name"].as_str()?)
    }

    /// The claims, volumes and attachments of a pod, a StatefulSet, a claim or a volume; for a claim also the pods that use it.
    pub fn storage_of(&self, of: &Timeline) -> Vec<&Timeline> {
        let claims = |timeline: &&Timeline| timeline.subject.kind == "PersistentVolumeClaim" && belongs(timeline, of);
        let mut found: Vec<&Timeline> = match of.subject.kind.as_str() {
            "PersistentVolumeClaim" => self.timelines.values().filter(|timeline| uses(timeline, &of.subject)).collect(),
            _ => self.timelines.values().filter(claims).collect(),
        };
        let mut volumes: Vec<&str> = found.iter().chain([&of]).filter_map(|timeline| volume(timeline)).collect();
        volumes.sort_unstable();
        let theirs = |timeline: &&Timeline| {
            let attached = || timeline.last.as_ref().and_then(|last| last["spec"]["source"]["persistentVolumeName"].as_str());
            match timeline.subject.kind.as_str() {
                "PersistentVolume" => of.subject.kind == "PersistentVolumeClaim" && volumes.contains(&timeline.subject.name.as_str()),
                "VolumeAttachment" => attached().is_some_and(|name| volumes.contains(&name)),
                _ => false,
            }
        };
        found.extend(self.timelines.values().filter(theirs));
        found
    }

    /// Returns the times in which a node's kubelet did not report.
    pub fn outages(&self, of: &Timeline) -> Vec<Outage> {
        outage::outages(of, &self.of_node(&of.subject.name))
    }

    /// The times in which a node was cordoned.
    pub fn cordons(&self, of: &Timeline) -> Vec<Cordon> {
        outage::cordons(of, &self.of_node(&of.subject.name))
    }

    /// The pods that were preempted to make room for `of`, each with the Event that names it.
    pub fn victims(&self, of: &Timeline) -> Vec<Note> {
        let subject = &of.subject;
        let name = format!("{}/{}", subject.namespace, subject.name);
        let says = |note: &Note| {
            let mut words = note.message.split_whitespace();
            // Up to 1.25 the message names the preemptor, later its uid.
            words.any(|word| word == name || of.uids.iter().any(|uid| !uid.is_empty() && word == uid))
        };
        self.preemptions.iter().filter(|note| says(note)).cloned().collect()
    }

    /// Why a Deployment's last rollout is not finished: the pods it waits for, each with its last refusal or trouble.
    pub fn waiting<'a>(&'a self, of: &Timeline) -> Vec<(&'a Timeline, &'a Phase)> {
        // What is being deleted is not waited for.
        let leaving = |timeline: &Timeline| timeline.last.as_ref().is_some_and(|last| last["metadata"]["deletionTimestamp"].is_string());
        let alive = |timeline: &&Timeline| timeline.subject.kind == "Pod" && !timeline.is_gone() && !leaving(timeline);
        let trouble = |timeline: &'a Timeline| {
            let last =
                timeline.phases.iter().rev().find(|phase| STABLE_STEPS.contains(&phase.phase) || TROUBLE_STEPS.contains(&phase.phase))?;
            TROUBLE_STEPS.contains(&last.phase).then_some((timeline, last))
        };
        self.controlled(of).into_iter().filter(alive).filter_map(trouble).collect()
    }

    /// Adds that the owner of a deleted object was in another namespace, and none in its own. To be called after [`Story::finish`].
    pub fn add_owner_elsewhere(&mut self, key: &Bytes, owner: Subject) {
        let Some(timeline) = self.timelines.get(key) else { return };
        let Subject { kind, namespace, name, .. } = timeline.subject.clone();
        self.elsewhere.insert((kind, namespace, name), owner);
        self.name_deleters();
    }

    /// The owner of an object that was in another namespace, where that was found out.
    pub(super) fn owner_elsewhere(&self, of: &Subject) -> Option<&Subject> {
        self.elsewhere.get(&(of.kind.clone(), of.namespace.clone(), of.name.clone()))
    }

    /// How an object came to be deleted, where it was.
    pub fn deletion(&self, of: &Timeline) -> Option<Deletion> {
        deletion::find(self, of)
    }

    /// The Event with which an object's owner says that it deleted it.
    pub(super) fn deleted_by(&self, owner: &Subject, name: &str) -> Option<&Note> {
        self.deletions.iter().find(|note| note.names(owner) && deletion::names(&note.message, name))
    }

    /// The timeline of the object with this uid.
    pub fn by_uid(&self, uid: &str) -> Option<&Timeline> {
        self.timelines.get(self.by_uid.get(uid)?)
    }

    /// The timeline of an object by kind, namespace and name.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<&Timeline> {
        self.timelines.get(self.by_name.get(&(kind.to_owned(), namespace.to_owned(), name.to_owned()))?)
    }
}

fn volume(timeline: &Timeline) -> Option<&str> {
    match timeline.subject.kind.as_str() {
        "PersistentVolumeClaim" => timeline.last.as_ref()?["spec"]["volumeName"].as_str(),
        "PersistentVolume" => Some(&timeline.subject.name),
        _ => None,
    }
}

fn uses(pod: &Timeline, claim: &Subject) -> bool {
    let volumes = pod.last.as_ref().filter(|_| pod.subject.kind == "Pod" && pod.subject.namespace == claim.namespace);
    let volumes = volumes.and_then(|last| last["spec"]["volumes"].as_array()).into_iter().flatten();
    volumes.into_iter().any(|volume| volume["persistentVolumeClaim"]["claimName"] == claim.name.as_str())
}

/// Whether a claim is of this pod, StatefulSet or volume.
fn belongs(claim: &Timeline, of: &Timeline) -> bool {
    let Some(last) = &of.last else { return false };
    let near = claim.subject.namespace == of.subject.namespace;
    match of.subject.kind.as_str() {
        "Pod" => near && uses(of, &claim.subject),
        "StatefulSet" => {
            let templates = last["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
            let starts =
                templates.filter_map(|template| template["metadata"]["name"].as_str()).map(|name| format!("{name}-{}-", of.subject.name));
            let ordinal = |start: String| claim.subject.name.strip_prefix(&start).is_some_and(|rest| rest.parse::<u32>().is_ok());
            near && starts.into_iter().any(ordinal)
        }
        "PersistentVolume" => {
            let bound = &last["spec"]["claimRef"];
            bound["namespace"] == claim.subject.namespace.as_str() && bound["name"] == claim.subject.name.as_str()
        }
        _ => false,
    }
}

/// The step of a preemptor that the Event of its victim shows.
fn preempts(note: &Note) -> Phase {
    let by = Actor { name: note.source.clone(), on: None, from: ActorFrom::Recorded };
    let (revision, dated) = (note.revision, note.dated);
    Phase {
        phase: StepKind::Preempting,
        revision,
        dated,
        by: Some(by),
        logged: None,
        is_placed: false,
        detail: StepDetail::Victim(note.object()),
        longest: false,
    }
}

/// After one of these steps a pod is not in trouble any more.
const STABLE_STEPS: &[StepKind] = &[StepKind::Ready, StepKind::Scheduled, StepKind::Succeeded, StepKind::Deleting];
/// In these a pod keeps its controller waiting.
const TROUBLE_STEPS: &[StepKind] =
    &[StepKind::Refused, StepKind::Waiting, StepKind::Gated, StepKind::NotReady, StepKind::Failed, StepKind::Restarted];

//! A cluster on its way: its objects, and what it is doing.
//!
//! Everything that changes an object goes through here, so that the queue hears of it and the controllers that are concerned look again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ketcd_scheduler::Scheduler;
use ketcd_scheduler::cluster::{ObjectKey, PodInfo, WatchedKind};
use ketcd_scheduler::queue::ClusterEvent;
use serde_json::{Value, json};

use super::answer::{Happening, SimulatedEvent, SimulatedPod, Unmodelled};
use super::in_memory_state::{Due, InMemoryState};
use super::json::{controller, is_finished, is_terminating, member, number, set_condition, text};
use super::model::{Id, Model, ModelMark};

/// How long containers are taken to need to start, in milliseconds: longer than the scheduler needs for pods that were made at once.
const START_MILLIS: i64 = 1_000;

/// Whether pods that wait are tried again when an object of a kind is written: what volumes and devices depend on, and groups of pods
/// (`EventsToRegister` of 1.37).
fn helps_pods(kind: WatchedKind) -> bool {
    use WatchedKind::{
        CompositePodGroup, CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, PersistentVolume, PersistentVolumeClaim, PodGroup,
        ResourceClaim, ResourceSlice, StorageClass, VolumeAttachment, Workload,
    };
    matches!(
        kind,
        CompositePodGroup
            | PodGroup
            | Workload
            | CsiDriver
            | CsiNode
            | CsiStorageCapacity
            | DeviceClass
            | PersistentVolume
            | PersistentVolumeClaim
            | ResourceClaim
            | ResourceSlice
            | StorageClass
            | VolumeAttachment
    )
}

/// One for a pod that counts among those that are more than at the beginning.
fn is_counted(pod: &Value) -> i64 {
    i64::from(controller(pod).is_none_or(|owner| owner["kind"] != "DaemonSet"))
}

/// The priority that a pod may count with where room is made: a group's may be any.
fn lowest_priority(pod: &PodInfo) -> i32 {
    if pod.gang().is_some() { i32::MIN } else { pod.spec.priority }
}

pub(super) struct SimulatedCluster<'c> {
    pub model: Model<'c>,
    pub scheduler: Scheduler,
    in_memory: InMemoryState,
}

impl Deref for SimulatedCluster<'_> {
    type Target = InMemoryState;

    fn deref(&self) -> &InMemoryState {
        &self.in_memory
    }
}

impl DerefMut for SimulatedCluster<'_> {
    fn deref_mut(&mut self) -> &mut InMemoryState {
        &mut self.in_memory
    }
}

pub(super) struct Mark {
    model: ModelMark,
    in_memory: InMemoryState,
}

impl<'c> SimulatedCluster<'c> {
    pub(super) fn mark(&mut self) -> Mark {
        Mark { model: self.model.remember(), in_memory: self.in_memory.clone() }
    }

    /// Goes back to a cluster as it was.
    pub(super) fn back(&mut self, mark: Mark) {
        self.model.back(mark.model);
        self.in_memory = mark.in_memory;
    }

    /// The same cluster for another thread.
    pub(super) fn for_a_thread(&self) -> Self {
        Self { model: self.model.for_a_thread(), scheduler: self.scheduler.clone(), in_memory: self.in_memory.clone() }
    }

    /// A number that is the same for clusters at rest that differ in nothing but the names of new pods and the time.
    pub(super) fn fingerprint(&self) -> u64 {
        let named = |pod: &PodInfo| match pod.controller_uid().filter(|_| self.has_made(&Id::pod(&pod.namespace, &pod.name))) {
            Some(owner) if pod.name.contains("-new") => owner.to_owned(),
            _ => pod.full_name(),
        };
        let mut pods: Vec<(String, Option<&str>)> = self.model.state.pods().map(|pod| (named(pod), pod.node_name.as_deref())).collect();
        pods.sort_unstable();
        let cordoned: Vec<String> =
            self.nodes().into_iter().filter(|name| self.model.state.node(name).is_some_and(|node| node.unschedulable)).collect();
        let failures: Vec<_> = self.failures.iter().map(|(job, (failures, _))| (job, failures)).collect();
        let mut hasher = DefaultHasher::new();
        (pods, cordoned, failures).hash(&mut hasher);
        hasher.finish()
    }

    /// The pods that wait, each with the scheduler's last message, if it was tried.
    pub(super) fn waiting(&mut self) -> Vec<(SimulatedPod, Option<String>)> {
        let ids: Vec<Id> = self.queue.pods().map(|(namespace, name)| Id::pod(namespace, name)).collect();
        let read = ids.into_iter().filter_map(|id| self.model.get(&id).map(|pod| (id, pod))).collect::<Vec<_>>();
        read.into_iter().map(|(id, pod)| (self.named(&id, &pod), self.messages.get(&id).cloned())).collect()
    }

    /// A cluster at a moment, in milliseconds since 1970, when nothing has happened yet.
    pub(super) fn new(model: Model<'c>, scheduler: Scheduler, now: i64) -> Self {
        let mut in_memory = InMemoryState::of(&scheduler, now);
        in_memory.lowest_priority = model.state.pods().map(|pod| lowest_priority(pod)).min().unwrap_or(i32::MAX);
        Self { model, scheduler, in_memory }
    }

    pub(super) fn named(&mut self, id: &Id, pod: &Value) -> SimulatedPod {
        let owner = self.owner_of(pod);
        SimulatedPod { namespace: id.namespace.clone(), name: id.name.clone(), owner, is_new: self.made.contains(id) }
    }

    /// The topmost controller of a pod.
    fn owner_of(&mut self, pod: &Value) -> Option<String> {
        let own = controller(pod)?;
        let id = Id::new(text(own, "/kind"), text(pod, "/metadata/namespace"), text(own, "/name"));
        let above = self.model.get(&id).and_then(|owner| controller(&owner).map(|above| text(above, "/name").to_owned()));
        Some(above.unwrap_or(id.name))
    }

    pub(super) fn record(&mut self, what: Happening, id: &Id, pod: &Value) -> &mut SimulatedEvent {
        let node = Some(text(pod, "/spec/nodeName").to_owned()).filter(|node| !node.is_empty());
        let pod = self.named(id, pod);
        let after = self.now - self.began;
        self.events.push(SimulatedEvent { node, ..SimulatedEvent::of(what, after, pod) });
        let last = self.events.len() - 1;
        &mut self.events[last]
    }

    /// Writes a node; new ones are added.
    pub(super) fn write_node(&mut self, node: Value) {
        self.changes += 1;
        let name = text(&node, "/metadata/name").to_owned();
        let before = self.model.state.node(&name).map(|node| node.object().clone());
        self.model.put(node);
        let Some(after) = self.model.state.node(&name).map(|node| node.object().clone()) else { return };
        self.walk.is_stale |= before.is_none();
        let event = match &before {
            Some(before) => ClusterEvent::NodeUpdated(before, &after),
            None => ClusterEvent::NodeAdded(&after),
        };
        self.tell_queue(&event);
        self.nodes_written.push((before, after));
    }

    pub(super) fn delete_node(&mut self, name: &str) {
        self.changes += 1;
        let Some(before) = self.model.state.node(name).map(|node| node.object().clone()) else { return };
        self.walk.is_stale = true;
        self.model.remove(&Id::new("Node", "", name));
        self.tell_queue(&ClusterEvent::NodeDeleted(&before));
    }

    /// Writes an object that is neither a pod nor a node.
    pub(super) fn write(&mut self, object: Value) {
        self.changes += 1;
        let (id, watched) = (Id::of(&object), ObjectKey::of(&object).map(|key| key.kind));
        self.model.put(object);
        if let Some(kind) = watched.filter(|kind| helps_pods(*kind)) {
            self.tell_queue(&ClusterEvent::Other(kind));
        }
        if id.kind == "PodDisruptionBudget" {
            self.budgets.insert(id.namespace.clone());
        }
        self.dirty.insert(id);
    }

    /// Deletes an object that is neither a pod nor a node.
    pub(super) fn delete(&mut self, id: &Id) {
        self.changes += 1;
        let watched = self.model.get(id).and_then(|object| ObjectKey::of(&object).map(|key| key.kind));
        self.model.remove(id);
        if let Some(kind) = watched.filter(|kind| helps_pods(*kind)) {
            self.tell_queue(&ClusterEvent::Other(kind));
        }
    }

    /// Whether a controller may make one more pod; that it may not is a caveat.
    pub(super) fn grant_pod(&mut self, owner: &Id) -> bool {
        if self.more_pods < self.most_more_pods {
            return true;
        }
        let (workload, most) = (format!("{}/{}/{}", owner.kind, owner.namespace, owner.name), self.most_more_pods);
        self.caveats.insert(Unmodelled::PodsBounded { workload, most: usize::try_from(most).unwrap_or(0) });
        false
    }

    /// How many of this many nodes may be added; that they may not all be is a caveat.
    pub(super) fn grant_nodes(&mut self, wanted: u64) -> u64 {
        let granted = wanted.min(self.nodes_left);
        self.nodes_left -= granted;
        if granted < wanted {
            self.caveats.insert(Unmodelled::NodesBounded { wanted, added: granted });
        }
        granted
    }

    /// Adds a pod that was admitted.
    pub(super) fn create_pod(&mut self, pod: Value) {
        self.changes += 1;
        self.more_pods += is_counted(&pod);
        let id = Id::of(&pod);
        self.made.insert(id.clone());
        self.record(Happening::Created, &id, &pod);
        self.model.put(pod);
        self.budgets.insert(id.namespace.clone());
        self.enqueue(&id);
    }

    /// A pod that waits is another one from now on, as if it had been made so.
    pub(super) fn replace_waiting(&mut self, pod: Value) {
        self.changes += 1;
        let id = Id::of(&pod);
        self.model.put(pod);
        self.enqueue(&id);
    }

    /// Puts a pod that waits for this scheduler into the queue.
    fn enqueue(&mut self, id: &Id) {
        let Some(info) = self.model.pod(id).cloned() else { return };
        self.lowest_priority = self.lowest_priority.min(lowest_priority(&info));
        if info.node_name.is_some() || info.finished {
            return;
        }
        if !self.scheduler.profile_for(&info).1 {
            self.caveats.insert(Unmodelled::OtherScheduler { name: info.scheduler_name().to_string() });
            return;
        }
        if !self.scheduler.profile_for(&info).0.waits_at_gates(&info) {
            self.in_memory.queue.add(&info, self.in_memory.now);
        }
        if info.gang().is_some() {
            self.tell_queue(&ClusterEvent::PodWaits(&info));
        }
    }

    /// Binds a pod to a node. It is running and ready a second later: how long containers take to start is in no data.
    pub(super) fn bind(&mut self, id: &Id, node: &str) {
        self.changes += 1;
        let Some(pod) = self.model.get(id) else { return };
        let mut pod = (*pod).clone();
        let time = self.timestamp();
        member(&mut pod, "spec").insert("nodeName".to_owned(), json!(node));
        self.add_topology(&mut pod, node);
        set_condition(&mut pod, json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": time}));
        let status = member(&mut pod, "status");
        status.remove("nominatedNodeName");
        status.insert("startTime".to_owned(), json!(time));
        self.later(START_MILLIS, Due::Started(id.clone(), text(&pod, "/metadata/uid").to_owned()));
        self.model.put(pod);
        if let Some(info) = self.model.pod(id).cloned() {
            self.queue.remove(&info.key());
            self.tell_queue(&ClusterEvent::PodAdded(&info));
        }
        self.messages.remove(id);
        self.touch(id);
    }

    /// A pod runs and is ready, unless it is being deleted or its node does not answer.
    pub(super) fn start(&mut self, id: &Id, uid: &str) {
        let Some(pod) = self.model.get(id).filter(|pod| text(pod, "/metadata/uid") == uid && !is_terminating(pod)) else { return };
        if self.silent.contains(text(&pod, "/spec/nodeName")) {
            return;
        }
        let mut pod = (*pod).clone();
        let time = self.timestamp();
        for condition in ["Initialized", "ContainersReady", "Ready"] {
            set_condition(&mut pod, json!({"type": condition, "status": "True", "lastTransitionTime": time}));
        }
        member(&mut pod, "status").insert("phase".to_owned(), json!("Running"));
        self.update_pod(pod);
        self.touch(id);
    }

    /// Copies the node's topology labels to the pod, as admission does when it is bound (`plugin/pkg/admission/podtopologylabels`, since 1.35).
    fn add_topology(&self, pod: &mut Value, node: &str) {
        const TOPOLOGY_LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
        if self.scheduler.version.release.0 < 35 {
            return;
        }
        let Some(node) = self.model.state.node(node) else { return };
        let found: Vec<(&str, String)> = TOPOLOGY_LABELS.iter().filter_map(|key| Some((*key, node.labels.get(key)?.to_owned()))).collect();
        if found.is_empty() {
            return;
        }
        let metadata = member(pod, "metadata");
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        found.into_iter().for_each(|(key, value)| labels[key] = json!(value));
    }

    /// Begins to delete a pod, as the API server does: one that has no node, or has ended, is gone at once; another one when its grace period ends.
    pub(super) fn terminate(&mut self, id: &Id, change: impl FnOnce(&mut Value)) {
        let Some(pod) = self.model.get(id) else { return };
        if is_terminating(&pod) {
            return;
        }
        let mut pod = (*pod).clone();
        change(&mut pod);
        self.deleted.push(Arc::new(pod.clone()));
        let (node, uid) = (text(&pod, "/spec/nodeName").to_owned(), text(&pod, "/metadata/uid").to_owned());
        let grace = number(&pod, "/spec/terminationGracePeriodSeconds").unwrap_or(30).max(0);
        if node.is_empty() || is_finished(&pod) || grace == 0 && !self.silent.contains(&node) {
            self.model.put(pod);
            return self.gone(id);
        }
        let metadata = member(&mut pod, "metadata");
        metadata.insert("deletionTimestamp".to_owned(), json!(self.timestamp()));
        metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
        self.more_pods -= is_counted(&pod);
        self.update_pod(pod);
        self.touch(id);
        if self.silent.contains(&node) {
            self.caveats.insert(Unmodelled::NeverEnds { node });
        } else {
            self.later(grace * 1_000, Due::Ended(id.clone(), uid));
        }
    }

    pub(super) fn update_pod(&mut self, pod: Value) {
        self.changes += 1;
        let id = Id::of(&pod);
        let before = self.model.pod(&id).cloned();
        self.model.put(pod);
        let after = self.model.pod(&id).cloned();
        if let (Some(before), Some(after)) = (before, after)
            && before.node_name.is_some()
        {
            let event = if after.finished { ClusterEvent::PodDeleted(&before) } else { ClusterEvent::PodUpdated(&before, &after) };
            self.tell_queue(&event);
        }
    }

    /// Removes a pod.
    pub(super) fn gone(&mut self, id: &Id) {
        self.changes += 1;
        let before = self.model.pod(id).cloned();
        self.touch(id);
        let object = self.model.get(id);
        self.more_pods -= object.iter().filter(|pod| !is_terminating(pod)).map(|pod| is_counted(pod)).sum::<i64>();
        self.in_memory.gone.extend(object);
        self.model.remove(id);
        self.messages.remove(id);
        let refused = std::mem::take(&mut self.refused_owners);
        self.dirty.extend(refused);
        self.held.remove(id);
        let Some(before) = before else { return };
        self.queue.remove(&before.key());
        if before.node_name.is_some() && !before.finished {
            self.off_node(&before);
        }
    }

    /// The queue hears that a pod is no longer on its node.
    pub(super) fn off_node(&mut self, pod: &PodInfo) {
        self.tell_queue(&ClusterEvent::PodDeleted(pod));
    }

    /// Lets the pods try again that an event may help.
    fn tell_queue(&mut self, event: &ClusterEvent<'_>) {
        self.in_memory.queue.moved(event, &self.model.state, &self.scheduler, self.in_memory.now);
    }

    /// Lets the controllers look again that a change of a pod concerns: its own, and the disruption controller.
    fn touch(&mut self, id: &Id) {
        self.budgets.insert(id.namespace.clone());
        let Some(pod) = self.model.get(id) else { return };
        if let Some(owner) = controller(&pod) {
            self.dirty.insert(Id::new(text(owner, "/kind"), &id.namespace, text(owner, "/name")));
        }
    }

    /// Writes that a pod was refused by the scheduler, as its condition says it.
    pub(super) fn refuse(&mut self, id: &Id, message: &str, nominated: Option<&Arc<str>>) {
        let Some(pod) = self.model.get(id) else { return };
        let mut pod = (*pod).clone();
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
            "lastTransitionTime": self.timestamp()});
        set_condition(&mut pod, condition);
        let status = member(&mut pod, "status");
        match nominated {
            Some(node) => drop(status.insert("nominatedNodeName".to_owned(), json!(&**node))),
            // A pod that waits for its victims keeps its node; one that preemption would not help loses it (`Evaluator.Preempt`).
            None if message.contains("preemption: not eligible") => {}
            None => drop(status.remove("nominatedNodeName")),
        }
        self.model.put(pod);
    }

    /// Whether a pod that was refused so far got another message than before, or its first.
    pub(super) fn says_new(&mut self, id: &Id, message: &str) -> bool {
        self.messages.insert(id.clone(), message.to_owned()).is_none_or(|last| last != message)
    }

    /// The nodes' names, in order.
    pub(super) fn nodes(&self) -> Vec<String> {
        self.model.ids("Node").into_iter().map(|id| id.name).collect()
    }
}

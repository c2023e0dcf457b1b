//! The objects of a cluster while a simulation changes them: as the API has them, and as its scheduler sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ketcd_kube::{Body, Decoder, LabelSelector};
use ketcd_scheduler::cluster::{ClusterState, ObjectChange, ObjectKey, PodInfo};
use ketcd_store::KeyValue;
use serde_json::Value;

use super::json::{controller, is_condition_true, is_finished, is_terminating, text};
use super::quota_shapes::{QuotaShape, QuotaShapes};

/// An object: its kind, its namespace (empty where it has none) and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

impl Id {
    /// An object's name in full.
    pub(super) fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The name of an object that says what it is.
    pub(super) fn of(object: &Value) -> Self {
        Self::new(text(object, "/kind"), text(object, "/metadata/namespace"), text(object, "/metadata/name"))
    }

    /// A pod's name in full.
    pub(super) fn pod(namespace: &str, name: &str) -> Self {
        Self::new("Pod", namespace, name)
    }
}

/// An object as it was stored, or as it was read or changed.
#[derive(Clone)]
enum Entry {
    /// With what is known of it, where it is a pod that was looked at.
    Stored(KeyValue, Option<KnownPod>),
    Read(Arc<Value>),
}

/// What is kept of a pod that was looked at.
#[derive(Clone)]
struct KnownPod {
    state: PodState,
    shape: QuotaShape,
}

/// What most controllers ask of most pods. Pods in full would fill the memory of a large cluster.
#[derive(Clone, Copy)]
pub(super) struct PodState {
    /// It has ended.
    pub is_finished: bool,
    /// It is being deleted.
    pub is_terminating: bool,
    /// It is ready.
    pub is_ready: bool,
}

impl PodState {
    fn of(pod: &Value) -> Self {
        Self { is_finished: is_finished(pod), is_terminating: is_terminating(pod), is_ready: is_condition_true(pod, "Ready") }
    }

    /// It is ready, and stays so.
    pub(super) fn is_healthy(self) -> bool {
        self.is_ready && !self.is_terminating
    }

    /// It has not ended and is not being deleted.
    pub(super) fn is_active(self) -> bool {
        !self.is_finished && !self.is_terminating
    }
}

/// A change of an object: what it was before, also as the scheduler saw it.
struct Change {
    id: Id,
    before: Option<Entry>,
    of_state: Option<ObjectChange>,
}

/// What [`Model::back`] goes back to.
#[derive(Clone, Copy)]
pub(super) struct ModelMark {
    changes: usize,
    was_remembering: bool,
}

/// The objects.
pub(super) struct Model<'c> {
    /// As the scheduler sees them.
    pub state: ClusterState,
    objects: BTreeMap<Id, Entry>,
    /// The pods of each controller, by its uid, each with its state once it was looked at.
    owned: BTreeMap<String, BTreeMap<Id, Option<PodState>>>,
    decoder: &'c Decoder,
    /// Pods are many, and no controller asks who set their fields.
    pod_decoder: Decoder,
    shapes: QuotaShapes,
    /// The selectors of the disruption budgets that were looked at.
    selectors: BTreeMap<Id, Option<Arc<LabelSelector>>>,
    /// A number for each change, as revisions are.
    revision: i64,
    /// The changes since [`Model::remember`], which can be undone.
    changes: Vec<Change>,
    is_remembering: bool,
    /// Objects that cannot be read.
    pub unreadable: BTreeSet<String>,
}

impl<'c> Model<'c> {
    /// The objects of a state at a revision; those that the scheduler does not look at are added later.
    pub(super) fn new(state: ClusterState, decoder: &'c Decoder, revision: i64) -> Self {
        let (objects, owned, pod_decoder) = (BTreeMap::new(), BTreeMap::new(), decoder.clone().without_managed_fields());
        let (shapes, selectors, changes, unreadable) = (QuotaShapes::default(), BTreeMap::new(), Vec::new(), BTreeSet::new());
        Self { state, objects, owned, decoder, pod_decoder, shapes, selectors, revision, changes, is_remembering: false, unreadable }
    }

    /// The same objects for another thread; nothing is remembered of changes made before.
    pub(super) fn for_a_thread(&self) -> Self {
        let (objects, owned, unreadable) = (self.objects.clone(), self.owned.clone(), self.unreadable.clone());
        let (state, decoder, pod_decoder) = (self.state.on_one_core(), self.decoder, self.pod_decoder.clone());
        let (shapes, selectors, revision, changes) = (self.shapes.clone(), self.selectors.clone(), self.revision, Vec::new());
        Self { state, objects, owned, decoder, pod_decoder, shapes, selectors, revision, changes, is_remembering: false, unreadable }
    }

    /// Adds an object as it is stored; it is read when it is needed. Pods are in the state already.
    pub(super) fn add_stored(&mut self, id: Id, entry: KeyValue) {
        self.objects.insert(id.clone(), Entry::Stored(entry, None));
        self.own(&id);
    }

    /// An object. A pod that is read stays so until [`Model::back`], others for good.
    pub(super) fn get(&mut self, id: &Id) -> Option<Arc<Value>> {
        let stored = match self.objects.get(id)? {
            Entry::Read(object) => return Some(Arc::clone(object)),
            Entry::Stored(stored, _) => stored.clone(),
        };
        let object = Arc::new(self.read(id, &stored)?);
        let before = self.objects.insert(id.clone(), Entry::Read(Arc::clone(&object)));
        if id.kind == "Pod" {
            self.note(id.clone(), before, None);
        }
        Some(object)
    }

    /// A pod's state.
    pub(super) fn pod_state(&mut self, id: &Id) -> Option<PodState> {
        match self.objects.get(id)? {
            Entry::Read(pod) => Some(PodState::of(pod)),
            Entry::Stored(_, Some(known)) => Some(known.state),
            Entry::Stored(_, None) => self.look_at(id).map(|known| known.state),
        }
    }

    /// What quotas read of a pod.
    pub(super) fn quota_shape(&mut self, id: &Id) -> Option<QuotaShape> {
        match self.objects.get(id)? {
            Entry::Read(pod) => Some(self.shapes.of(pod)),
            Entry::Stored(_, Some(known)) => Some(Arc::clone(&known.shape)),
            Entry::Stored(_, None) => self.look_at(id).map(|known| known.shape),
        }
    }

    /// What a disruption budget selects; `None` where it selects nothing, as it has no selector or one that cannot be read.
    pub(super) fn selector(&mut self, budget: &Id) -> Option<Arc<LabelSelector>> {
        if let Some(known) = self.selectors.get(budget) {
            return known.clone();
        }
        let object = self.get(budget)?;
        let selector = object["spec"].get("selector").filter(|selector| selector.is_object());
        let selector = selector.and_then(LabelSelector::from_object).map(Arc::new);
        self.selectors.insert(budget.clone(), selector.clone());
        selector
    }

    /// Reads a stored pod, and keeps of it what is asked for again.
    fn look_at(&mut self, id: &Id) -> Option<KnownPod> {
        let Some(Entry::Stored(stored, _)) = self.objects.get(id) else { return None };
        let stored = stored.clone();
        let pod = self.read(id, &stored)?;
        let known = KnownPod { state: PodState::of(&pod), shape: self.shapes.of(&pod) };
        self.objects.insert(id.clone(), Entry::Stored(stored, Some(known.clone())));
        self.own(id);
        Some(known)
    }

    /// Decodes an object; those that cannot be are noted.
    fn read(&mut self, id: &Id, stored: &KeyValue) -> Option<Value> {
        let decoder = if id.kind == "Pod" { &self.pod_decoder } else { self.decoder };
        let Body::Object(object) = decoder.decode(&stored.key, &stored.value, stored.mod_revision.0).body else {
            self.unreadable.insert(format!("{} {}/{}", id.kind, id.namespace, id.name));
            return None;
        };
        Some(object.into_value())
    }

    /// Whether an object is there.
    pub(super) fn has(&self, id: &Id) -> bool {
        self.objects.contains_key(id)
    }

    /// The objects of a kind, in order of namespace and name.
    pub(super) fn ids(&self, kind: &str) -> Vec<Id> {
        let first = Id::new(kind, "", "");
        self.objects.range(first..).map(|(id, _)| id).take_while(|id| id.kind == kind).cloned().collect()
    }

    /// The objects of a kind in a namespace.
    pub(super) fn ids_in(&self, kind: &str, namespace: &str) -> Vec<Id> {
        let first = Id::new(kind, namespace, "");
        self.objects.range(first..).map(|(id, _)| id).take_while(|id| id.kind == kind && id.namespace == namespace).cloned().collect()
    }

    /// The pods that a controller owns, by name.
    pub(super) fn owned_by(&self, uid: &str) -> Vec<Id> {
        self.owned.get(uid).into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// How many pods that a controller owns have not ended and are not being deleted.
    pub(super) fn active_count(&mut self, uid: &str) -> usize {
        let unknown = self.owned.get(uid).into_iter().flatten().filter(|(_, state)| state.is_none());
        let unknown: Vec<Id> = unknown.map(|(id, _)| id.clone()).collect();
        unknown.iter().for_each(|id| {
            if self.pod_state(id).is_some() {
                self.own(id);
            }
        });
        let states = self.owned.get(uid).into_iter().flat_map(BTreeMap::values);
        states.filter(|state| state.is_some_and(PodState::is_active)).count()
    }

    /// A pod as the scheduler sees it.
    pub(super) fn pod(&self, id: &Id) -> Option<&Arc<PodInfo>> {
        self.state.pod(&id.namespace, &id.name)
    }

    /// Remembers changes from here on; returns what [`Model::back`] goes back to.
    pub(super) fn remember(&mut self) -> ModelMark {
        let was_remembering = std::mem::replace(&mut self.is_remembering, true);
        ModelMark { changes: self.changes.len(), was_remembering }
    }

    /// Undoes the changes since then.
    pub(super) fn back(&mut self, mark: ModelMark) {
        while self.changes.len() > mark.changes {
            let Some(Change { id, before, of_state }) = self.changes.pop() else { return };
            of_state.iter().for_each(|change| self.state.undo(change));
            self.disown(&id);
            match before {
                Some(entry) => drop(self.objects.insert(id.clone(), entry)),
                None => drop(self.objects.remove(&id)),
            }
            self.own(&id);
        }
        self.is_remembering = mark.was_remembering;
    }

    /// Writes an object.
    pub(super) fn put(&mut self, object: Value) {
        let id = Id::of(&object);
        self.revision += 1;
        let bytes = object.to_string().into_bytes();
        let of_state = ObjectKey::of(&object).map(|key| self.state.apply(&key, Some(&bytes), self.revision));
        self.disown(&id);
        let before = self.objects.insert(id.clone(), Entry::Read(Arc::new(object)));
        self.own(&id);
        self.note(id, before, of_state);
    }

    /// Deletes an object.
    pub(super) fn remove(&mut self, id: &Id) {
        self.revision += 1;
        self.disown(id);
        let key = ObjectKey::of(&serde_json::json!({"kind": id.kind, "metadata": {"namespace": id.namespace, "name": id.name}}));
        let of_state = key.map(|key| self.state.apply(&key, None::<&[u8]>, self.revision));
        let before = self.objects.remove(id);
        self.note(id.clone(), before, of_state);
    }

    /// Shows the scheduler a pod as it assumes it to be, until it is written.
    pub(super) fn assume(&mut self, id: &Id, pod: &Value) {
        self.revision += 1;
        let bytes = pod.to_string().into_bytes();
        let of_state = ObjectKey::of(pod).map(|key| self.state.apply(&key, Some(&bytes), self.revision));
        let before = self.objects.get(id).cloned();
        self.note(id.clone(), before, of_state);
    }

    fn note(&mut self, id: Id, before: Option<Entry>, of_state: Option<ObjectChange>) {
        if self.is_remembering {
            self.changes.push(Change { id, before, of_state });
        }
    }

    /// Lists a pod among those of its controller.
    fn own(&mut self, id: &Id) {
        let Some(uid) = self.controller_of(id) else { return };
        let state = match self.objects.get(id) {
            Some(Entry::Read(pod)) => Some(PodState::of(pod)),
            Some(Entry::Stored(_, known)) => known.as_ref().map(|known| known.state),
            None => None,
        };
        self.owned.entry(uid).or_default().insert(id.clone(), state);
    }

    /// Takes a pod off the list of its controller, and forgets what a budget selects: it may be another object from here on.
    fn disown(&mut self, id: &Id) {
        self.selectors.remove(id);
        let uid = self.controller_of(id);
        if let Some(pods) = uid.and_then(|uid| self.owned.get_mut(&uid)) {
            pods.remove(id);
        }
    }

    /// The uid of the controller of a pod.
    fn controller_of(&self, id: &Id) -> Option<String> {
        (id.kind == "Pod").then(|| match self.objects.get(id)? {
            Entry::Read(pod) => controller(pod).map(|owner| text(owner, "/uid").to_owned()),
            Entry::Stored(..) => self.pod(id)?.controller_uid().map(str::to_owned),
        })?
    }
}

#[cfg(test)]
mod tests {
    use ketcd_scheduler::{Release, Scheduler, VersionEvidence, VersionFrom};
    use ketcd_store::Revision;
    use serde_json::json;

    use super::*;

    /// A large cluster has more pods than memory holds in full, and each of many losses reads some.
    #[test]
    fn a_pod_that_was_read_is_given_up_with_what_changed() {
        let scheduler = Scheduler::with_defaults(VersionFrom { release: Release(37), patch: None, evidence: VersionEvidence::Given });
        let decoder = Decoder::new();
        let mut model = Model::new(ClusterState::new(scheduler.profiles[0].rules.requests), &decoder, 1);
        let (id, conditions) = (Id::pod("lab", "web"), json!([{"type": "Ready", "status": "True"}]));
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "lab", "name": "web", "managedFields": [{"manager": "m"}]},
            "status": {"phase": "Running", "conditions": conditions}});
        let stored = KeyValue {
            key: "/registry/pods/lab/web".into(),
            value: pod.to_string().into(),
            create_revision: Revision(1),
            mod_revision: Revision(1),
            version: 1,
            replaced: Revision(0),
            lease: 0,
        };
        model.add_stored(id.clone(), stored);
        let is_held = |model: &Model<'_>| matches!(model.objects[&id], Entry::Read(_));
        let state = model.pod_state(&id).unwrap();
        assert!(state.is_active() && state.is_ready && !is_held(&model));
        let outer = model.remember();
        let mut read = (*model.get(&id).unwrap()).clone();
        assert!(is_held(&model) && read["metadata"].get("managedFields").is_none());
        let inner = model.remember();
        read["status"]["phase"] = json!("Failed");
        model.put(read);
        assert!(model.pod_state(&id).unwrap().is_finished);
        model.back(inner);
        assert!(is_held(&model) && model.is_remembering && model.pod_state(&id).unwrap().is_active());
        model.back(outer);
        assert!(!is_held(&model) && !model.is_remembering && model.pod_state(&id).unwrap().is_active());
    }
}

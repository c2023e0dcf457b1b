//! The objects of a cluster while a simulation changes them: as the API has them, and as its scheduler sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ketcd_kube::{Body, Decoder};
use ketcd_scheduler::cluster::{ClusterState, ObjectChange, ObjectKey, PodInfo};
use ketcd_store::KeyValue;
use serde_json::Value;

use super::json::{controller, text};

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
    Stored(KeyValue),
    Read(Arc<Value>),
}

/// A change of an object: what it was before, also as the scheduler saw it.
struct Change {
    id: Id,
    before: Option<Entry>,
    of_state: Option<ObjectChange>,
}

/// The objects.
pub(super) struct Model<'c> {
    /// As the scheduler sees them.
    pub state: ClusterState,
    objects: BTreeMap<Id, Entry>,
    /// The pods of each controller, by its uid.
    owned: BTreeMap<String, BTreeSet<Id>>,
    decoder: &'c Decoder,
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
        let (objects, owned) = (BTreeMap::new(), BTreeMap::new());
        Self { state, objects, owned, decoder, revision, changes: Vec::new(), is_remembering: false, unreadable: BTreeSet::new() }
    }

    /// The same objects for another thread; nothing is remembered of changes made before.
    pub(super) fn for_a_thread(&self) -> Self {
        let (objects, owned, unreadable) = (self.objects.clone(), self.owned.clone(), self.unreadable.clone());
        let (state, decoder, revision) = (self.state.on_one_core(), self.decoder, self.revision);
        Self { state, objects, owned, decoder, revision, changes: Vec::new(), is_remembering: false, unreadable }
    }

    /// Adds an object as it is stored; it is read when it is needed. Pods are in the state already.
    pub(super) fn add_stored(&mut self, id: Id, entry: KeyValue) {
        self.objects.insert(id.clone(), Entry::Stored(entry));
        self.own(&id);
    }

    /// An object.
    pub(super) fn get(&mut self, id: &Id) -> Option<Arc<Value>> {
        let entry = self.objects.get_mut(id)?;
        if let Entry::Stored(stored) = entry {
            match self.decoder.decode(&stored.key, &stored.value, stored.mod_revision.0).body {
                Body::Object(object) => *entry = Entry::Read(Arc::new(object.into_value())),
                Body::Opaque(_) => {
                    self.unreadable.insert(format!("{} {}/{}", id.kind, id.namespace, id.name));
                    return None;
                }
            }
        }
        if let Entry::Read(object) = entry { Some(object.clone()) } else { None }
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
        self.owned.get(uid).into_iter().flatten().cloned().collect()
    }

    /// A pod as the scheduler sees it.
    pub(super) fn pod(&self, id: &Id) -> Option<&Arc<PodInfo>> {
        self.state.pod(&id.namespace, &id.name)
    }

    /// Remembers changes from here on; returns what [`Model::back`] goes back to.
    pub(super) fn remember(&mut self) -> usize {
        self.is_remembering = true;
        self.changes.len()
    }

    /// Undoes the changes since then.
    pub(super) fn back(&mut self, mark: usize) {
        while self.changes.len() > mark {
            let Some(Change { id, before, of_state }) = self.changes.pop() else { return };
            of_state.iter().for_each(|change| self.state.undo(change));
            self.disown(&id);
            match before {
                Some(entry) => drop(self.objects.insert(id.clone(), entry)),
                None => drop(self.objects.remove(&id)),
            }
            self.own(&id);
        }
        self.is_remembering = mark > 0;
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
        if let Some(uid) = self.controller_of(id) {
            self.owned.entry(uid).or_default().insert(id.clone());
        }
    }

    /// Takes a pod off the list of its controller.
    fn disown(&mut self, id: &Id) {
        let uid = self.controller_of(id);
        if let Some(pods) = uid.and_then(|uid| self.owned.get_mut(&uid)) {
            pods.remove(id);
        }
    }

    /// The uid of the controller of a pod.
    fn controller_of(&self, id: &Id) -> Option<String> {
        (id.kind == "Pod").then(|| match self.objects.get(id)? {
            Entry::Read(pod) => controller(pod).map(|owner| text(owner, "/uid").to_owned()),
            Entry::Stored(_) => self.pod(id)?.controller_uid().map(str::to_owned),
        })?
    }
}

//! The lives of objects: a name is given again after a deletion, and each of its lives has a uid of its own.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use ketcd_history::AttributedChange;
use ketcd_history::timeline::{Phase, Subject, Timeline};
use ketcd_kube::Object;
use ketcd_store::Revision;

/// The most owners that are followed from an object upwards.
const MAX_OWNER_DEPTH: usize = 8;

/// One life of an object.
pub(super) struct Life {
    /// Its uid.
    pub uid: String,
    /// The first readable revision of it.
    pub since: Revision,
    /// Its last readable version.
    pub last: Arc<Object>,
}

/// The lives of all objects, by their keys, oldest first.
#[derive(Default)]
pub(super) struct Lives(HashMap<Bytes, Vec<Life>>);

impl Lives {
    /// Takes a change into account.
    pub(super) fn observe(&mut self, attributed: &AttributedChange) {
        let change = &attributed.change;
        let Some(object) = change.whole() else { return };
        let Some(uid) = object["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()) else { return };
        if matches!(object["kind"].as_str(), Some("Event" | "Lease")) {
            return;
        }
        let lives = self.0.entry(change.key.clone()).or_default();
        match lives.last_mut().filter(|life| life.uid == uid) {
            Some(life) => life.last = Arc::clone(object),
            None => lives.push(Life { uid: uid.to_owned(), since: change.revision, last: Arc::clone(object) }),
        }
    }

    /// The lives of a key, oldest first.
    pub(super) fn of(&self, key: &[u8]) -> &[Life] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// The life of each uid, with its key.
    pub(super) fn by_uid(&self) -> HashMap<&str, (&Bytes, &Life)> {
        self.0.iter().flat_map(|(key, lives)| lives.iter().map(move |life| (life.uid.as_str(), (key, life)))).collect()
    }
}

impl Life {
    /// The object, with the uid of this life.
    pub(super) fn subject(&self) -> Subject {
        Subject::of(&self.last)
    }

    /// The node of a pod.
    pub(super) fn node(&self) -> Option<String> {
        self.last["spec"]["nodeName"].as_str().map(str::to_owned)
    }

    /// The owner that controls it.
    fn controller(&self) -> Option<Subject> {
        controller(&self.last)
    }

    /// Its owners, the nearest first, as far as they are readable; of the last only its name may be.
    pub(super) fn owners(&self, by_uid: &HashMap<&str, (&Bytes, &Life)>) -> Vec<Subject> {
        let mut owners = Vec::new();
        let mut next = self.controller();
        while let Some(owner) = next.filter(|_| owners.len() < MAX_OWNER_DEPTH) {
            next = by_uid.get(owner.uid.as_str()).and_then(|(_, life)| life.controller());
            owners.push(owner);
        }
        owners
    }
}

/// The phases of one life in the timeline of its key, given when the next life begins.
pub(super) fn phases_of<'t>(timeline: &'t Timeline, life: &Life, next: Option<&Life>) -> Vec<&'t Phase> {
    let is_its = |phase: &&Phase| phase.revision >= life.since && next.is_none_or(|next| phase.revision < next.since);
    timeline.phases.iter().filter(is_its).collect()
}

fn controller(object: &Value) -> Option<Subject> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
    // Nodes alone own what has a namespace without having one.
    let namespace = if owner["kind"] == "Node" { "" } else { object["metadata"]["namespace"].as_str().unwrap_or_default() };
    Some(Subject { kind: text("kind"), namespace: namespace.to_owned(), name: text("name"), uid: text("uid") })
}

//! The lives of objects: a name is given again after a deletion, and each of its lives has a uid of its own.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::Value;

use ketcd_history::AttributedChange;
use ketcd_history::timeline::{Phase, Subject, Timeline};
use ketcd_store::Revision;

/// The most owners that are followed from an object upwards.
const MAX_OWNER_DEPTH: usize = 8;

/// One life of an object, with what traces need of its last readable version: a large cluster has many, and whole ones take much memory.
pub(super) struct TracedLife {
    /// Its uid.
    pub uid: String,
    /// The first readable revision of it.
    pub since: Revision,
    /// The object, with the uid of this life.
    pub subject: Subject,
    /// The node of a pod.
    pub node: Option<String>,
    /// The names of a pod's claims.
    pub claims: Vec<String>,
    /// The names and images of a pod's containers, init containers first.
    pub containers: Vec<(String, String)>,
    /// The annotation that is asked for.
    pub annotation: Option<String>,
    /// The owner that controls it.
    controller: Option<Subject>,
}

/// The lives of all objects, by their keys, oldest first.
#[derive(Default)]
pub(super) struct Lives {
    by_key: HashMap<Bytes, Vec<TracedLife>>,
    annotation: Option<String>,
}

impl Lives {
    /// Keeps the value of an annotation, too.
    pub(super) fn with(annotation: Option<&str>) -> Self {
        Self { annotation: annotation.map(str::to_owned), ..Self::default() }
    }

    /// Takes a change into account.
    pub(super) fn observe(&mut self, attributed: &AttributedChange) {
        let change = &attributed.change;
        let Some(object) = change.whole() else { return };
        let Some(uid) = object["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()) else { return };
        if matches!(object["kind"].as_str(), Some("Event" | "Lease")) {
            return;
        }
        let lives = self.by_key.entry(change.key.clone()).or_default();
        let since = lives.last().filter(|life| life.uid == uid).map(|life| life.since);
        let life = TracedLife::of(object, since.unwrap_or(change.revision), self.annotation.as_deref());
        match lives.last_mut().filter(|_| since.is_some()) {
            Some(last) => *last = life,
            None => lives.push(life),
        }
    }

    /// Forgets the lives of the other keys.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&[u8]) -> bool) {
        self.by_key.retain(|key, _| is_kept(key));
    }

    /// The lives of a key, oldest first.
    pub(super) fn of(&self, key: &[u8]) -> &[TracedLife] {
        self.by_key.get(key).map_or(&[], Vec::as_slice)
    }

    /// The life of each uid, with its key.
    pub(super) fn by_uid(&self) -> HashMap<&str, (&Bytes, &TracedLife)> {
        self.by_key.iter().flat_map(|(key, lives)| lives.iter().map(move |life| (life.uid.as_str(), (key, life)))).collect()
    }
}

impl TracedLife {
    fn of(object: &Value, since: Revision, annotation: Option<&str>) -> Self {
        let subject = Subject::of(object);
        let spec = &object["spec"];
        let items = |field: &str| spec[field].as_array().into_iter().flatten();
        let container = |container: &Value| Some((container["name"].as_str()?.to_owned(), container["image"].as_str()?.to_owned()));
        let claim = |volume: &Value| match (volume["persistentVolumeClaim"]["claimName"].as_str(), volume["ephemeral"].is_object()) {
            (Some(claim), _) => Some(claim.to_owned()),
            (None, true) => Some(format!("{}-{}", subject.name, volume["name"].as_str().unwrap_or_default())),
            (None, false) => None,
        };
        Self {
            uid: subject.uid.clone(),
            since,
            node: spec["nodeName"].as_str().map(str::to_owned),
            claims: items("volumes").filter_map(claim).collect(),
            containers: items("initContainers").chain(items("containers")).filter_map(container).collect(),
            annotation: annotation.and_then(|key| object["metadata"]["annotations"][key].as_str()).map(str::to_owned),
            controller: controller(object),
            subject,
        }
    }

    /// Its owners, the nearest first, as far as they are readable; of the last only its name may be.
    pub(super) fn owners(&self, by_uid: &HashMap<&str, (&Bytes, &TracedLife)>) -> Vec<Subject> {
        let mut owners = Vec::new();
        let mut next = self.controller.clone();
        while let Some(owner) = next.filter(|_| owners.len() < MAX_OWNER_DEPTH) {
            next = by_uid.get(owner.uid.as_str()).and_then(|(_, life)| life.controller.clone());
            owners.push(owner);
        }
        owners
    }
}

/// The phases of one life in the timeline of its key, given when the next life begins.
pub(super) fn phases_of<'t>(timeline: &'t Timeline, life: &TracedLife, next: Option<&TracedLife>) -> Vec<&'t Phase> {
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

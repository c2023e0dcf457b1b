//! What the requests of audit logs say about objects, on the way to a history: values are in a file, and here is where.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use ketcd_audit::{Made, Request, RequestEffect, Verb};
use ketcd_history::clock::newest_stamp;
use ketcd_kube::Kind;
use ketcd_store::load::{ValuePlace, ValueWriter};
use ketcd_store::{KeyValue, Result};

use super::super::targets::{self, TargetKinds};
use super::conversion::stored;
use super::derivation::Sending;
use crate::cluster::{DEFAULT_PREFIX, built_in};
use crate::notice::Notice;

/// What was done to a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Did {
    Object(ValuePlace),
    /// This was sent, and the object after it is not in the log.
    Sent(Sending, ValuePlace),
    /// The replicas were set.
    Scaled(i64),
    Deleted,
    /// Every object whose key begins so was deleted.
    Collection,
    /// It was changed, and the log does not say how.
    Hidden,
}

/// A change of a key, or what shows one.
#[derive(Clone, Debug)]
pub(super) struct ShownChange {
    /// The place among the keys.
    pub key: u32,
    pub revision: Option<i64>,
    pub did: Did,
    /// When its request was received and answered, in microseconds; for an object from a file, when its newest time was written.
    pub times: Option<(i64, i64)>,
    /// Whether a request wrote it, and did not only show it.
    pub is_write: bool,
    /// Whether the request made the object.
    pub creates: bool,
    pub based_on: Option<i64>,
    pub subresource: Arc<str>,
    /// A number for the object's identifier; 0 where it is not known.
    pub uid: u64,
    /// Whether the object is a pod on a node.
    pub has_node: bool,
}

/// A key and what is known of its kind.
pub(super) struct KnownKey {
    pub key: Vec<u8>,
    pub is_custom: bool,
    pub resource: Arc<str>,
}

/// Times in objects are whole seconds, in microseconds.
const MICROS_PER_SECOND: i64 = 1_000_000;

pub(super) struct Collected {
    pub keys: Vec<KnownKey>,
    places: HashMap<Vec<u8>, u32>,
    kinds: TargetKinds,
    pub writer: ValueWriter,
    pub found: Vec<ShownChange>,
    /// Where the version of a key at a revision is among what was found.
    versions: HashMap<(u32, i64), usize>,
    /// Resources whose changes are logged without bodies, and those that are logged without answers, with how many.
    hidden: BTreeMap<String, u64>,
    derived: BTreeMap<String, u64>,
    none: Arc<str>,
}

impl Collected {
    /// Nothing yet of logs of this name.
    pub(super) fn new(name: &str) -> Result<Self> {
        Ok(Self {
            keys: Vec::new(),
            places: HashMap::new(),
            kinds: TargetKinds::default(),
            writer: ValueWriter::new(name)?,
            found: Vec::new(),
            versions: HashMap::new(),
            hidden: BTreeMap::new(),
            derived: BTreeMap::new(),
            none: "".into(),
        })
    }

    /// Whether the logs say what became of any object.
    pub(super) fn has_changes(&self) -> bool {
        self.found.iter().any(|found| !matches!(found.did, Did::Hidden))
    }

    pub(super) fn add(&mut self, request: &Request, effects: Vec<RequestEffect>) -> Result<()> {
        effects.into_iter().try_for_each(|effect| self.add_effect(request, effect))
    }

    fn add_effect(&mut self, request: &Request, effect: RequestEffect) -> Result<()> {
        let kind = self.kinds.of(&request.target, built_in().iter());
        if kind.as_ref().is_some_and(|kind| !kind.is_stored()) {
            return Ok(());
        }
        self.count(request, &effect.made);
        let RequestEffect { namespace, name, revision, made } = effect;
        let mut found = ShownChange {
            key: self.key(request, kind.as_deref(), (&namespace, &name)),
            revision,
            did: Did::Hidden,
            times: Some(request.interval()),
            is_write: request.verb.writes(),
            creates: request.target.subresource.is_empty() && (request.verb == Verb::Create || request.code == 201),
            based_on: request.based_on,
            subresource: Arc::clone(&request.target.subresource),
            uid: request.uid.as_deref().map_or(0, number),
            has_node: false,
        };
        match made {
            Made::Shown(object) | Made::Object(object) => return self.add_object(found, stored(object), kind.as_deref()),
            Made::Sent(object) => {
                let sending = if found.creates { Sending::New } else { Sending::Whole };
                found.did = Did::Sent(sending, self.write(&stored(object))?);
            }
            Made::Patched(patch) => found.did = Did::Sent(Sending::Patch, self.write(&patch)?),
            Made::Bound(binding) => found.did = Did::Sent(Sending::Binding, self.write(&binding)?),
            Made::Scaled(replicas) => {
                let (key, place) = (found.key, self.found.len());
                // An answer that names a version that is known changed nothing.
                if revision.is_some_and(|revision| *self.versions.entry((key, revision)).or_insert(place) != place) {
                    return Ok(());
                }
                found.did = Did::Scaled(replicas);
            }
            Made::Deleted => found.did = Did::Deleted,
            Made::CollectionDeleted => found.did = Did::Collection,
            Made::Hidden { .. } => {}
        }
        self.found.push(found);
        Ok(())
    }

    /// Takes an object that a file holds.
    pub(super) fn add_base(&mut self, key_value: &KeyValue) -> Result<()> {
        let revision = Some(key_value.mod_revision.0.max(1));
        let key = self.place(&key_value.key, false, &self.none.clone());
        let found = ShownChange {
            key,
            revision,
            did: Did::Hidden,
            times: None,
            is_write: false,
            creates: false,
            based_on: None,
            subresource: Arc::clone(&self.none),
            uid: 0,
            has_node: false,
        };
        let Ok(object) = serde_json::from_slice::<Value>(&key_value.value) else { return Ok(()) };
        // The newest time in an object is that of its last write.
        let written = newest_stamp(&object).map(|time| (time.as_microsecond(), time.as_microsecond() + MICROS_PER_SECOND));
        self.add_object(ShownChange { times: written, ..found }, object, None)
    }

    /// Takes a version of an object. The same version may be answered often: who wrote it was answered first.
    fn add_object(&mut self, found: ShownChange, object: Value, kind: Option<&Kind>) -> Result<()> {
        let Some(revision) = found.revision else { return Ok(()) };
        let is_other = kind.is_some_and(|kind| object["kind"] != *kind.kind)
            || matches!(object["kind"].as_str(), None | Some("Status" | "Table" | "PartialObjectMetadata"));
        if is_other || object["metadata"]["name"].as_str().is_none() {
            return Ok(());
        }
        let known = self.versions.get(&(found.key, revision)).copied();
        if let Some(known) = known.filter(|&known| matches!(self.found[known].did, Did::Object(_))) {
            let before = &mut self.found[known];
            let is_earlier = |found: &ShownChange, before: &ShownChange| match (found.times, before.times) {
                (Some((_, to)), Some((_, known))) => to < known,
                (times, _) => times.is_some(),
            };
            if found.is_write && (!before.is_write || is_earlier(&found, before)) {
                *before = ShownChange { did: before.did, uid: before.uid, has_node: before.has_node, ..found };
            }
            return Ok(());
        }
        let place = self.write(&object)?;
        let uid = object["metadata"]["uid"].as_str().map_or(found.uid, number);
        let has_node = object["kind"] == "Pod" && object["spec"]["nodeName"].is_string();
        let found = ShownChange { did: Did::Object(place), uid, has_node, ..found };
        match known {
            Some(known) => self.found[known] = found,
            None => {
                self.versions.insert((found.key, revision), self.found.len());
                self.found.push(found);
            }
        }
        Ok(())
    }

    /// Whether the version of a key at a revision is known: then a deletion that names it was made later.
    pub(super) fn has_version(&self, key: u32, revision: i64) -> bool {
        self.versions.contains_key(&(key, revision))
    }

    /// The first revision that a request wrote; the newest one where none did.
    pub(super) fn oldest(&self) -> i64 {
        let revisions = |is_counted: fn(&ShownChange) -> bool| {
            self.found.iter().filter(move |found| is_counted(found)).filter_map(|found| found.revision)
        };
        revisions(|found| found.is_write).min().or_else(|| revisions(|_| true).max()).unwrap_or(1)
    }

    /// What the policy leaves out, a notice for each of its ways.
    pub(super) fn left_out(&self) -> Vec<Notice> {
        let listed = |counts: &BTreeMap<String, u64>| counts.iter().map(|(resource, count)| (resource.clone(), *count)).collect::<Vec<_>>();
        let mut notices = Vec::new();
        if !self.hidden.is_empty() {
            notices.push(Notice::AuditWithoutBodies { resources: listed(&self.hidden) });
        }
        if !self.derived.is_empty() {
            notices.push(Notice::AuditWithoutAnswers { resources: listed(&self.derived) });
        }
        notices
    }

    fn count(&mut self, request: &Request, made: &Made) {
        let counts = match made {
            Made::Hidden { by_policy: true } => &mut self.hidden,
            Made::Sent(_) | Made::Patched(_) => &mut self.derived,
            _ => return,
        };
        let target = &request.target;
        let group =
            if target.group.is_empty() || self.kinds.has_resource(&target.resource) { String::new() } else { format!(".{}", target.group) };
        let subresource = if target.subresource.is_empty() { String::new() } else { format!("/{}", target.subresource) };
        *counts.entry(format!("{}{group}{subresource}", target.resource)).or_default() += 1;
    }

    fn write(&mut self, value: &Value) -> Result<ValuePlace> {
        // A value of text, numbers and the like is always JSON.
        self.writer.write(&serde_json::to_vec(value).unwrap_or_default())
    }

    /// The place of a key, or of what the keys of a collection begin with.
    fn key(&mut self, request: &Request, kind: Option<&Kind>, named: (&str, &str)) -> u32 {
        let key = targets::key(DEFAULT_PREFIX, kind, &request.target, named);
        self.place(key.as_bytes(), kind.is_none(), &request.target.resource)
    }

    fn place(&mut self, key: &[u8], is_custom: bool, resource: &Arc<str>) -> u32 {
        if let Some(&known) = self.places.get(key) {
            return known;
        }
        let place = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push(KnownKey { key: key.to_vec(), is_custom, resource: Arc::clone(resource) });
        self.places.insert(key.to_vec(), place);
        place
    }
}

fn number(uid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish().max(1)
}

impl ShownChange {
    /// When the request was answered.
    pub(super) fn time(&self) -> Timestamp {
        self.times.and_then(|(_, to)| Timestamp::from_microsecond(to).ok()).unwrap_or_default()
    }
}

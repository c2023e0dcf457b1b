//! Puts what was collected in order, gives a revision to what has none, and applies what was only sent.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use ketcd_audit::{Placed, Unplaced, Written, may_stay, place};
use ketcd_store::Result;
use ketcd_store::load::{RebuiltChange, RebuiltValues, ValuePlace, ValueWriter};

use super::collection::{Collected, Did, KnownKey, ShownChange};
use super::derivation::{Sending, made, scaled, with};

struct Alive {
    key: u32,
    value: (usize, ValuePlace),
    revision: i64,
    create_revision: i64,
    /// Whether it was changed since in a way that the log does not say.
    is_changed: bool,
}

/// The history that was collected: its keys, the files of its values, and its changes. Objects that are worked out may take `most` bytes.
///
/// # Errors
/// TMPDIR has no room, or they take more.
pub(super) fn changes(mut collected: Collected, name: &str, most: u64) -> Result<(Vec<Vec<u8>>, Vec<RebuiltValues>, Vec<RebuiltChange>)> {
    for at in 0..collected.found.len() {
        let ShownChange { key, revision, did, .. } = collected.found[at];
        // Older API servers answer a deletion with the object as it was.
        if let (Did::Deleted, Some(revision)) = (did, revision)
            && collected.has_version(key, revision)
        {
            collected.found[at].revision = None;
        }
    }
    let places = placed(&collected.found);
    let Collected { keys, writer, found, .. } = collected;
    let mut replay = Replay {
        keys,
        read: writer.finish()?,
        derived: ValueWriter::new(name)?.of_at_most(most),
        waiting: HashMap::new(),
        alive: BTreeMap::new(),
        changes: Vec::new(),
    };
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|&at| (places[at].revision, places[at].sub_revision, found[at].times, at));
    for at in order {
        replay.take(&found[at], places[at])?;
    }
    number(&mut replay.changes);
    let keys = replay.keys.into_iter().map(|known| known.key).collect();
    Ok((keys, vec![replay.read, replay.derived.finish()?], replay.changes))
}

/// Where everything that was found goes. What the log does not show changes no revision of what it shows, so it goes last.
fn placed(found: &[ShownChange]) -> Vec<Placed> {
    let mut places = vec![Placed { revision: 0, sub_revision: 0 }; found.len()];
    let mut known: Vec<Written> = Vec::new();
    let mut versions: HashMap<(u32, u64), KnownVersions> = HashMap::new();
    for (at, change) in found.iter().enumerate() {
        if let Some(revision) = change.revision {
            places[at].revision = revision;
            let (from, to) = change.times.unzip();
            known.push(Written { revision, from: from.filter(|_| change.is_write), to });
            if change.uid != 0 && matches!(change.did, Did::Object(_)) {
                versions.entry((change.key, change.uid)).or_default().add(revision, change.has_node);
            }
        }
    }
    for is_hidden in [false, true] {
        let unknown: Vec<usize> =
            (0..found.len()).filter(|&at| found[at].revision.is_none() && matches!(found[at].did, Did::Hidden) == is_hidden).collect();
        let unplaced: Vec<Unplaced> = unknown.iter().map(|&at| bounded(&found[at], &versions)).collect();
        for (&at, place) in unknown.iter().zip(place(&known, &unplaced)) {
            places[at] = place;
            let (from, to) = found[at].times.unzip();
            known.push(Written { revision: place.revision, from, to });
        }
    }
    places
}

/// The revisions of an object's versions that are known.
struct KnownVersions {
    last: i64,
    last_without_node: i64,
    first_with_node: i64,
}

impl Default for KnownVersions {
    fn default() -> Self {
        Self { last: 0, last_without_node: 0, first_with_node: i64::MAX }
    }
}

impl KnownVersions {
    fn add(&mut self, revision: i64, has_node: bool) {
        self.last = self.last.max(revision);
        match has_node {
            true => self.first_with_node = self.first_with_node.min(revision),
            false => self.last_without_node = self.last_without_node.max(revision),
        }
    }
}

/// A change without a revision, with what the versions of its object say.
fn bounded(change: &ShownChange, versions: &HashMap<(u32, u64), KnownVersions>) -> Unplaced {
    let (from, to) = change.times.unwrap_or_default();
    let of_same = versions.get(&(change.key, change.uid));
    let (after, before) = match (change.did, of_same) {
        (Did::Sent(Sending::Binding, _), Some(known)) => (known.last_without_node, known.first_with_node),
        (Did::Deleted, Some(known)) => (known.last, i64::MAX),
        _ => (0, i64::MAX),
    };
    Unplaced { from, to, after, before }
}

/// Numbers the changes of each revision.
fn number(changes: &mut [RebuiltChange]) {
    changes.sort_by_key(|change| (change.revision, change.sub_revision));
    for of_revision in changes.chunk_by_mut(|one, next| one.revision == next.revision).filter(|changes| changes.len() > 1) {
        (0..).zip(of_revision).for_each(|(number, change)| change.sub_revision = number);
    }
}

struct Replay {
    keys: Vec<KnownKey>,
    /// The values that bodies hold, and those that were worked out.
    read: RebuiltValues,
    derived: ValueWriter,
    /// Values that were worked out and are still needed: a file that is being written is not read.
    waiting: HashMap<u32, Box<[u8]>>,
    alive: BTreeMap<Vec<u8>, Alive>,
    changes: Vec<RebuiltChange>,
}

/// Which of the files of values those are that were worked out.
const DERIVED_FILE: usize = 1;

impl Replay {
    fn take(&mut self, found: &ShownChange, place: Placed) -> Result<()> {
        match found.did {
            Did::Object(value) => {
                self.waiting.remove(&found.key);
                self.put(found, place, (0, value), false);
            }
            Did::Sent(sending, sent) => {
                let sent = serde_json::from_slice(&self.read.at(sent)).unwrap_or_default();
                let KnownKey { is_custom, .. } = self.keys[found.key as usize];
                let before = self.object(found.key);
                let object = made(sending, before, sent, &found.subresource, found.time(), is_custom);
                self.derive(found, place, object)?;
            }
            Did::Scaled(replicas) => {
                let object = self.object(found.key).and_then(|object| scaled(object, replicas));
                self.derive(found, place, object)?;
            }
            Did::Deleted => self.delete(found.key, place, found.revision.is_none()),
            Did::Collection => self.delete_collection(found, place),
            Did::Hidden => self.hide(found.key),
        }
        Ok(())
    }

    fn object(&self, key: u32) -> Option<Value> {
        if let Some(object) = self.waiting.get(&key) {
            return serde_json::from_slice(object).ok();
        }
        let (file, value) = self.alive.get(&self.keys[key as usize].key)?.value;
        (file != DERIVED_FILE).then(|| serde_json::from_slice(&self.read.at(value)).ok()).flatten()
    }

    fn length(&self, key: u32) -> usize {
        let of_file = || self.alive.get(&self.keys[key as usize].key).map_or(0, |alive| alive.value.1.length());
        self.waiting.get(&key).map_or_else(of_file, |object| object.len())
    }

    /// Writes an object that was worked out; `None` says that it could not be.
    fn derive(&mut self, found: &ShownChange, place: Placed, object: Option<Value>) -> Result<()> {
        let numbered =
            object.filter(Value::is_object).and_then(|object| with(object, "/metadata/resourceVersion", place.revision.to_string()));
        let Some(object) = numbered else {
            // A small patch of a large object is as much work if nothing comes of it.
            self.derived.count(self.length(found.key))?;
            self.hide(found.key);
            return Ok(());
        };
        let text = serde_json::to_vec(&object).unwrap_or_default();
        let value = self.derived.write(&text)?;
        self.waiting.insert(found.key, text.into());
        self.put(found, place, (DERIVED_FILE, value), true);
        Ok(())
    }

    fn put(&mut self, found: &ShownChange, place: Placed, value: (usize, ValuePlace), is_derived: bool) {
        let key = &self.keys[found.key as usize].key;
        let before = self.alive.get(key);
        let is_creation = found.creates && before.is_none();
        let is_next = |before: &&Alive| {
            let is_based_on = found.based_on.is_none_or(|revision| revision == before.revision);
            found.is_write && !before.is_changed && is_based_on && before.revision < place.revision
        };
        let create_revision = if is_creation { place.revision } else { before.map_or(0, |before| before.create_revision) };
        self.changes.push(RebuiltChange {
            revision: place.revision,
            sub_revision: place.sub_revision,
            key: found.key,
            value: Some(value),
            create_revision,
            is_creation,
            replaced: before.filter(is_next).map_or(0, |before| before.revision),
            is_derived,
            is_placed: found.revision.is_none(),
        });
        let alive = Alive { key: found.key, value, revision: place.revision, create_revision, is_changed: false };
        self.alive.insert(key.clone(), alive);
    }

    fn delete(&mut self, key: u32, place: Placed, is_placed: bool) {
        self.waiting.remove(&key);
        self.alive.remove(&self.keys[key as usize].key);
        self.changes.push(RebuiltChange {
            revision: place.revision,
            sub_revision: place.sub_revision,
            key,
            value: None,
            create_revision: 0,
            is_creation: false,
            replaced: 0,
            is_derived: false,
            is_placed,
        });
    }

    /// Deletes what is known of a collection, but what may stay for a while.
    fn delete_collection(&mut self, found: &ShownChange, place: Placed) {
        let prefix = self.keys[found.key as usize].key.clone();
        let within = self.alive.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        let within: Vec<u32> = within.map(|(_, alive)| alive.key).collect();
        for (number, key) in (0..).zip(within) {
            let stays = self.object(key).is_none_or(|object| may_stay(&self.keys[key as usize].resource, &object));
            match stays {
                true => self.hide(key),
                false => self.delete(key, Placed { sub_revision: place.sub_revision + number, ..place }, true),
            }
        }
    }

    fn hide(&mut self, key: u32) {
        if let Some(alive) = self.alive.get_mut(&self.keys[key as usize].key) {
            alive.is_changed = true;
        }
    }
}

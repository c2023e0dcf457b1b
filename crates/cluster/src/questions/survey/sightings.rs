//! Which objects of a large cluster have a story worth a row of their own: one pass over the few fields that show it. The others are counted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use ketcd_history::state::{State, Tone, state_of};
use ketcd_kube::FieldSet;

/// With more objects than this, not every object gets a row.
pub const MAX_OBJECT_ROWS: usize = 5_000;

/// What one change shows. It is found without what was found before, so that another core can do it.
pub(super) struct Sighting {
    key: u64,
    what: SightedKind,
}

enum SightedKind {
    Object(Box<KeysSeen>),
    Gone,
    Event { about: u64, is_warning: bool },
}

struct KeysSeen {
    is_created: bool,
    uid: u64,
    owner: u64,
    about: u64,
    /// Differs once somebody wanted another thing of the object.
    mark: u64,
    kind: String,
    namespace: String,
    state: State,
}

/// An object as its last change left it.
struct Surveyed {
    uid: u64,
    owner: u64,
    about: u64,
    mark: u64,
    group: u32,
    /// How many objects were seen before it.
    place: u32,
    changes: u32,
    worst: Tone,
    now: Tone,
    /// Whether it was ever healthy: changes before that belong to its creation.
    is_settled: bool,
    is_changed: bool,
    is_gone: bool,
}

/// Objects of a kind, a namespace and a state that have no rows.
type SightingGroup = (String, String, State);

/// Reads sightings. Objects are known by hashes of their keys and uids.
#[derive(Clone, Default)]
pub(super) struct SightingReader {
    hasher: RandomState,
}

/// The objects seen so far. Among a million objects, no two are expected to share a hash.
#[derive(Default)]
pub(super) struct Survey {
    reader: SightingReader,
    objects: HashMap<u64, Surveyed>,
    groups: Vec<SightingGroup>,
    group_ids: HashMap<u64, u32>,
    warnings: HashMap<u64, u32>,
    /// The Events' keys, and what they are about.
    events: Vec<(u64, u64)>,
}

/// Which objects get rows, and how many do not.
pub struct RowSelection {
    hasher: RandomState,
    wanted: HashSet<u64>,
    /// What has no rows, by kind and namespace.
    pub unlisted: Vec<Unlisted>,
    /// How many of them have a story too, for which there was no room.
    pub storied: usize,
}

/// Objects of one kind and namespace that have no rows.
pub struct Unlisted {
    /// Their kind.
    pub kind: String,
    /// Their namespace.
    pub namespace: String,
    /// How many are in each state at the end, the largest number first; deleted objects have no state.
    pub states: Vec<(Option<State>, usize)>,
}

impl SightingReader {
    /// What a change shows: the object after it, `None` where it was deleted, and whether it was created.
    pub(super) fn sighting(&self, key: &[u8], is_created: bool, object: Option<&Value>) -> Sighting {
        let hash = |text: &Value| self.hasher.hash_one(text.as_str().unwrap_or_default());
        let key = self.hasher.hash_one(key);
        let Some(object) = object else { return Sighting { key, what: SightedKind::Gone } };
        if object["kind"] == "Event" {
            let about = &object["involvedObject"];
            let about = if about["kind"] == "Node" { self.node(&about["name"]) } else { hash(&about["uid"]) };
            return Sighting { key, what: SightedKind::Event { about, is_warning: object["type"] == "Warning" } };
        }
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let owners = metadata["ownerReferences"].as_array();
        let owner = owners.and_then(|owners| owners.iter().find(|owner| owner["controller"] == true).or(owners.first()));
        let is_node = object["kind"] == "Node";
        let seen = KeysSeen {
            is_created,
            uid: hash(&metadata["uid"]),
            owner: owner.map_or(0, |owner| hash(&owner["uid"])),
            about: if is_node { self.node(&metadata["name"]) } else { hash(&metadata["uid"]) },
            mark: self.mark(object),
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            state: state_of(object),
        };
        Sighting { key, what: SightedKind::Object(Box::new(seen)) }
    }

    /// Kubelets name a node in their Events where its uid belongs.
    fn node(&self, name: &Value) -> u64 {
        self.hasher.hash_one(("Node", name.as_str().unwrap_or_default()))
    }

    fn mark(&self, object: &Value) -> u64 {
        let restarts = |list: &str| {
            let statuses = object["status"][list].as_array().into_iter().flatten();
            statuses.filter_map(|status| status["restartCount"].as_i64()).sum::<i64>()
        };
        match object["kind"].as_str() {
            Some("Node") => self.hasher.hash_one(object["spec"].to_string()),
            Some("Pod") => {
                let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
                self.hasher.hash_one((generation, restarts("containerStatuses"), restarts("initContainerStatuses")))
            }
            _ => match object["metadata"]["generation"].as_i64() {
                Some(generation) => self.hasher.hash_one(generation),
                // What has no status either is written for nothing but its content.
                None if object["status"].is_null() => 0,
                None => 1,
            },
        }
    }
}

impl Survey {
    pub(super) fn fields() -> FieldSet {
        const METADATA_FIELDS: [&str; 6] = ["uid", "namespace", "name", "generation", "deletionTimestamp", "ownerReferences"];
        const SPEC_FIELDS: [&str; 5] = ["nodeName", "replicas", "suspend", "unschedulable", "taints"];
        const STATUS_FIELDS: [&str; 17] = [
            "phase",
            "reason",
            "active",
            "allocation",
            "reservedFor",
            "numberReady",
            "desiredNumberScheduled",
            "readyReplicas",
            "updatedReplicas",
            "conditions.type",
            "conditions.status",
            "conditions.reason",
            "containerStatuses.restartCount",
            "containerStatuses.state.waiting.reason",
            "initContainerStatuses.state.waiting.reason",
            "initContainerStatuses.restartCount",
            "replicas",
        ];
        let below = |above: &'static str, names: &'static [&'static str]| names.iter().map(move |name| format!("{above}.{name}"));
        let paths: Vec<String> =
            below("metadata", &METADATA_FIELDS).chain(below("spec", &SPEC_FIELDS)).chain(below("status", &STATUS_FIELDS)).collect();
        let of_events = ["kind", "type", "involvedObject.kind", "involvedObject.name", "involvedObject.uid"];
        FieldSet::of(paths.iter().map(String::as_str).chain(of_events))
    }

    /// Returns a reader of sightings, which may run on any core.
    pub(super) fn reader(&self) -> SightingReader {
        self.reader.clone()
    }

    /// Adds what the next change shows.
    pub(super) fn note(&mut self, sighting: Sighting) {
        match sighting.what {
            SightedKind::Event { about, is_warning } => {
                self.events.push((sighting.key, about));
                if is_warning {
                    *self.warnings.entry(about).or_default() += 1;
                }
            }
            SightedKind::Gone => {
                if let Some(object) = self.objects.get_mut(&sighting.key) {
                    object.is_gone = true;
                }
            }
            SightedKind::Object(seen) => self.note_object(sighting.key, *seen),
        }
    }

    fn note_object(&mut self, key: u64, seen: KeysSeen) {
        let KeysSeen { is_created, uid, owner, about, mark, kind, namespace, state } = seen;
        let now = state.tone;
        let (group, place) = (self.group((kind, namespace, state)), self.objects.len() as u32);
        match self.objects.get_mut(&key) {
            Some(known) if known.uid == uid => {
                known.is_changed |= known.is_settled && (known.mark != mark || mark == 0);
                // Nodes are created as not ready, claims as unbound: what they stay for a while is their beginning.
                if now.severity() > known.worst.severity() && (known.is_settled || known.group != group) {
                    known.worst = now;
                }
                known.is_settled |= is_settled(now);
                (known.now, known.group, known.mark) = (now, group, mark);
                known.changes += 1;
            }
            other => {
                // A namesake that was there before is a story.
                let is_gone = other.is_some();
                let first = Surveyed {
                    uid,
                    owner,
                    about,
                    mark,
                    group,
                    place,
                    changes: 1,
                    worst: if is_created { Tone::Neutral } else { now },
                    now,
                    is_settled: is_settled(now),
                    is_changed: is_gone,
                    is_gone: false,
                };
                self.objects.insert(key, first);
            }
        }
    }

    fn group(&mut self, group: SightingGroup) -> u32 {
        let (kind, namespace, state) = &group;
        let hash = self.reader.hasher.hash_one((kind, namespace, &state.label, state.tone.severity(), state.tone.as_str()));
        *self.group_ids.entry(hash).or_insert_with(|| {
            self.groups.push(group);
            self.groups.len() as u32 - 1
        })
    }

    /// Chooses the objects that get rows; `None` where all of them do.
    pub(super) fn select(self) -> Option<RowSelection> {
        if self.objects.len() <= MAX_OBJECT_ROWS {
            return None;
        }
        let story = |(&key, object): (&u64, &Surveyed)| ((self.weight(object), object.changes, object.place), key);
        let mut storied: Vec<((u32, u32, u32), u64)> = self.objects.iter().map(story).filter(|((weight, ..), _)| *weight > 0).collect();
        storied.sort_unstable_by(|a, b| b.cmp(a));
        let mut wanted: HashSet<u64> = storied.iter().take(MAX_OBJECT_ROWS).map(|(_, key)| *key).collect();
        let without_room = storied.len().saturating_sub(MAX_OBJECT_ROWS);
        self.add_owners(&mut wanted);
        let mut counts: BTreeMap<(&str, &str), HashMap<Option<u32>, usize>> = BTreeMap::new();
        for object in self.objects.iter().filter(|(key, _)| !wanted.contains(key)).map(|(_, object)| object) {
            let (kind, namespace, _) = &self.groups[object.group as usize];
            *counts.entry((kind, namespace)).or_default().entry((!object.is_gone).then_some(object.group)).or_default() += 1;
        }
        let unlisted = counts.into_iter().map(|((kind, namespace), counts)| {
            let state = |group: Option<u32>| group.map(|group| self.groups[group as usize].2.clone());
            let mut states: Vec<(Option<State>, usize)> = counts.into_iter().map(|(group, count)| (state(group), count)).collect();
            let label = |state: &Option<State>| state.as_ref().map(|state| state.label.clone());
            states.sort_by_cached_key(|(state, count)| (std::cmp::Reverse(*count), label(state)));
            Unlisted { kind: kind.to_owned(), namespace: namespace.to_owned(), states }
        });
        let unlisted = unlisted.collect();
        let of_wanted: HashSet<u64> = wanted.iter().filter_map(|key| self.objects.get(key)).map(|object| object.about).collect();
        wanted.extend(self.events.iter().filter(|(_, about)| of_wanted.contains(about)).map(|(key, _)| *key));
        Some(RowSelection { hasher: self.reader.hasher, wanted, unlisted, storied: without_room })
    }

    /// How much of a story an object has: 0 where it was never broken or held up, nobody changed or deleted it, and no Event warns of it.
    fn weight(&self, object: &Surveyed) -> u32 {
        let now = match object.now {
            _ if object.is_gone => 300,
            Tone::Bad => 4000,
            Tone::Waiting => 2000,
            Tone::Ending => 1500,
            _ => 0,
        };
        let worst = match object.worst {
            Tone::Bad => 3000,
            // Much waits a moment when it is made.
            Tone::Waiting => 100,
            _ => 0,
        };
        let warned = self.warnings.get(&object.about).map_or(0, |&count| 500 + count.min(99));
        now.max(worst) + warned + if object.is_changed { 200 } else { 0 }
    }

    /// The owners of what is wanted, below which its rows stand.
    fn add_owners(&self, wanted: &mut HashSet<u64>) {
        let mut owners: HashSet<u64> = wanted.iter().filter_map(|key| self.objects.get(key)).map(|object| object.owner).collect();
        while !owners.is_empty() {
            let found = self.objects.iter().filter(|(key, object)| owners.contains(&object.uid) && !wanted.contains(key));
            let found: Vec<(u64, u64)> = found.map(|(&key, object)| (key, object.owner)).collect();
            wanted.extend(found.iter().map(|(key, _)| key));
            owners = found.into_iter().map(|(_, owner)| owner).collect();
        }
    }
}

/// Whether an object in this state looks healthy.
fn is_settled(tone: Tone) -> bool {
    matches!(tone, Tone::Good | Tone::Done | Tone::Neutral)
}

impl RowSelection {
    /// Whether the object of a key gets a row, or the Event of a key is about one that does.
    pub fn wants(&self, key: &[u8]) -> bool {
        self.wanted.contains(&self.hasher.hash_one(key))
    }
}

//! The objects of all files, as far as they were read, and where their bytes are.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::configuration;
use super::path_kind::PathKind;

use crate::load::budget::{Budget, Reservation};
use crate::load::options::KeyOf;
use crate::load::spool::no_room;

/// Bytes of compact JSON that are kept in one piece.
const PIECE_BYTES: usize = 32 << 20;

/// What is known of an object takes this many bytes of memory, and with the index of all of them twice as many.
const OBJECT_OVERHEAD_BYTES: u64 = 200;

/// Collects the objects of all files.
pub(in crate::load) struct Objects<'k> {
    pub(super) key_of: &'k KeyOf<'k>,
    /// Each file, and each piece of compact JSON; the last of them still grows.
    pub(super) images: Vec<Bytes>,
    pub(super) piece: Vec<u8>,
    pub(super) piece_image: Option<usize>,
    pub(super) kept: Vec<KeyedObject>,
    /// Objects of kinds not known, which a definition read later may make known.
    pub(super) unknown: Vec<Unknown>,
    /// Objects that a watch saw deleted, each as it was, with the version of that.
    pub(super) deleted: Vec<(Value, i64)>,
    pub(super) newest: i64,
    pub(super) files: Vec<String>,
    /// The file's place among the images; `None` where its objects are copied, as there may be more files than images.
    pub(super) file_image: Option<usize>,
    /// The bytes of a file whose objects are copied.
    pub(super) text: Bytes,
    /// Whether anything in the file looked like an object or a list of them.
    pub(super) recognised: bool,
    budget: Budget,
    piece_room: Reservation,
    /// The memory that what is known of the objects takes.
    memory: Reservation,
    /// Why no more are taken, a fragment.
    stopped: Option<String>,
    /// What the path of the file says that objects without a kind are.
    pub(super) path_kind: Option<PathKind>,
    /// How many objects of each file got their kind so.
    pub(super) by_path: BTreeMap<(usize, &'static str), usize>,
    /// How many objects of each file name no namespace, and are taken to be of [`DEFAULT_NAMESPACE`].
    pub(super) without_namespace: BTreeMap<usize, usize>,
    /// What the documents of the file are that are configuration, and how many there are.
    pub(super) configuration: (Option<&'static str>, usize),
}

/// Where kubectl puts what names no namespace.
const DEFAULT_NAMESPACE: &str = "default";

/// Where bytes lie among the collector's images.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) image: usize,
    pub(super) start: usize,
    pub(super) length: usize,
}

pub(super) struct KeyedObject {
    pub(super) key: Spot,
    pub(super) value: Spot,
    /// Its resourceVersion; 0 where it has none.
    pub(super) version: i64,
    pub(super) file: usize,
}

/// An object whose key is not known yet.
pub(super) struct Unknown {
    pub(super) value: Spot,
    pub(super) version: i64,
    pub(super) file: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Collected {
    pub(super) kept: usize,
    pub(super) unknown: usize,
    pub(super) newest: i64,
}

impl<'k> Objects<'k> {
    pub(in crate::load) fn new(key_of: &'k KeyOf<'k>, budget: Budget) -> Self {
        Self {
            key_of,
            images: Vec::new(),
            piece: Vec::new(),
            piece_image: None,
            kept: Vec::new(),
            unknown: Vec::new(),
            deleted: Vec::new(),
            newest: 1,
            files: Vec::new(),
            file_image: None,
            text: Bytes::new(),
            recognised: false,
            piece_room: budget.unpacked(),
            memory: budget.index(),
            budget,
            stopped: None,
            path_kind: None,
            by_path: BTreeMap::new(),
            without_namespace: BTreeMap::new(),
            configuration: (None, 0),
        }
    }

    /// Why no more objects are taken, if that is so: a fragment.
    pub(in crate::load) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Counts what is known of an object; says whether there is room for it.
    fn has_room(&mut self) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.memory.grow(OBJECT_OVERHEAD_BYTES).err().map(|exceeded| exceeded.to_string());
        }
        self.stopped.is_none()
    }

    /// Gives an object without a kind that which the path of its file names; returns whether it does.
    pub(super) fn complete(&mut self, object: &mut Value) -> bool {
        let Some(path_kind) = self.path_kind.filter(|path_kind| path_kind.complete(object)) else { return false };
        *self.by_path.entry((self.files.len() - 1, path_kind.kind)).or_default() += 1;
        true
    }

    /// Whether no file of objects was read.
    pub(in crate::load) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn mark(&self) -> Collected {
        Collected { kept: self.kept.len(), unknown: self.unknown.len(), newest: self.newest }
    }

    /// Forgets what was collected since.
    pub(super) fn back_to(&mut self, mark: Collected) {
        self.kept.truncate(mark.kept);
        self.unknown.truncate(mark.unknown);
        self.newest = mark.newest;
    }

    /// Takes note of a list, of which the items come apart.
    pub(super) fn add_list(&mut self, list: &Map<String, Value>) {
        self.recognised |= list.contains_key("kind");
        self.newest = self.newest.max(resource_version(list.get("metadata")));
    }

    /// Adds an object that lies in the file as it can be read.
    pub(super) fn add_in_file(&mut self, object: &Value, start: usize, length: usize) {
        let value = match self.file_image {
            Some(image) => Spot { image, start, length },
            None => {
                let text = self.text.slice(start..start + length);
                self.keep(&text)
            }
        };
        self.add(object, value);
    }

    /// Adds an object that must be written down, or one that an event of a watch holds.
    pub(super) fn add_written(&mut self, object: &Value) {
        if let Some((kind, object)) = watch_event(object) {
            return self.add_watched(kind, object);
        }
        // A value of text, numbers and the like is always JSON.
        let text = serde_json::to_vec(object).unwrap_or_default();
        let value = self.keep(&text);
        self.add(object, value);
    }

    /// Adds what an event of a watch says of an object.
    fn add_watched(&mut self, kind: &str, object: &Value) {
        self.recognised = true;
        match kind {
            "ADDED" | "MODIFIED" => self.add_written(object),
            "DELETED" => {
                let version = resource_version(object.get("metadata"));
                self.newest = self.newest.max(version);
                if !self.has_room() {
                    return;
                }
                self.deleted.push((object.clone(), version));
            }
            // A bookmark has the revision alone, an error no object.
            _ => self.newest = self.newest.max(resource_version(object.get("metadata"))),
        }
    }

    fn add(&mut self, object: &Value, value: Spot) {
        if !self.has_room() {
            return;
        }
        let version = resource_version(object.get("metadata"));
        self.newest = self.newest.max(version);
        self.recognised |= is_named(object);
        if let Some(said) = configuration::said(object) {
            self.configuration = (Some(said), self.configuration.1 + 1);
        }
        let unknown = Unknown { value, version, file: self.files.len() - 1 };
        match (self.key_of)(object) {
            Some(key) => self.keep_object(&key, object, unknown),
            None => self.unknown.push(unknown),
        }
    }

    /// Keeps an object under its key. One that the key puts into a namespace that it does not name gets that name.
    pub(super) fn keep_object(&mut self, key: &[u8], object: &Value, Unknown { mut value, version, file }: Unknown) {
        if let Some(object) = of_default_namespace(key, object) {
            *self.without_namespace.entry(file).or_default() += 1;
            value = self.keep(&serde_json::to_vec(&object).unwrap_or_default());
        }
        let key = self.keep(key);
        self.kept.push(KeyedObject { key, value, version, file });
    }

    /// Keeps bytes that lie in no file.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> Spot {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.close_piece();
        }
        if let Err(exceeded) = self.piece_room.grow(bytes.len() as u64) {
            self.stopped.get_or_insert(exceeded.to_string());
            return Spot { image: 0, start: 0, length: 0 };
        }
        let images = &mut self.images;
        let image = *self.piece_image.get_or_insert_with(|| {
            images.push(Bytes::new());
            images.len() - 1
        });
        let start = self.piece.len();
        self.piece.extend_from_slice(bytes);
        Spot { image, start, length: bytes.len() }
    }

    pub(super) fn close_piece(&mut self) {
        if let Some(image) = self.piece_image.take() {
            let piece = std::mem::take(&mut self.piece);
            let length = piece.len();
            let room = std::mem::replace(&mut self.piece_room, self.budget.unpacked());
            match self.budget.keep(piece, room) {
                Ok(bytes) => self.images[image] = bytes,
                Err(cause) => {
                    // Objects point into it.
                    self.images[image] = vec![0; length].into();
                    self.stopped.get_or_insert(no_room("objects", &cause).to_string());
                }
            }
        }
    }

    pub(super) fn bytes(&self, spot: Spot) -> &[u8] {
        &self.images[spot.image][spot.start..spot.start + spot.length]
    }

    pub(super) fn object(&self, spot: Spot) -> Value {
        serde_json::from_slice(self.bytes(spot)).unwrap_or(Value::Null)
    }
}

/// The object with a namespace, where it names none and its key has the default one.
fn of_default_namespace(key: &[u8], object: &Value) -> Option<Value> {
    let metadata = object.get("metadata")?;
    if metadata.get("namespace").and_then(Value::as_str).is_some_and(|namespace| !namespace.is_empty()) {
        return None;
    }
    let below = key.strip_suffix(metadata["name"].as_str()?.as_bytes())?.strip_suffix(b"/")?;
    if below.rsplit(|&byte| byte == b'/').next()? != DEFAULT_NAMESPACE.as_bytes() {
        return None;
    }
    let mut object = object.clone();
    object["metadata"]["namespace"] = DEFAULT_NAMESPACE.into();
    Some(object)
}

pub(super) fn is_list(object: &Map<String, Value>) -> bool {
    object.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
}

/// The type and the object of an event of a watch, as `kubectl get --watch --output-watch-events` prints it.
pub(super) fn watch_event(value: &Value) -> Option<(&str, &Value)> {
    const WATCH_EVENT_TYPES: [&str; 5] = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"];
    let event = value.as_object().filter(|event| event.len() == 2)?;
    let kind = event.get("type")?.as_str().filter(|kind| WATCH_EVENT_TYPES.contains(kind))?;
    Some((kind, event.get("object").filter(|object| is_named(object))?))
}

pub(super) fn is_named(object: &Value) -> bool {
    object.get("kind").is_some() && object.get("apiVersion").is_some()
}

/// An item of a typed list has no kind of its own: `PodList` holds pods of the list's version. Returns whether anything was lacking.
pub(super) fn name_after(list: &Map<String, Value>, item: &mut Value) -> bool {
    let kind = list.get("kind").and_then(Value::as_str).and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
    let (Value::Object(item), Some(kind)) = (item, kind) else { return false };
    if item.contains_key("kind") && item.contains_key("apiVersion") {
        return false;
    }
    item.entry("kind").or_insert_with(|| kind.into());
    if let Some(version) = list.get("apiVersion") {
        item.entry("apiVersion").or_insert_with(|| version.clone());
    }
    true
}

/// The resourceVersion in an object's or a list's metadata; 0 if there is none that a cluster could have given.
fn resource_version(metadata: Option<&Value>) -> i64 {
    let version = metadata.and_then(|metadata| metadata.get("resourceVersion")?.as_str()?.parse().ok());
    version.filter(|&version| version > 0 && version < i64::MAX / 2).unwrap_or(0)
}

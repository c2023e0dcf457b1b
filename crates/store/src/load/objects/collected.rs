//! The objects of all files, as far as they were read, and where their bytes are.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::load::options::KeyOf;

/// Bytes of compact JSON that are kept in one piece.
const PIECE: usize = 32 << 20;

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
}

/// Where bytes lie among the collector's images.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) image: usize,
    pub(super) start: usize,
    pub(super) length: usize,
}

/// An object that has a key.
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

/// How much was collected at some point.
#[derive(Clone, Copy)]
pub(super) struct Collected {
    pub(super) kept: usize,
    pub(super) unknown: usize,
    pub(super) newest: i64,
}

impl<'k> Objects<'k> {
    pub(in crate::load) fn new(key_of: &'k KeyOf<'k>) -> Self {
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
        }
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
                self.deleted.push((object.clone(), version));
            }
            // A bookmark has the revision alone, an error no object.
            _ => self.newest = self.newest.max(resource_version(object.get("metadata"))),
        }
    }

    fn add(&mut self, object: &Value, value: Spot) {
        let version = resource_version(object.get("metadata"));
        self.newest = self.newest.max(version);
        self.recognised |= is_named(object);
        let file = self.files.len() - 1;
        match (self.key_of)(object) {
            Some(key) => {
                let key = self.keep(&key);
                self.kept.push(KeyedObject { key, value, version, file });
            }
            None => self.unknown.push(Unknown { value, version, file }),
        }
    }

    /// Keeps bytes that lie in no file.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> Spot {
        if self.piece.len() + bytes.len() > PIECE {
            self.close_piece();
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
            let mut piece = std::mem::take(&mut self.piece);
            piece.shrink_to_fit();
            self.images[image] = piece.into();
        }
    }

    pub(super) fn bytes(&self, spot: Spot) -> &[u8] {
        &self.images[spot.image][spot.start..spot.start + spot.length]
    }

    pub(super) fn object(&self, spot: Spot) -> Value {
        serde_json::from_slice(self.bytes(spot)).unwrap_or(Value::Null)
    }
}

/// Whether an object is a list by its kind.
pub(super) fn is_list(object: &Map<String, Value>) -> bool {
    object.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
}

/// The type and the object of an event of a watch, as `kubectl get --watch --output-watch-events` prints it.
pub(super) fn watch_event(value: &Value) -> Option<(&str, &Value)> {
    const TYPES: [&str; 5] = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"];
    let event = value.as_object().filter(|event| event.len() == 2)?;
    let kind = event.get("type")?.as_str().filter(|kind| TYPES.contains(kind))?;
    Some((kind, event.get("object").filter(|object| is_named(object))?))
}

/// Whether an object says what it is.
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

/// The resourceVersion in an object's or a list's metadata; 0 where there is none that a cluster could have given.
fn resource_version(metadata: Option<&Value>) -> i64 {
    let version = metadata.and_then(|metadata| metadata.get("resourceVersion")?.as_str()?.parse().ok());
    version.filter(|&version| version > 0 && version < i64::MAX / 2).unwrap_or(0)
}

//! API objects as kubectl prints them: a `List`, one object, a YAML stream or lines of JSON. All files of them together are the state of one
//! moment: one revision, no history.
//!
//! Objects are read one by one. Of JSON only the places are kept, as it can be read where it lies; what comes as YAML, or lacks its kind, is kept as
//! compact JSON.

mod copies;
mod document;
mod json;
mod yaml;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::KeyOf;
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin, Revision, RevisionSpan};

/// Bytes of compact JSON that are kept in one piece.
const PIECE: usize = 32 << 20;

/// Problems of one file that are reported one by one.
const TOLD: usize = 10;

/// The error for files of an unknown format.
const NEITHER: &str = "is neither an etcd database nor API objects as kubectl prints them (JSON or YAML)";

/// Collects the objects of all files.
pub(super) struct Objects<'k> {
    key_of: &'k KeyOf<'k>,
    /// Each file, and each piece of compact JSON; the last of them still grows.
    images: Vec<Bytes>,
    piece: Vec<u8>,
    piece_image: Option<usize>,
    kept: Vec<Kept>,
    /// Objects of kinds not known, which a definition read later may make known.
    unknown: Vec<Unknown>,
    newest: i64,
    files: Vec<String>,
    /// The file's place among the images.
    file_image: usize,
    /// Whether anything in the file looked like an object or a list of them.
    recognised: bool,
}

/// Where bytes lie among the collector's images.
#[derive(Clone, Copy)]
struct Spot {
    image: usize,
    start: usize,
    length: usize,
}

/// An object that has a key.
struct Kept {
    key: Spot,
    value: Spot,
    /// Its resourceVersion; 0 where it has none.
    version: i64,
    file: usize,
}

/// An object whose key is not known yet.
struct Unknown {
    value: Spot,
    version: i64,
    file: usize,
}

/// How much was collected at some point.
#[derive(Clone, Copy)]
struct Mark {
    kept: usize,
    unknown: usize,
    newest: i64,
}

impl<'k> Objects<'k> {
    pub(super) fn new(key_of: &'k KeyOf<'k>) -> Self {
        Self {
            key_of,
            images: Vec::new(),
            piece: Vec::new(),
            piece_image: None,
            kept: Vec::new(),
            unknown: Vec::new(),
            newest: 1,
            files: Vec::new(),
            file_image: 0,
            recognised: false,
        }
    }

    /// Whether no file of objects was read.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Reads the objects of one file; returns what of it cannot be read, one message an item.
    ///
    /// # Errors
    ///
    /// A fragment, where the bytes are no objects.
    pub(super) fn read(&mut self, path: &str, bytes: &Bytes) -> Result<Vec<String>, String> {
        const HEAD: usize = 4096;
        if bytes[..bytes.len().min(HEAD)].contains(&0) {
            return Err(NEITHER.to_owned());
        }
        self.recognised = false;
        self.files.push(path.to_owned());
        self.file_image = self.images.len();
        self.images.push(bytes.clone());
        let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let first = bytes[start..].iter().find(|byte| !byte.is_ascii_whitespace());
        let is_json = first.is_some_and(|first| matches!(first, b'{' | b'['));
        let mut damage = if is_json { json::read(self, bytes, start) } else { yaml::read(self, &bytes.slice(start..)) };
        if damage.len() > TOLD {
            let more = damage.len() - TOLD;
            damage.truncate(TOLD);
            damage.push(format!("{more} more of its objects or documents cannot be read"));
        }
        if self.recognised {
            return Ok(damage);
        }
        let why = damage.into_iter().next().unwrap_or_else(|| "nothing in it has apiVersion and kind".to_owned());
        Err(format!("{NEITHER}: {why}"))
    }

    fn mark(&self) -> Mark {
        Mark { kept: self.kept.len(), unknown: self.unknown.len(), newest: self.newest }
    }

    /// Forgets what was collected since.
    fn back_to(&mut self, mark: Mark) {
        self.kept.truncate(mark.kept);
        self.unknown.truncate(mark.unknown);
        self.newest = mark.newest;
    }

    /// Takes note of a list, of which the items come apart.
    fn add_list(&mut self, list: &Map<String, Value>) {
        self.recognised |= list.contains_key("kind");
        self.newest = self.newest.max(resource_version(list.get("metadata")));
    }

    /// Adds an object that lies in the file as it can be read.
    fn add_in_file(&mut self, object: &Value, start: usize, length: usize) {
        let value = Spot { image: self.file_image, start, length };
        self.add(object, value);
    }

    /// Adds an object that must be written down.
    fn add_written(&mut self, object: &Value) {
        // A value of text, numbers and the like is always JSON.
        let text = serde_json::to_vec(object).unwrap_or_default();
        let value = self.keep(&text);
        self.add(object, value);
    }

    fn add(&mut self, object: &Value, value: Spot) {
        let version = resource_version(object.get("metadata"));
        self.newest = self.newest.max(version);
        self.recognised |= is_named(object);
        let file = self.files.len() - 1;
        match (self.key_of)(object) {
            Some(key) => {
                let key = self.keep(&key);
                self.kept.push(Kept { key, value, version, file });
            }
            None => self.unknown.push(Unknown { value, version, file }),
        }
    }

    /// Keeps bytes that lie in no file.
    fn keep(&mut self, bytes: &[u8]) -> Spot {
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

    fn close_piece(&mut self) {
        if let Some(image) = self.piece_image.take() {
            let mut piece = std::mem::take(&mut self.piece);
            piece.shrink_to_fit();
            self.images[image] = piece.into();
        }
    }

    fn bytes(&self, spot: Spot) -> &[u8] {
        &self.images[spot.image][spot.start..spot.start + spot.length]
    }

    fn object(&self, spot: Spot) -> Value {
        serde_json::from_slice(self.bytes(spot)).unwrap_or(Value::Null)
    }

    /// Ends the reading: one layer of one revision. Returns what was left out, with the place of its file.
    ///
    /// # Errors
    ///
    /// A fragment, where there are too many files.
    pub(super) fn finish(mut self, builder: &mut VersionsBuilder) -> Result<Vec<(usize, String)>, String> {
        const TOO_MANY: &str = "too many files at once";
        self.close_piece();
        self.ask_again();
        self.close_piece();
        let mut left_out = self.without_key();
        left_out.extend(copies::drop_older(&mut self));
        let mut images = Vec::with_capacity(self.images.len());
        for image in &self.images {
            images.push(builder.image(image.clone()).ok_or(TOO_MANY)?);
        }
        let layer = builder.layer(Layer { one_moment: true, ..Layer::default() }).ok_or(TOO_MANY)?;
        builder.set_span(layer, RevisionSpan { oldest: Revision(self.newest), newest: Revision(self.newest), compacted: None });
        self.kept.sort_by_key(|kept| kept.version);
        let place = |spot: Spot| Location { image: images[spot.image], start: spot.start as u64, length: spot.length as u32 };
        let (mut last, mut sub) = (-1, 0);
        for kept in &self.kept {
            sub = if kept.version == last { sub + 1 } else { 0 };
            last = kept.version;
            let found = StoredChange {
                main: kept.version,
                sub,
                kind: EventKind::Put,
                origin: Origin::Objects,
                key: place(kept.key),
                value: place(kept.value),
                create_revision: 0,
                version: 0,
                replaced: 0,
                lease: 0,
            };
            builder.push(layer, found);
        }
        Ok(left_out)
    }

    /// Asks once more for the keys not known: definitions may have come after their objects.
    fn ask_again(&mut self) {
        for unknown in std::mem::take(&mut self.unknown) {
            match (self.key_of)(&self.object(unknown.value)) {
                Some(key) => {
                    let key = self.keep(&key);
                    self.kept.push(Kept { key, value: unknown.value, version: unknown.version, file: unknown.file });
                }
                None => self.unknown.push(unknown),
            }
        }
    }

    /// Of each file and kind what has no key.
    fn without_key(&self) -> Vec<(usize, String)> {
        let mut by_kind: BTreeMap<(usize, String), (usize, String)> = BTreeMap::new();
        for unknown in &self.unknown {
            let object = self.object(unknown.value);
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
            let kind = format!("{} {}", text("/apiVersion"), text("/kind"));
            let (count, name) = by_kind.entry((unknown.file, kind)).or_default();
            *count += 1;
            *name = text("/metadata/name").to_owned();
        }
        let problems = by_kind.into_iter().map(|((file, kind), (count, name))| {
            let why = "its kind has no place in etcd that ketcd knows";
            let sentence = match count {
                1 => format!("{kind} {name} is left out: {why}"),
                _ => format!("{count} objects {kind} are left out: {why}"),
            };
            (file, sentence)
        });
        let mut problems: Vec<(usize, String)> = problems.collect();
        if let Some((file, _)) = problems.get(TOLD).cloned() {
            let more = problems.len() - TOLD;
            problems.truncate(TOLD);
            problems.push((file, format!("objects of {more} more kinds are left out")));
        }
        problems
    }
}

/// Whether an object is a list by its kind.
fn is_list(object: &Map<String, Value>) -> bool {
    object.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
}

/// Whether an object says what it is.
fn is_named(object: &Value) -> bool {
    object.get("kind").is_some() && object.get("apiVersion").is_some()
}

/// An item of a typed list has no kind of its own: `PodList` holds pods of the list's version. Returns whether anything was lacking.
fn name_after(list: &Map<String, Value>, item: &mut Value) -> bool {
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

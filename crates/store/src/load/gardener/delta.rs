//! The changes after a full snapshot: an array of JSON, and the SHA-256 of it at the end.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use sha2::{Digest, Sha256};

use super::super::budget::{Budget, Reservation, with_room};
use super::super::db_file::DatabaseFacts;
use super::super::mapped::map;
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin, Revision, RevisionSpan};

const CHECKSUM_BYTES: usize = 32;

/// Whether bytes begin as a delta does, as Go's `encoding/json` writes it.
pub(in super::super) fn begins_so(bytes: &[u8]) -> bool {
    bytes.starts_with(b"[{\"etcdEvent\":")
}

/// What a delta holds, without the SHA-256 at its end.
///
/// # Errors
///
/// A fragment: the SHA-256 is not that of the rest.
pub(super) fn verified(delta: &[u8]) -> Result<&[u8], String> {
    let (text, checksum) = delta.split_at_checked(delta.len().saturating_sub(CHECKSUM_BYTES)).ok_or("is too short")?;
    if Sha256::digest(text)[..] != *checksum {
        return Err("the SHA-256 at its end does not match: it was changed or damaged since it was written".to_owned());
    }
    Ok(text)
}

#[derive(Deserialize)]
struct WrittenEvent<'j> {
    #[serde(borrow, rename = "etcdEvent")]
    event: WatchEvent<'j>,
}

#[derive(Deserialize)]
struct WatchEvent<'j> {
    #[serde(default)]
    r#type: u8,
    #[serde(borrow)]
    kv: WrittenKeyValue<'j>,
}

#[derive(Deserialize)]
struct WrittenKeyValue<'j> {
    #[serde(default)]
    key: &'j str,
    #[serde(default)]
    value: &'j str,
    #[serde(default)]
    create_revision: i64,
    mod_revision: i64,
    #[serde(default)]
    version: i64,
    #[serde(default)]
    lease: i64,
}

/// Changes that were read, and the bytes of their keys and values, in a file without a name.
pub(super) struct Deltas {
    bytes: BufWriter<File>,
    length: u64,
    /// Ascending, as each file's are.
    pub changes: Vec<StoredChange>,
    /// What the bytes and the changes take.
    room: Reservation,
    memory: Reservation,
}

/// Adds the events of a delta one by one, so that they are never in memory together.
struct Events<'d> {
    deltas: &'d mut Deltas,
    /// Events up to this revision are known.
    upto: i64,
    refused: &'d mut Option<String>,
}

impl<'j> Visitor<'j> for Events<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("events")
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(WrittenEvent { event }) = events.next_element::<WrittenEvent<'j>>()? {
            if event.kv.mod_revision > self.upto
                && let Err(problem) = self.deltas.add(&event)
            {
                *self.refused = Some(problem);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

impl Deltas {
    pub(super) fn new(budget: &Budget) -> io::Result<Self> {
        let (room, memory) = (budget.unpacked(), budget.index());
        Ok(Self { bytes: BufWriter::new(tempfile::tempfile()?), length: 0, changes: Vec::new(), room, memory })
    }

    /// Reads a delta; of one that is damaged nothing is taken.
    ///
    /// # Errors
    ///
    /// A fragment: what is wrong with it.
    pub(super) fn read(&mut self, delta: &[u8]) -> Result<(), String> {
        let text = verified(delta)?;
        let known = self.changes.len();
        // A file that was written twice, by a sidecar that was restarted, begins with what is known.
        let upto = self.changes.last().map_or(0, |last| last.main);
        let mut refused = None;
        let mut events = serde_json::Deserializer::from_slice(text);
        let read = events.deserialize_seq(Events { deltas: self, upto, refused: &mut refused }).and_then(|()| events.end());
        read.map_err(|problem| {
            self.changes.truncate(known);
            refused.unwrap_or_else(|| format!("its JSON cannot be read at line {}, column {}", problem.line(), problem.column()))
        })
    }

    fn add(&mut self, event: &WatchEvent<'_>) -> Result<(), String> {
        let kind = match event.r#type {
            0 => EventKind::Put,
            1 => EventKind::Delete,
            _ => return Err("it has an event that is neither a put nor a delete".to_owned()),
        };
        let kv = &event.kv;
        let before = self.changes.last().map(|last| (last.main, last.sub));
        let sub = match before {
            Some((main, _)) if main > kv.mod_revision => return Err("its revisions do not ascend".to_owned()),
            Some((main, sub)) if main == kv.mod_revision => sub + 1,
            _ => 0,
        };
        if kv.mod_revision < 1 || kv.key.is_empty() {
            return Err("it has an event without a key or a revision".to_owned());
        }
        self.memory.grow(size_of::<StoredChange>() as u64).map_err(|exceeded| exceeded.to_string())?;
        let (key, value) = (self.keep(kv.key)?, self.keep(kv.value)?);
        self.changes.push(StoredChange {
            main: kv.mod_revision,
            sub,
            kind,
            origin: Origin::Db,
            key,
            value,
            create_revision: kv.create_revision,
            version: kv.version,
            replaced: 0,
            lease: kv.lease,
            crc: 0,
        });
        Ok(())
    }

    /// Keeps what a text stands for; its image is not known yet.
    fn keep(&mut self, text: &str) -> Result<Location, String> {
        let bytes = STANDARD.decode(text).map_err(|_| "a key or value in it is not base64".to_owned())?;
        let length = u32::try_from(bytes.len()).map_err(|_| "a value in it is longer than etcd takes".to_owned())?;
        self.room.grow(bytes.len() as u64).map_err(|exceeded| exceeded.to_string())?;
        self.bytes.write_all(&bytes).map_err(|cause| format!("cannot be unpacked: {cause}; set TMPDIR to a directory with more space"))?;
        let start = self.length;
        self.length += u64::from(length);
        Ok(Location { image: 0, start, length })
    }

    /// The changes, with their bytes in an image of the index.
    ///
    /// # Errors
    ///
    /// A fragment: there is no room.
    pub(super) fn finish(self, builder: &mut VersionsBuilder) -> Result<Vec<StoredChange>, String> {
        let no_room = |cause: io::Error| format!("cannot be unpacked: {cause}; set TMPDIR to a directory with more space");
        let file = self.bytes.into_inner().map_err(|failed| no_room(failed.into_error()))?;
        let image = builder.image(with_room(map("deltas", &file).map_err(no_room)?, self.room)).ok_or("too many files at once")?;
        let placed = |place: Location| Location { image, ..place };
        Ok(self.changes.into_iter().map(|change| StoredChange { key: placed(change.key), value: placed(change.value), ..change }).collect())
    }
}

/// Puts the changes of deltas without a full snapshot before them into the index: a history of the keys that they name.
///
/// # Errors
///
/// A fragment: they cannot be read.
pub(in super::super) fn load_alone(delta: &Bytes, budget: &Budget, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    let mut deltas = Deltas::new(budget).map_err(|cause| format!("cannot be unpacked: {cause}"))?;
    deltas.read(delta)?;
    add_alone(deltas, delta.len() as u64, builder)
}

/// The same, of deltas that were read.
pub(super) fn add_alone(deltas: Deltas, file_bytes: u64, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    let changes = deltas.finish(builder)?;
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Err("has no change that can be read".to_owned()) };
    let before = Revision(first.main).before();
    let span = RevisionSpan { oldest: before, newest: Revision(last.main), compacted: Some(before) };
    let layer = builder.layer(Layer::default()).ok_or("too many files at once")?;
    builder.set_span(layer, span);
    let notes = vec!["there is no full snapshot before these changes, so only the keys that they name are shown".to_owned()];
    let damage = holes(&changes);
    changes.into_iter().for_each(|change| builder.push(layer, change));
    // The layer is not named: what its keys were before is not known, so nothing proves that versions of them are missing.
    Ok(DatabaseFacts { file_bytes, in_use_bytes: file_bytes, notes, damage, span: Some(span), ..DatabaseFacts::default() })
}

/// The revisions between the first change and the last that are not here, each run a sentence: every revision of etcd makes a change.
fn holes(changes: &[StoredChange]) -> Vec<String> {
    const MAX_HOLES_NAMED: usize = 20;
    let between = |(one, next): (&StoredChange, &StoredChange)| (one.main + 1, next.main - 1);
    let mut runs = changes.iter().zip(changes.iter().skip(1)).map(between).filter(|(from, to)| from <= to);
    let sentence =
        |(from, to)| if from == to { format!("revision {from} is missing") } else { format!("revisions {from} to {to} are missing") };
    let mut sentences: Vec<String> = runs.by_ref().take(MAX_HOLES_NAMED).map(sentence).collect();
    let rest = runs.count();
    if rest > 0 {
        sentences.push(format!("{rest} more runs of revisions are missing"));
    }
    sentences
}

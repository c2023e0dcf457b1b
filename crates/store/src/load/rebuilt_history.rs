//! A history that is put together change by change from something other than etcd's files, such as the bodies in an audit log: values go into files
//! without a name, and the index is that of every other source.

use std::fs::File;
use std::io::{BufWriter, Write};

use bytes::Bytes;

use super::mapped::map_lazily;
use super::spool::no_room;
use crate::memory::MemorySource;
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{Error, EventKind, Origin, Result, Revision, RevisionSpan, Source, SourceKind, SourceStatus};

/// Where a value lies in the file that it was written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValuePlace {
    start: u64,
    length: u32,
}

impl ValuePlace {
    /// Returns how long the value is.
    pub fn length(self) -> usize {
        self.length as usize
    }
}

/// Values on their way into a file without a name, so that they are never on the heap together.
pub struct ValueWriter {
    name: String,
    file: BufWriter<File>,
    length: u64,
    /// How many bytes more may be written or [counted](Self::count).
    left: u64,
    most: u64,
}

impl ValueWriter {
    /// Makes the file; `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where TMPDIR has no room.
    pub fn new(name: &str) -> Result<Self> {
        const PIECE_BYTES: usize = 1 << 20;
        let file = tempfile::tempfile().map_err(|cause| no_room(name, &cause))?;
        Ok(Self { name: name.to_owned(), file: BufWriter::with_capacity(PIECE_BYTES, file), length: 0, left: u64::MAX, most: u64::MAX })
    }

    /// The same of a file that takes this many bytes: what is worked out of a log may be far longer than the log.
    #[must_use]
    pub fn of_at_most(self, bytes: u64) -> Self {
        Self { left: bytes, most: bytes, ..self }
    }

    /// Counts bytes as if they were written: those of a value that took the work, and came to nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where it is too much.
    pub fn count(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(|| Error::Format {
            path: self.name.clone(),
            problem: format!(
                "the objects derived from its requests are more than {} bytes, and ketcd stops there; if there are really that many, raise \
                 --max-unpacked-size",
                self.most
            ),
        })?;
        Ok(())
    }

    /// Writes a value.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where TMPDIR has no room, the value is longer than etcd takes any, or it is too much.
    pub fn write(&mut self, value: &[u8]) -> Result<ValuePlace> {
        self.count(value.len())?;
        let length = u32::try_from(value.len())
            .map_err(|_| Error::Format { path: self.name.clone(), problem: "holds an object of more than 4 GiB".to_owned() })?;
        self.file.write_all(value).map_err(|cause| no_room(&self.name, &cause))?;
        let place = ValuePlace { start: self.length, length };
        self.length += u64::from(length);
        Ok(place)
    }

    /// Ends the writing.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where TMPDIR has no room.
    pub fn finish(self) -> Result<RebuiltValues> {
        let no_room = |cause| no_room(&self.name, &cause);
        let file = self.file.into_inner().map_err(|error| no_room(error.into_error()))?;
        Ok(RebuiltValues(map_lazily(&self.name, &file).map_err(no_room)?))
    }
}

/// Values that were written: a memory map, so only what is read is in memory.
#[derive(Clone, Debug)]
pub struct RebuiltValues(Bytes);

impl RebuiltValues {
    /// Returns a value.
    pub fn at(&self, place: ValuePlace) -> Bytes {
        let end = place.start + u64::from(place.length);
        match (usize::try_from(place.start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if end <= self.0.len() => self.0.slice(start..end),
            _ => Bytes::new(),
        }
    }
}

/// A change of a history that is put together.
#[derive(Clone, Debug)]
pub struct RebuiltChange {
    /// The revision, and the place among its changes.
    pub revision: i64,
    /// The place among the changes of the revision, from 0.
    pub sub_revision: i64,
    /// The key, by its place among the keys.
    pub key: u32,
    /// The value, and which of the files it lies in; `None` for a deletion.
    pub value: Option<(usize, ValuePlace)>,
    /// The revision that created the key; 0 where it is not known.
    pub create_revision: i64,
    /// Whether this change created the key.
    pub is_creation: bool,
    /// The revision of the version that this one replaced; 0 where it is not known.
    pub replaced: i64,
    /// Whether the value was worked out and not read.
    pub is_derived: bool,
    /// Whether the revision was worked out and not read.
    pub is_placed: bool,
}

/// What a history is put together of.
pub struct Rebuilt {
    /// What it is called.
    pub name: String,
    /// The first revision of which the state is known.
    pub oldest: i64,
    /// The last revision of which the state is known, where that is later than all changes; else 0.
    pub newest: i64,
    /// The size of what was read, in bytes.
    pub bytes: u64,
    /// All keys.
    pub keys: Vec<Vec<u8>>,
    /// The files of values.
    pub values: Vec<RebuiltValues>,
    /// The changes, in any order.
    pub changes: Vec<RebuiltChange>,
}

/// Makes a source of a history that was put together.
///
/// # Errors
///
/// [`Error::Format`] if two changes contradict each other, or there are no changes.
pub fn open_rebuilt(rebuilt: Rebuilt) -> Result<Box<dyn Source>> {
    let Rebuilt { name, oldest, newest, bytes, keys, values, changes } = rebuilt;
    let failed = |problem: String| Error::Format { path: name.clone(), problem };
    let last = changes.iter().map(|change| change.revision).max().ok_or_else(|| failed("holds no object".to_owned()))?;
    let newest = newest.max(last);
    let (mut builder, mut starts, mut all) = (VersionsBuilder::default(), Vec::with_capacity(keys.len()), Vec::new());
    for key in &keys {
        starts.push((all.len() as u64, u32::try_from(key.len()).unwrap_or_default()));
        all.extend_from_slice(key);
    }
    let too_many = || failed("is made of too many files".to_owned());
    let key_image = builder.image(all.into()).ok_or_else(too_many)?;
    let images = values.into_iter().map(|values| builder.image(values.0).ok_or_else(too_many)).collect::<Result<Vec<u16>>>()?;
    let layer = builder.layer(Layer::default()).ok_or_else(too_many)?;
    // What is not in it was not asked for: its revisions are of other objects, and none of these is missing.
    builder.skip(1, newest);
    let oldest = oldest.clamp(1, newest);
    let compacted = (oldest > 1).then_some(Revision(oldest));
    builder.set_span(layer, RevisionSpan { oldest: Revision(oldest), newest: Revision(newest), compacted });
    for change in changes {
        let (start, length) = starts[change.key as usize];
        let value = change.value.map_or_else(Location::default, |(file, place)| Location {
            image: images[file],
            start: place.start,
            length: place.length,
        });
        builder.push(
            layer,
            StoredChange {
                main: change.revision,
                sub: change.sub_revision,
                kind: if change.value.is_some() { EventKind::Put } else { EventKind::Delete },
                origin: match change {
                    RebuiltChange { is_placed: true, .. } => Origin::Placed,
                    RebuiltChange { is_derived: true, .. } => Origin::Derived,
                    RebuiltChange { .. } => Origin::AuditLog,
                },
                key: Location { image: key_image, start, length },
                value,
                create_revision: change.create_revision,
                version: i64::from(change.is_creation),
                replaced: change.replaced,
                lease: 0,
                crc: 0,
            },
        );
    }
    let versions = builder.finish().map_err(|revision| failed(format!("says two things of revision {revision}")))?;
    let status = move || SourceStatus { file_bytes: bytes, in_use_bytes: bytes, ..SourceStatus::new(SourceKind::AuditLog, name.clone()) };
    Ok(Box::new(MemorySource::new(versions, Vec::new(), Vec::new(), Vec::new, status).of_some_keys()))
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt, TryStreamExt};

    use super::*;
    use crate::{At, KeyRange, Until, Want, WatchItem};

    #[test]
    fn a_history_that_was_put_together_is_read_as_every_other() {
        let mut writer = ValueWriter::new("log").unwrap();
        let places: Vec<ValuePlace> = ["one", "two"].iter().map(|value| writer.write(value.as_bytes()).unwrap()).collect();
        let change = |revision: i64, value: Option<usize>| RebuiltChange {
            revision,
            sub_revision: 0,
            key: 0,
            value: value.map(|value| (0, places[value])),
            create_revision: 5,
            is_creation: revision == 5,
            replaced: if revision == 9 { 5 } else { 0 },
            is_derived: value.is_some_and(|value| value == 1),
            is_placed: value.is_none(),
        };
        let source = open_rebuilt(Rebuilt {
            name: "log".to_owned(),
            oldest: 5,
            newest: 15,
            bytes: 6,
            keys: vec![b"/a".to_vec()],
            values: vec![writer.finish().unwrap()],
            changes: vec![change(9, Some(1)), change(5, Some(0)), change(12, None)],
        })
        .unwrap();
        let alive = |revision: i64| -> Vec<Bytes> {
            let listing = source.range(KeyRange::all(), At::Revision(Revision(revision)), Want::Values).now_or_never().unwrap().unwrap();
            listing.entries.map_ok(|entry| entry.value).try_collect().now_or_never().unwrap().unwrap()
        };
        assert_eq!((alive(8), alive(11), alive(12)), (vec![Bytes::from("one")], vec![Bytes::from("two")], Vec::new()));
        let items: Vec<_> = source.watch(KeyRange::all(), Revision(1), Until::Forever).collect().now_or_never().unwrap();
        let origins: Vec<Origin> = items
            .into_iter()
            .filter_map(|item| if let WatchItem::Event(event) = item.unwrap() { Some(event.origin) } else { None })
            .collect();
        assert_eq!(origins, [Origin::AuditLog, Origin::Derived, Origin::Placed]);
        assert!(!source.facts().has_all_keys);
        assert_eq!(source.span().now_or_never().unwrap().unwrap().newest, Revision(15));
    }
}

//! Takes the pairs of etcd's bucket `key` into the index: each is a change.
//!
//! In a database that a running etcd writes they count only if the file still says so afterwards; keys are copied, because their pages may be
//! reused while the index is made, and values get a checksum, by which one that is read later is recognised.

use std::collections::HashSet;

use bytes::Bytes;

use super::bolt::BucketPair;
use super::mvcc::{KeyValuePlaces, RevisionKey};
use crate::versions::{Interner, Location, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin};

/// Takes the pairs of the bucket in their order.
pub(super) struct KeyBucketReader<'a> {
    /// The mapping, and its number among the index's images.
    bytes: Bytes,
    image: u16,
    layer: usize,
    pub builder: &'a mut VersionsBuilder,
    /// The copies, where the file is being written.
    pub copies: Option<PageCopies>,
    /// The key of the last pair that counts.
    after: Option<Vec<u8>>,
    last: Option<(i64, i64)>,
    /// Markers that a restore left: nothing ever had the revisions before them.
    markers: Vec<i64>,
    /// Each a sentence, with the place of its entry.
    bad: Vec<((i64, i64), String)>,
}

/// Copies of what lies in pages that may be used again.
pub(super) struct PageCopies {
    keys: Interner,
    image_of_keys: u16,
    image_of_values: u16,
}

impl PageCopies {
    /// Adds the images that the copies will be in.
    pub(super) fn new(builder: &mut VersionsBuilder) -> Option<Self> {
        let mut image = || builder.image(Bytes::new());
        Some(Self { keys: Interner::default(), image_of_keys: image()?, image_of_values: image()? })
    }

    /// Copies the key of a change out of the mapping, and makes the checksum of its value.
    pub(super) fn own(&mut self, mapping: &[u8], found: &mut StoredChange) {
        let id = self.keys.id(&mapping[bytes_of(found.key)]);
        found.key = self.keys.place(self.image_of_keys, id);
        found.crc = crc32c::crc32c(&mapping[bytes_of(found.value)]);
    }

    /// Whether a change that was taken is what was read again since: at the same place, of the same key, with the same numbers and bytes.
    pub(super) fn is_again(&self, mapping: &[u8], taken: &StoredChange, again: &StoredChange) -> bool {
        let numbers = |found: &StoredChange| (found.kind, found.create_revision, found.version, found.value.start, found.value.length);
        numbers(again) == numbers(taken)
            && mapping[bytes_of(again.key)] == *self.keys.bytes(taken.key)
            && crc32c::crc32c(&mapping[bytes_of(again.value)]) == taken.crc
    }

    /// Hands the keys over to the index.
    pub(super) fn finish(self, builder: &mut VersionsBuilder) {
        builder.fill_image(self.image_of_keys, self.keys.into_bytes());
    }
}

impl<'a> KeyBucketReader<'a> {
    pub(super) fn new(bytes: Bytes, image: u16, layer: usize, builder: &'a mut VersionsBuilder, copies: Option<PageCopies>) -> Self {
        Self { bytes, image, layer, builder, copies, after: None, last: None, markers: Vec::new(), bad: Vec::new() }
    }

    pub(super) fn pair(&mut self, pair: &BucketPair) {
        let place = self.last.unwrap_or_default();
        let Some(key) = RevisionKey::read(&self.bytes[pair.key.clone()]).filter(|_| !pair.is_bucket) else {
            return self.bad(place, pair, "its key is not a revision");
        };
        let place = (key.main, key.sub);
        if self.last.replace(place) == Some(place) {
            return self.bad(place, pair, &format!("revision {}: it is a second change {}", key.main, key.sub));
        }
        // A restore with --bump-revision leaves a marker without a value.
        if pair.value.is_empty() && !key.tombstone {
            return self.markers.push(key.main);
        }
        match found(&self.bytes, self.image, key, pair.value.start, pair.value.len(), Origin::Db) {
            Ok(mut found) => {
                if let Some(copies) = &mut self.copies {
                    copies.own(&self.bytes, &mut found);
                }
                self.builder.push(self.layer, found);
            }
            Err(problem) => self.bad(place, pair, &format!("revision {}: {problem}", key.main)),
        }
    }

    /// The key of the last pair that counts, whatever happens to its page.
    pub(super) fn after(&self) -> Option<&[u8]> {
        self.after.as_deref()
    }

    /// Forgets what a pass read behind `sound`, the key of the last pair of it that counts.
    pub(super) fn forget_after_pass(&mut self, sound: Option<Vec<u8>>) {
        // An unreadable key says nothing of how far the index came.
        self.after = sound.or(self.after.take()).filter(|key| RevisionKey::read(key).is_some());
        let last = self.after.as_deref().and_then(RevisionKey::read).map(|key| (key.main, key.sub));
        self.builder.forget_after(self.layer, last);
        self.last = last;
        self.bad.retain(|(place, _)| Some(*place) <= last);
        self.markers.retain(|marker| Some((*marker, 0)) <= last);
    }

    pub(super) fn forget_all(&mut self) {
        self.after = None;
        self.forget_after_pass(None);
    }

    /// The deletions up to a revision.
    pub(super) fn deletions_upto(&self, revision: i64) -> Vec<StoredChange> {
        let is_one = |found: &&StoredChange| found.kind == EventKind::Delete && found.main <= revision;
        self.builder.changes_of(self.layer).filter(is_one).cloned().collect()
    }

    /// Adds those of some changes that are not there.
    pub(super) fn add_missing(&mut self, changes: Vec<StoredChange>) {
        let known: HashSet<(i64, i64)> = self.builder.changes_of(self.layer).map(|found| (found.main, found.sub)).collect();
        let missing = changes.into_iter().filter(|found| !known.contains(&(found.main, found.sub))).collect();
        self.builder.insert_first(self.layer, missing);
    }

    /// Copies the values of the newest changes, whose leaf the next transaction replaces; returns the copies and where each lies. One that an earlier
    /// pass read and that lies elsewhere by now is left to be found again.
    pub(super) fn copy_newest(&mut self) -> (Vec<u8>, Vec<Option<Location>>) {
        const MAX_DAMAGES_KEPT: usize = 200;
        const MOST_BYTES: usize = 4 << 20;
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        let Some(PageCopies { image_of_values: image, .. }) = self.copies else { return (bytes, places) };
        for found in self.builder.newest_of(self.layer).take(MAX_DAMAGES_KEPT).take_while(|found| bytes_of(found.value).len() < MOST_BYTES)
        {
            let start = bytes.len();
            bytes.extend_from_slice(&self.bytes[bytes_of(found.value)]);
            let is_it = found.value.length > 0 && crc32c::crc32c(&bytes[start..]) == found.crc;
            bytes.truncate(if is_it { bytes.len() } else { start });
            places.push(is_it.then_some(Location { image, start: start as u64, length: found.value.length }));
            if bytes.len() > MOST_BYTES {
                break;
            }
        }
        (bytes, places)
    }

    /// Lets the newest changes have their values in the copies.
    pub(super) fn use_copies(&mut self, (bytes, places): (Vec<u8>, Vec<Option<Location>>)) {
        let Some(PageCopies { image_of_values, .. }) = self.copies else { return };
        self.builder.fill_image(image_of_values, bytes.into());
        self.builder.newest_of(self.layer).zip(places).for_each(|(found, place)| found.value = place.unwrap_or(found.value));
    }

    /// The newest revision of all that was read, what could not be read, and the copies.
    pub(super) fn finish(self) -> (i64, Vec<String>, Option<PageCopies>) {
        self.markers.iter().for_each(|&marker| self.builder.skip(0, marker));
        let newest = self.builder.newest_of(self.layer).next().map_or(0, |found| found.main);
        let newest = self.markers.iter().copied().fold(newest, i64::max);
        (newest, self.bad.into_iter().map(|(_, sentence)| sentence).collect(), self.copies)
    }

    fn bad(&mut self, place: (i64, i64), pair: &BucketPair, problem: &str) {
        /// More are not listed one by one.
        const MAX_DAMAGES_LISTED: usize = 20;
        match self.bad.len() {
            0..MAX_DAMAGES_LISTED => self.bad.push((place, format!("an entry at byte {} cannot be read: {problem}", pair.key.start))),
            MAX_DAMAGES_LISTED => self.bad.push((place, "more entries like these cannot be read".to_owned())),
            _ => {}
        }
    }
}

fn bytes_of(place: Location) -> std::ops::Range<usize> {
    place.start as usize..place.start as usize + place.length as usize
}

/// Makes a change of an entry: its revision key, and its `KeyValue` at `start`.
pub(super) fn found(
    bytes: &[u8],
    image: u16,
    key: RevisionKey,
    start: usize,
    length: usize,
    origin: Origin,
) -> Result<StoredChange, &'static str> {
    let read = KeyValuePlaces::read(&bytes[start..start + length]).ok_or("it is not a KeyValue")?;
    if read.key.is_empty() {
        return Err("it has no key");
    }
    if !key.tombstone && read.mod_revision != key.main {
        return Err("it claims to be of another revision");
    }
    if !is_plausible(key, &read) {
        return Err("its numbers contradict each other");
    }
    let place = |range: std::ops::Range<usize>| Location { image, start: (start + range.start) as u64, length: range.len() as u32 };
    Ok(StoredChange {
        main: key.main,
        sub: key.sub,
        kind: if key.tombstone { EventKind::Delete } else { EventKind::Put },
        origin,
        key: place(read.key),
        value: place(if key.tombstone { 0..0 } else { read.value }),
        create_revision: read.create_revision,
        version: read.version,
        replaced: 0,
        lease: read.lease,
        crc: 0,
    })
}

/// A put's numbers must fit each other; a tombstone has none.
fn is_plausible(key: RevisionKey, read: &KeyValuePlaces) -> bool {
    let KeyValuePlaces { create_revision, mod_revision, version, lease, .. } = *read;
    if key.tombstone {
        return create_revision == 0 && mod_revision == 0 && version == 0 && lease == 0 && read.value.is_empty();
    }
    // Each version takes a revision of its own.
    create_revision >= 1
        && (1..=mod_revision - create_revision + 1).contains(&version)
        && (version == 1) == (create_revision == mod_revision)
}

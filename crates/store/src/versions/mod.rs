//! A multi-version index: every readable version of every key, by revision and by key. Values stay where they were read.

mod builder;
mod index_message;
mod missing;
mod volatile;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Event, EventKind, KeyRange, KeyValue, Origin, Result, Revision, RevisionSpan, Sources, Want};
use crate::load::Reservation;

pub(super) use builder::{Interner, VersionsBuilder};
pub(super) use index_message::KeptVersions;
pub(super) use volatile::{IndexedPut, Volatile};

/// Bytes that lie in one of the images.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location {
    pub image: u16,
    pub start: u64,
    pub length: u32,
}

impl Location {
    /// Returns where `part` lies in `bytes`, the bytes of image `image`, of which it is a slice; empty bytes lie anywhere.
    pub(super) fn of(image: u16, bytes: &[u8], part: &[u8]) -> Self {
        if part.is_empty() {
            return Self { image, start: 0, length: 0 };
        }
        debug_assert!(bytes.as_ptr_range().contains(&part.as_ptr()));
        Self { image, start: (part.as_ptr().addr() - bytes.as_ptr().addr()) as u64, length: part.len() as u32 }
    }
}

/// A change as a loader found it.
#[derive(Clone, Debug)]
pub(super) struct StoredChange {
    pub main: i64,
    pub sub: i64,
    pub kind: EventKind,
    pub origin: Origin,
    pub key: Location,
    pub value: Location,
    pub create_revision: i64,
    pub version: i64,
    /// As in [`KeyValue::replaced`].
    pub replaced: i64,
    pub lease: i64,
    /// The CRC-32C of the value, where it lies in a file that another process writes; 0 elsewhere.
    pub crc: u32,
}

/// The changes that one file (or one data dir) holds, and for which revisions it holds the whole key space.
#[derive(Default)]
pub(super) struct Layer {
    /// Bit in [`Version::layers`] is the layer's place in the list.
    pub span: Option<RevisionSpan>,
    /// Whether it is a state of one moment, whose keys have revisions but no history.
    pub one_moment: bool,
    /// Whether the compaction of the span has removed all that it removes.
    pub is_compaction_finished: bool,
    /// Whether it is not known up to where the history was compacted.
    pub is_compaction_unknown: bool,
}

struct Version {
    main: i64,
    create_revision: i64,
    version: i64,
    replaced: i64,
    lease: i64,
    value: u64,
    value_length: u32,
    sub: u32,
    key: u32,
    /// As in [`StoredChange::crc`].
    crc: u32,
    image: u16,
    layers: u16,
    origin: Origin,
    deleted: bool,
}

impl Version {
    /// Where the value lies.
    fn place(&self) -> Range<usize> {
        self.value as usize..self.value as usize + self.value_length as usize
    }

    fn entry<'a>(&self, key: &'a [u8]) -> IndexedPut<'a> {
        let Self { main, create_revision, version, crc, .. } = *self;
        IndexedPut { main, sub: i64::from(self.sub), key, create_revision, version, place: self.place(), crc }
    }
}

#[derive(Default)]
struct VersionBytes {
    bytes: Bytes,
    /// Where the bytes are a mapped file that is being written.
    volatile: Option<Arc<dyn Volatile>>,
}

impl VersionBytes {
    /// The value of a put.
    ///
    /// # Errors
    ///
    /// As of [`Volatile::value`].
    fn value(&self, put: &IndexedPut<'_>) -> Result<Bytes> {
        match &self.volatile {
            Some(volatile) if !put.place.is_empty() => volatile.value(put),
            _ => Ok(self.bytes.slice(put.place.clone())),
        }
    }
}

/// The most layers an index can distinguish.
pub(super) const MAX_LAYERS: usize = 16;

pub(super) struct Versions {
    images: Vec<VersionBytes>,
    layers: Vec<Layer>,
    /// By revision and sub-revision.
    versions: Vec<Version>,
    /// All keys, one after the other, ascending.
    key_bytes: Bytes,
    /// Where key n begins in `key_bytes`; one more than there are keys.
    key_starts: Vec<usize>,
    /// Indexes of versions, grouped by key, ascending within it.
    by_key: Vec<u32>,
    /// Where key n's versions begin in `by_key`; one more than there are keys.
    key_versions: Vec<u32>,
    /// Runs of revisions of which nothing is readable, both ends included.
    gaps: Vec<(i64, i64)>,
    /// Runs of revisions that hold no change, both ends included, ascending.
    skipped: Vec<(i64, i64)>,
    /// The revisions of which a log says something else than what stands, ascending.
    contradicted: Vec<Revision>,
    _memory: Option<Reservation>,
}

impl Versions {
    /// The spans of the layers that hold the whole key space at some revisions.
    pub(super) fn spans(&self) -> impl Iterator<Item = RevisionSpan> + '_ {
        self.layers.iter().filter_map(|layer| layer.span)
    }

    /// Whether there is a state of one moment and no history.
    pub(super) fn is_one_moment(&self) -> bool {
        self.layers.iter().any(|layer| layer.one_moment)
    }

    /// The revisions of which a log says something else than what stands, ascending.
    pub(super) fn contradicted(&self) -> &[Revision] {
        &self.contradicted
    }

    /// How many changes are known from nothing better than `origin`.
    pub(super) fn count(&self, origin: Origin) -> u64 {
        self.versions.iter().filter(|version| version.origin == origin).count() as u64
    }

    /// The layer that answers for `revision`.
    pub(super) fn layer_at(&self, revision: Revision) -> Option<usize> {
        self.layers.iter().position(|layer| layer.span.is_some_and(|span| span.oldest <= revision && revision <= span.newest))
    }

    /// The places of the keys of a range among all keys.
    pub(super) fn key_ids(&self, keys: &KeyRange) -> Range<u32> {
        let first = self.lower_bound(&keys.start);
        let end = keys.end.as_deref().map_or(self.key_count(), |end| self.lower_bound(end));
        first..end.max(first)
    }

    /// The key's version at `revision` as `layer` holds it, unless it was deleted or not yet made.
    pub(super) fn at(&self, key: u32, revision: Revision, layer: usize, want: Want) -> Option<Result<KeyValue>> {
        let versions = self.versions_of(key);
        let upto = versions.partition_point(|&index| self.versions[index as usize].main <= revision.0);
        let last = versions[..upto].iter().rev().map(|&index| &self.versions[index as usize]).find(|v| v.layers >> layer & 1 == 1)?;
        (!last.deleted).then(|| self.key_value(last, want))
    }

    /// The newest version of a key before `revision`, unless that is a deletion.
    pub(super) fn before(&self, key: &[u8], revision: Revision) -> Option<Result<KeyValue>> {
        let id = self.key_ids(&KeyRange::key(key)).next()?;
        let versions = self.versions_of(id);
        let upto = versions.partition_point(|&index| self.versions[index as usize].main < revision.0);
        let last = &self.versions[*versions[..upto].last()? as usize];
        (!last.deleted).then(|| self.key_value(last, Want::Values))
    }

    /// The changes of some keys from `from` to `to`, both included, as places in the index, ascending.
    pub(super) fn changes(&self, keys: Range<u32>, from: Revision, to: Revision) -> Changes {
        let first = self.versions.partition_point(|version| version.main < from.0);
        let end = self.versions.partition_point(|version| version.main <= to.0);
        let of_keys = self.key_versions[keys.start as usize] as usize..self.key_versions[keys.end as usize] as usize;
        // A walk over all versions is cheaper than sorting, unless the keys are few.
        if of_keys.len() < end.saturating_sub(first) / 16 {
            let mut few: Vec<u32> =
                self.by_key[of_keys].iter().copied().filter(|&index| (first..end).contains(&(index as usize))).collect();
            few.sort_unstable();
            return Changes::Few(few.into_iter());
        }
        Changes::Many { rest: first..end, keys }
    }

    /// The next of `changes`; an error where a process that writes the file has taken it away since.
    pub(super) fn next(&self, changes: &mut Changes) -> Option<(Revision, Result<Event>)> {
        let index = match changes {
            Changes::Few(indexes) => indexes.next()? as usize,
            Changes::Many { rest, keys } => rest.find(|&index| keys.contains(&self.versions[index].key))?,
        };
        let version = &self.versions[index];
        let event = self.key_value(version, Want::Values).map(|key_value| Event {
            revision: Revision(version.main),
            sub_revision: i64::from(version.sub),
            kind: if version.deleted { EventKind::Delete } else { EventKind::Put },
            key_value,
            origin: version.origin,
            sources: Sources::default(),
        });
        Some((Revision(version.main), event))
    }

    /// The gaps that touch `from` to `to`, cut to it.
    pub(super) fn gaps(&self, from: Revision, to: Revision) -> impl Iterator<Item = (Revision, Revision)> + '_ {
        let first = self.gaps.partition_point(|gap| gap.1 < from.0);
        self.gaps[first..]
            .iter()
            .take_while(move |gap| gap.0 <= to.0)
            .map(move |gap| (Revision(gap.0.max(from.0)), Revision(gap.1.min(to.0))))
    }

    /// The runs of revisions that hold no change, both ends included, ascending.
    pub(super) fn skipped(&self) -> impl Iterator<Item = (Revision, Revision)> + '_ {
        self.skipped.iter().map(|&(from, to)| (Revision(from), Revision(to)))
    }

    fn key_count(&self) -> u32 {
        self.key_starts.len() as u32 - 1
    }

    fn key_range(&self, key: u32) -> Range<usize> {
        self.key_starts[key as usize]..self.key_starts[key as usize + 1]
    }

    fn versions_of(&self, key: u32) -> &[u32] {
        &self.by_key[self.key_versions[key as usize] as usize..self.key_versions[key as usize + 1] as usize]
    }

    fn lower_bound(&self, wanted: &[u8]) -> u32 {
        let (mut low, mut high) = (0, self.key_count());
        while low < high {
            let middle = low + (high - low) / 2;
            if &self.key_bytes[self.key_range(middle)] < wanted { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn key_value(&self, version: &Version, want: Want) -> Result<KeyValue> {
        let value = match want {
            Want::Keys => Bytes::new(),
            Want::Values => self.images[usize::from(version.image)].value(&version.entry(&self.key_bytes[self.key_range(version.key)]))?,
        };
        Ok(KeyValue {
            key: self.key_bytes.slice(self.key_range(version.key)),
            value,
            create_revision: Revision(version.create_revision),
            mod_revision: Revision(version.main),
            version: version.version,
            replaced: Revision(version.replaced),
            lease: version.lease,
        })
    }
}

/// A walk over changes, apart from the index so that it can be kept in a stream.
pub(super) enum Changes {
    /// Indexes gathered beforehand.
    Few(std::vec::IntoIter<u32>),
    /// All versions of a span, of which only those of some keys count.
    Many {
        /// The versions not yet looked at.
        rest: Range<usize>,
        keys: Range<u32>,
    },
}

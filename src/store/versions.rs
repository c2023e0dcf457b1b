//! A multi-version index: every readable version of every key, by revision and by key. Values stay where they were read.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;

use super::{Event, EventKind, KeyRange, KeyValue, Origin, Revision, RevisionSpan, Want};

/// Bytes that lie in one of the images.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub image: u16,
    pub start: u64,
    pub length: u32,
}

/// A change as a loader found it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub main: i64,
    pub sub: i64,
    pub kind: EventKind,
    pub origin: Origin,
    pub key: Place,
    pub value: Place,
    pub create_revision: i64,
    pub version: i64,
    pub lease: i64,
}

/// The changes that one file (or one data dir) tells, and for which revisions it holds the whole key space.
#[derive(Default)]
pub(super) struct Layer {
    /// Bit in [`Version::layers`] is the layer's place in the list.
    pub span: Option<RevisionSpan>,
    /// Whether it is a state of one moment, whose keys have revisions but no history.
    pub one_moment: bool,
}

/// One version of one key.
struct Version {
    main: i64,
    create_revision: i64,
    version: i64,
    lease: i64,
    value: u64,
    value_length: u32,
    sub: u32,
    key: u32,
    image: u16,
    layers: u16,
    origin: Origin,
    deleted: bool,
}

/// The most layers an index can tell apart.
pub(super) const MAX_LAYERS: usize = 16;

/// Collects what loaders find.
#[derive(Default)]
pub(super) struct Builder {
    images: Vec<Bytes>,
    layers: Vec<Layer>,
    found: Vec<(Found, u16)>,
    skipped: Vec<i64>,
}

/// The index.
pub(super) struct Versions {
    images: Vec<Bytes>,
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
}

impl Builder {
    /// Adds bytes that changes will point into.
    pub(super) fn image(&mut self, image: Bytes) -> Option<u16> {
        self.images.push(image);
        u16::try_from(self.images.len() - 1).ok()
    }

    /// Adds a layer; `None` if there are too many.
    pub(super) fn layer(&mut self, layer: Layer) -> Option<usize> {
        (self.layers.len() < MAX_LAYERS).then(|| {
            self.layers.push(layer);
            self.layers.len() - 1
        })
    }

    /// Says at which revisions `layer` holds the whole key space.
    pub(super) fn set_span(&mut self, layer: usize, span: RevisionSpan) {
        self.layers[layer].span = Some(span);
    }

    /// Adds a change that `layer` tells.
    pub(super) fn push(&mut self, layer: usize, found: Found) {
        self.found.push((found, 1 << layer));
    }

    /// The bytes of an image.
    pub(super) fn image_bytes(&self, image: u16) -> &Bytes {
        &self.images[usize::from(image)]
    }

    /// The bytes at a place that a loader found.
    pub(super) fn bytes(&self, place: Place) -> &[u8] {
        &self.images[usize::from(place.image)][place.start as usize..place.start as usize + place.length as usize]
    }

    /// The changes that `layer` tells, as they were pushed.
    pub(super) fn changes_of(&self, layer: usize) -> impl Iterator<Item = &Found> {
        self.found.iter().filter(move |(_, layers)| *layers == 1 << layer).map(|(found, _)| found)
    }

    /// Notes a revision that holds no change (a marker that a restore left).
    pub(super) fn skip(&mut self, main: i64) {
        self.skipped.push(main);
    }

    /// Sorts and joins everything. Changes told by several layers become one.
    ///
    /// # Errors
    ///
    /// The revision at which two layers contradict each other.
    pub(super) fn finish(self) -> Result<Versions, Revision> {
        let Self { images, layers, mut found, mut skipped } = self;
        // Of several copies of a change the best comes first.
        let order = |f: &(Found, u16)| (f.0.main, f.0.sub, f.0.origin);
        if !found.is_sorted_by_key(order) {
            found.sort_by_key(order);
        }
        let bytes = |place: Place| &images[usize::from(place.image)][place.start as usize..place.start as usize + place.length as usize];
        let (key_bytes, key_starts, ids) = keys(found.iter().map(|(f, _)| bytes(f.key)));
        let mut versions: Vec<Version> = Vec::with_capacity(found.len());
        for ((f, layers), key) in found.iter().zip(ids) {
            let sub = u32::try_from(f.sub).unwrap_or(u32::MAX);
            let version = Version {
                main: f.main,
                create_revision: f.create_revision,
                version: f.version,
                lease: f.lease,
                value: f.value.start,
                value_length: f.value.length,
                sub,
                key,
                image: f.value.image,
                layers: *layers,
                origin: f.origin,
                deleted: f.kind == EventKind::Delete,
            };
            match versions.last_mut().filter(|last| (last.main, last.sub) == (f.main, sub)) {
                None => versions.push(version),
                Some(last) => {
                    let value = |v: &Version| &images[usize::from(v.image)][v.value as usize..v.value as usize + v.value_length as usize];
                    if last.key != key || last.deleted != version.deleted || value(last) != value(&version) {
                        match version.origin {
                            // A page that was written over in a way that does not show: the better copy stands.
                            Origin::FreePage => continue,
                            _ => return Err(Revision(f.main)),
                        }
                    }
                    last.layers |= layers;
                    last.origin = last.origin.min(f.origin);
                }
            }
        }
        drop(found);
        let (by_key, key_versions) = group_by_key(&versions, key_starts.len() - 1);
        skipped.sort_unstable();
        let newest = layers.iter().filter_map(|layer| layer.span).map(|span| span.newest.0).max().unwrap_or(0);
        // A state of one moment is no history that could lack anything.
        let one_moment = layers.iter().any(|layer| layer.one_moment);
        let gaps = if one_moment { Vec::new() } else { gaps(&versions, &skipped, newest) };
        Ok(Versions { images, layers, versions, key_bytes, key_starts, by_key, key_versions, gaps })
    }
}

/// Sorts the different keys; returns them in one piece, where each begins, and for each given key its place among them.
fn keys<'a>(given: impl Iterator<Item = &'a [u8]>) -> (Bytes, Vec<usize>, Vec<u32>) {
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let mut ids: Vec<u32> = given
        .map(|key| {
            let next = known.len() as u32;
            *known.entry(key).or_insert(next)
        })
        .collect();
    let mut sorted: Vec<(&[u8], u32)> = known.into_iter().collect();
    sorted.sort_unstable();
    let mut rank = vec![0; sorted.len()];
    let mut starts = Vec::with_capacity(sorted.len() + 1);
    let mut bytes = Vec::with_capacity(sorted.iter().map(|(key, _)| key.len()).sum());
    for (place, (key, id)) in sorted.into_iter().enumerate() {
        rank[id as usize] = place as u32;
        starts.push(bytes.len());
        bytes.extend_from_slice(key);
    }
    starts.push(bytes.len());
    ids.iter_mut().for_each(|id| *id = rank[*id as usize]);
    (bytes.into(), starts, ids)
}

fn group_by_key(versions: &[Version], keys: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0; keys + 1];
    for version in versions {
        starts[version.key as usize + 1] += 1;
    }
    for key in 0..keys {
        starts[key + 1] += starts[key];
    }
    let mut next = starts.clone();
    let mut by_key = vec![0; versions.len()];
    for (index, version) in versions.iter().enumerate() {
        let slot = &mut next[version.key as usize];
        by_key[*slot as usize] = index as u32;
        *slot += 1;
    }
    (by_key, starts)
}

/// The first revision that can hold a change: an empty store is at 1.
const FIRST_CHANGE: i64 = 2;

fn gaps(versions: &[Version], skipped: &[i64], newest: i64) -> Vec<(i64, i64)> {
    let mut gaps = Vec::new();
    let mut expected = FIRST_CHANGE;
    let mut skipped = skipped.iter().copied().peekable();
    for main in versions.iter().map(|version| version.main).chain([newest + 1]) {
        while let Some(mark) = skipped.next_if(|&mark| mark <= main) {
            // Nothing ever had the revisions between the last one before a restore and its marker.
            expected = expected.max(mark + 1);
        }
        if main > expected {
            gaps.push((expected, main - 1));
        }
        expected = expected.max(main + 1);
    }
    gaps
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

    /// The key's version at `revision` as `layer` tells it, unless it was deleted or not yet made.
    pub(super) fn at(&self, key: u32, revision: Revision, layer: usize, want: Want) -> Option<KeyValue> {
        let versions = self.versions_of(key);
        let upto = versions.partition_point(|&index| self.versions[index as usize].main <= revision.0);
        let last = versions[..upto].iter().rev().map(|&index| &self.versions[index as usize]).find(|v| v.layers >> layer & 1 == 1)?;
        (!last.deleted).then(|| self.key_value(last, want))
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

    /// The next of `changes`.
    pub(super) fn next(&self, changes: &mut Changes) -> Option<Event> {
        let index = match changes {
            Changes::Few(indexes) => indexes.next()? as usize,
            Changes::Many { rest, keys } => rest.find(|&index| keys.contains(&self.versions[index].key))?,
        };
        let version = &self.versions[index];
        Some(Event {
            revision: Revision(version.main),
            sub_revision: i64::from(version.sub),
            kind: if version.deleted { EventKind::Delete } else { EventKind::Put },
            key_value: self.key_value(version, Want::Values),
            origin: version.origin,
        })
    }

    /// The gaps that touch `from` to `to`, cut to it.
    pub(super) fn gaps(&self, from: Revision, to: Revision) -> impl Iterator<Item = (Revision, Revision)> + '_ {
        let first = self.gaps.partition_point(|gap| gap.1 < from.0);
        self.gaps[first..]
            .iter()
            .take_while(move |gap| gap.0 <= to.0)
            .map(move |gap| (Revision(gap.0.max(from.0)), Revision(gap.1.min(to.0))))
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

    fn key_value(&self, version: &Version, want: Want) -> KeyValue {
        let value = match want {
            Want::Values => {
                let start = version.value as usize;
                self.images[usize::from(version.image)].slice(start..start + version.value_length as usize)
            }
            Want::Keys => Bytes::new(),
        };
        KeyValue {
            key: self.key_bytes.slice(self.key_range(version.key)),
            value,
            create_revision: Revision(version.create_revision),
            mod_revision: Revision(version.main),
            version: version.version,
            lease: version.lease,
        }
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
        /// The keys that count.
        keys: Range<u32>,
    },
}

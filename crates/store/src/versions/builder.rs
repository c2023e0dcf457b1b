//! Sorts what loaders find and joins it into the index.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;

use super::{IndexedPut, Layer, Location, MAX_LAYERS, StoredChange, Version, VersionBytes, Versions, Volatile, missing};
use crate::load::{Budget, Exceeded, Reservation};
use crate::{EventKind, KeyRange, Origin, Revision, RevisionSpan};

/// A change takes this many bytes of memory while the index of all of them is made.
const CHANGE_OVERHEAD_BYTES: u64 = 200;

/// How many changes are counted at once.
const COUNTED_CHANGES: u64 = 4096;

/// Collects what loaders find.
#[derive(Default)]
pub(crate) struct VersionsBuilder {
    /// The memory of the changes, where it is bounded.
    memory: Option<Reservation>,
    /// How many more changes may come before memory is asked for.
    counted: u64,
    /// Why no more changes are taken.
    exceeded: Option<Exceeded>,

    images: Vec<VersionBytes>,
    layers: Vec<Layer>,
    found: Vec<(StoredChange, u16)>,
    skipped: Vec<(i64, i64)>,
    /// Whether a change of a log counts only where it contradicts nothing else.
    does_log_give_way: bool,
}

impl VersionsBuilder {
    /// One that takes no more memory than a budget has.
    pub(crate) fn within(budget: &Budget) -> Self {
        Self { memory: Some(budget.index()), ..Self::default() }
    }

    /// Why changes are missing, if they take more memory than is allowed.
    pub(crate) fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded
    }

    /// Adds bytes that changes will point into.
    pub(crate) fn image(&mut self, image: Bytes) -> Option<u16> {
        self.images.push(VersionBytes { bytes: image, volatile: None });
        u16::try_from(self.images.len() - 1).ok()
    }

    /// Adds the mapping of a file that another process writes. Keys must not lie in it.
    pub(crate) fn volatile_image(&mut self, image: Bytes, volatile: Arc<dyn Volatile>) -> Option<u16> {
        let id = self.image(image)?;
        self.images[usize::from(id)].volatile = Some(volatile);
        Some(id)
    }

    /// Gives an image that was added empty its bytes.
    pub(crate) fn fill_image(&mut self, image: u16, bytes: Bytes) {
        self.images[usize::from(image)].bytes = bytes;
    }

    /// Adds a layer; `None` if there are too many.
    pub(crate) fn layer(&mut self, layer: Layer) -> Option<usize> {
        (self.layers.len() < MAX_LAYERS).then(|| {
            self.layers.push(layer);
            self.layers.len() - 1
        })
    }

    /// Says at which revisions `layer` holds the whole key space.
    pub(crate) fn set_span(&mut self, layer: usize, span: RevisionSpan) {
        self.layers[layer].span = Some(span);
    }

    /// Says that another layer answers for all revisions of `layer`.
    pub(crate) fn clear_span(&mut self, layer: usize) {
        self.layers[layer].span = None;
    }

    /// Says that the compaction of `layer` has removed all that it removes.
    pub(crate) fn set_compaction_finished(&mut self, layer: usize) {
        self.layers[layer].is_compaction_finished = true;
    }

    /// Says that up to where the history of `layer` was compacted is not known.
    pub(crate) fn set_compaction_unknown(&mut self, layer: usize) {
        self.layers[layer].is_compaction_unknown = true;
    }

    /// The revisions at which `layer` holds the whole key space.
    pub(crate) fn span(&self, layer: usize) -> Option<RevisionSpan> {
        self.layers[layer].span
    }

    /// Whether `layer`, whose changes were pushed in their order, lacks revisions that it must have.
    pub(crate) fn has_gaps(&self, layer: usize) -> bool {
        let Some(span) = self.layers[layer].span else { return false };
        let first = missing::first_complete(span);
        let mains = self.changes_of(layer).map(|found| found.main).filter(|&main| main >= first);
        !missing::gaps(mains, &self.skipped, first, span.newest.0).is_empty()
    }

    /// Says that the layers are a database and its log: a log that contradicts its database, or itself, does not take the database away.
    pub(crate) fn let_log_give_way(&mut self) {
        self.does_log_give_way = true;
    }

    /// Reserves memory for the changes in a file of `file` bytes, on the assumption that each takes a page.
    pub(crate) fn reserve_for(&mut self, file: usize) {
        self.found.reserve(file / (4 << 10));
    }

    fn has_room(&mut self) -> bool {
        if let (0, None, Some(memory)) = (self.counted, self.exceeded, &mut self.memory) {
            self.exceeded = memory.grow(CHANGE_OVERHEAD_BYTES * COUNTED_CHANGES).err();
            self.counted = COUNTED_CHANGES;
        }
        self.counted = self.counted.saturating_sub(1);
        self.exceeded.is_none()
    }

    /// Adds a change of `layer`.
    pub(crate) fn push(&mut self, layer: usize, found: StoredChange) {
        if self.has_room() {
            self.found.push((found, 1 << layer));
        }
    }

    /// Removes changes, by revision and sub-revision, that `layer` alone holds.
    pub(crate) fn remove(&mut self, layer: usize, places: &HashSet<(i64, i64)>) {
        if !places.is_empty() {
            self.found.retain(|(found, layers)| *layers != 1 << layer || !places.contains(&(found.main, found.sub)));
        }
    }

    pub(crate) fn image_bytes(&self, image: u16) -> &Bytes {
        &self.images[usize::from(image)].bytes
    }

    /// The bytes at a place that a loader found.
    pub(crate) fn bytes(&self, place: Location) -> &[u8] {
        &self.images[usize::from(place.image)].bytes[place.start as usize..place.start as usize + place.length as usize]
    }

    /// The value of a change; `None` where another process that writes the file has taken it away since.
    pub(crate) fn value(&self, found: &StoredChange) -> Option<Bytes> {
        let StoredChange { main, sub, create_revision, version, value, crc, .. } = *found;
        let place = value.start as usize..value.start as usize + value.length as usize;
        let put = IndexedPut { main, sub, key: self.bytes(found.key), create_revision, version, place, crc };
        self.images[usize::from(value.image)].value(&put).ok()
    }

    /// Whether another process writes what lies at a place.
    pub(crate) fn is_volatile(&self, place: Location) -> bool {
        place.length > 0 && self.images[usize::from(place.image)].volatile.is_some()
    }

    /// The bytes of an image that nobody writes any more; none of one that another process writes.
    pub(crate) fn still_bytes(&self, image: u16) -> &Bytes {
        static NO_BYTES: Bytes = Bytes::new();
        let VersionBytes { bytes, volatile } = &self.images[usize::from(image)];
        if volatile.is_some() { &NO_BYTES } else { bytes }
    }

    /// Copies the values of the puts of `layer` to these keys (ascending, none twice), where another process writes the file that they lie in. One
    /// that it has taken away since stays where it was.
    pub(crate) fn own_values(&mut self, layer: usize, keys: &[KeyRange]) -> Option<()> {
        let image = self.image(Bytes::new())?;
        let mut copies = Vec::new();
        let is_wanted = |key: &[u8]| {
            let upto = keys.partition_point(|range| range.start.as_slice() <= key);
            keys[..upto].last().is_some_and(|range| range.contains(key))
        };
        for place in 0..self.found.len() {
            let (found, layers) = &self.found[place];
            if *layers != 1 << layer || !self.is_volatile(found.value) || !is_wanted(self.bytes(found.key)) {
                continue;
            }
            if let Some(value) = self.value(found) {
                self.found[place].0.value = Location { image, start: copies.len() as u64, length: value.len() as u32 };
                copies.extend_from_slice(&value);
            }
        }
        self.fill_image(image, copies.into());
        Some(())
    }

    /// Forgets the changes added last that come after this revision and sub-revision in `layer`, which was added last.
    pub(crate) fn forget_after(&mut self, layer: usize, last: Option<(i64, i64)>) {
        while self.found.pop_if(|(found, layers)| *layers == 1 << layer && Some((found.main, found.sub)) > last).is_some() {}
    }

    /// Adds changes of `layer` before those that it has.
    pub(crate) fn insert_first(&mut self, layer: usize, changes: Vec<StoredChange>) {
        let place = self.found.iter().position(|(_, layers)| *layers == 1 << layer).unwrap_or(self.found.len());
        self.found.splice(place..place, changes.into_iter().map(|found| (found, 1 << layer)));
    }

    /// The changes of `layer` added last, the newest first, to be moved elsewhere.
    pub(crate) fn newest_of(&mut self, layer: usize) -> impl Iterator<Item = &mut StoredChange> {
        self.found.iter_mut().rev().take_while(move |(_, layers)| *layers == 1 << layer).map(|(found, _)| found)
    }

    /// Returns the changes of `layer` in the order in which they were added.
    pub(crate) fn changes_of(&self, layer: usize) -> impl Iterator<Item = &StoredChange> {
        self.found.iter().filter(move |(_, layers)| *layers == 1 << layer).map(|(found, _)| found)
    }

    /// Notes that no revision between `from` and `to`, both included, can hold a change unless it is found.
    pub(crate) fn skip(&mut self, from: i64, to: i64) {
        self.skipped.push((from, to));
    }

    /// Sorts and joins everything. Changes that several layers hold become one.
    ///
    /// # Errors
    ///
    /// The revision at which two layers contradict each other, unless one is a log that gives way.
    pub(crate) fn finish(self) -> Result<Versions, Revision> {
        let Self { images, layers, mut found, mut skipped, memory, does_log_give_way, .. } = self;
        // The best of several copies of a change comes first.
        let order = |f: &(StoredChange, u16)| (f.0.main, f.0.sub, f.0.origin);
        if !found.is_sorted_by_key(order) {
            found.sort_by_key(order);
        }
        let bytes =
            |place: Location| &images[usize::from(place.image)].bytes[place.start as usize..place.start as usize + place.length as usize];
        let (key_bytes, key_starts, ids) = keys(found.iter().map(|(f, _)| bytes(f.key)));
        let mut versions: Vec<Version> = Vec::with_capacity(found.len());
        let mut contradictions = Contradictions::default();
        for ((f, layers), key) in found.iter().zip(ids) {
            let sub = u32::try_from(f.sub).unwrap_or(u32::MAX);
            let version = Version {
                main: f.main,
                create_revision: f.create_revision,
                version: f.version,
                replaced: f.replaced,
                lease: f.lease,
                value: f.value.start,
                value_length: f.value.length,
                sub,
                key,
                crc: f.crc,
                image: f.value.image,
                layers: *layers,
                origin: f.origin,
                deleted: f.kind == EventKind::Delete,
            };
            match versions.last_mut().filter(|last| (last.main, last.sub) == (f.main, sub)) {
                None => versions.push(version),
                Some(last) => {
                    let key_bytes = &key_bytes[key_starts[key as usize]..key_starts[key as usize + 1]];
                    if last.key != key || last.deleted != version.deleted || !has_same_value(&images, key_bytes, last, &version) {
                        match version.origin {
                            // A page that was written over in a way that does not show: the better copy stands.
                            Origin::FreePage => continue,
                            Origin::Wal if does_log_give_way => contradictions.add(f.main, *layers),
                            _ => return Err(Revision(f.main)),
                        }
                    }
                    last.layers |= layers;
                    last.origin = last.origin.min(f.origin);
                }
            }
        }
        drop(found);
        contradictions.clear(&mut versions);
        missing::fill(&mut versions, &layers);
        let (by_key, key_versions) = group_by_key(&versions, key_starts.len() - 1);
        skipped.sort_unstable();
        let newest = layers.iter().filter_map(|layer| layer.span).map(|span| span.newest.0).max().unwrap_or(0);
        // The state of one moment has no history that could be incomplete.
        let gaps = match layers.iter().any(|layer| layer.one_moment) {
            true => Vec::new(),
            false => missing::gaps(versions.iter().map(|version| version.main), &skipped, missing::FIRST_CHANGE, newest),
        };
        let contradicted = contradictions.revisions();
        Ok(Versions { images, layers, versions, key_bytes, key_starts, by_key, key_versions, gaps, skipped, contradicted, _memory: memory })
    }
}

/// The revisions of which a log says something else than what stands, and the layers of the log: ascending.
#[derive(Default)]
struct Contradictions(Vec<(i64, u16)>);

impl Contradictions {
    fn add(&mut self, main: i64, layers: u16) {
        match self.0.last_mut().filter(|last| last.0 == main) {
            Some(last) => last.1 |= layers,
            None => self.0.push((main, layers)),
        }
    }

    /// Removes what only these layers have of these revisions.
    fn clear(&self, versions: &mut Vec<Version>) {
        if self.0.is_empty() {
            return;
        }
        let given_way = |main: i64| self.0.binary_search_by_key(&main, |(main, _)| *main).map_or(0, |place| self.0[place].1);
        versions.retain(|version| version.origin != Origin::Wal || version.layers & !given_way(version.main) != 0);
    }

    fn revisions(self) -> Vec<Revision> {
        self.0.into_iter().map(|(main, _)| Revision(main)).collect()
    }
}

/// Whether two versions of a key have the same value, as far as both can still be read.
fn has_same_value(images: &[VersionBytes], key: &[u8], one: &Version, other: &Version) -> bool {
    let [one, other] = [one, other].map(|version| images[usize::from(version.image)].value(&version.entry(key)));
    one.ok().zip(other.ok()).is_none_or(|(one, other)| one == other)
}

/// Sorts the different keys; returns them in one piece, where each begins, and for each given key its place among them.
fn keys<'a>(given: impl Iterator<Item = &'a [u8]>) -> (Bytes, Vec<usize>, Vec<u32>) {
    let mut known = Interner::default();
    let mut ids: Vec<u32> = given.map(|key| known.id(key)).collect();
    let mut sorted: Vec<u32> = (0..known.ends.len() as u32).collect();
    sorted.sort_unstable_by_key(|&id| known.key(id));
    let mut rank = vec![0; sorted.len()];
    let mut starts = Vec::with_capacity(sorted.len() + 1);
    let mut bytes = Vec::with_capacity(known.bytes.len());
    for (place, id) in sorted.into_iter().enumerate() {
        rank[id as usize] = place as u32;
        starts.push(bytes.len());
        bytes.extend_from_slice(known.key(id));
    }
    starts.push(bytes.len());
    ids.iter_mut().for_each(|id| *id = rank[*id as usize]);
    (bytes.into(), starts, ids)
}

/// Interned keys, numbered in the order of their first occurrence. Their bytes are copied side by side, because in a large file they lie pages
/// apart and every comparison there would miss the caches.
#[derive(Default)]
pub(crate) struct Interner {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    ids: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl Interner {
    pub(crate) fn id(&mut self, key: &[u8]) -> u32 {
        let Self { bytes, ends, ids, hasher } = self;
        let known = |id: &u32| slice(bytes, ends, *id);
        match ids.entry(hasher.hash_one(key), |id| known(id) == key, |id| hasher.hash_one(known(id))) {
            Slot::Occupied(known) => *known.get(),
            Slot::Vacant(free) => {
                let id = ends.len() as u32;
                free.insert(id);
                bytes.extend_from_slice(key);
                ends.push(bytes.len());
                id
            }
        }
    }

    fn key(&self, id: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, id)
    }

    /// Where the key of this number lies in the bytes.
    pub(crate) fn place(&self, image: u16, id: u32) -> Location {
        let key = self.key(id);
        Location::of(image, &self.bytes, key)
    }

    /// The key at a place that was returned.
    pub(crate) fn bytes(&self, place: Location) -> &[u8] {
        &self.bytes[place.start as usize..place.start as usize + place.length as usize]
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }
}

/// Returns one of the pieces of `bytes`, which lie side by side and end at `ends`.
fn slice<'b>(bytes: &'b [u8], ends: &[usize], number: u32) -> &'b [u8] {
    let number = number as usize;
    &bytes[number.checked_sub(1).map_or(0, |before| ends[before])..ends[number]]
}

/// The places of the versions, grouped by key, and where each key's begin.
pub(super) fn group_by_key(versions: &[Version], keys: usize) -> (Vec<u32>, Vec<u32>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of one database and of a log: each change is a revision, its number in it, and a value of one byte.
    fn index(gives_way: bool, of_db: &[(i64, i64, u8)], of_log: &[(i64, i64, u8)]) -> Result<Versions, Revision> {
        let mut builder = VersionsBuilder::default();
        let image = builder.image(Bytes::from_iter(0..=u8::MAX)).unwrap();
        if gives_way {
            builder.let_log_give_way();
        }
        for (changes, origin) in [(of_db, Origin::Db), (of_log, Origin::Wal)] {
            let newest = Revision(changes.last().map_or(1, |change| change.0));
            let span = Some(RevisionSpan { oldest: Revision(1), newest, compacted: None });
            let layer = builder.layer(Layer { span, ..Layer::default() }).unwrap();
            for &(main, sub, value) in changes {
                let place = |byte: u8| Location { image, start: byte.into(), length: 1 };
                let (kind, key, value) = (EventKind::Put, place(b'a' + sub as u8), place(value));
                let (create_revision, version, replaced, lease, crc) = (main, 1, 0, 0, 0);
                builder.push(layer, StoredChange { main, sub, kind, origin, key, value, create_revision, version, replaced, lease, crc });
            }
        }
        builder.finish()
    }

    #[test]
    fn a_log_that_contradicts_its_database_gives_way_for_a_whole_revision() {
        let (of_db, of_log) = ([(2, 0, 1), (3, 0, 2), (4, 0, 3)], [(2, 0, 1), (3, 0, 9), (3, 1, 9), (4, 0, 3), (5, 0, 4)]);
        assert_eq!(index(false, &of_db, &of_log).err(), Some(Revision(3)));
        let versions = index(true, &of_db, &of_log).unwrap();
        assert_eq!(versions.contradicted(), [Revision(3)]);
        let found: Vec<(i64, u32, u64, u16)> =
            versions.versions.iter().map(|version| (version.main, version.sub, version.value, version.layers)).collect();
        assert_eq!(found, [(2, 0, 1, 3), (3, 0, 2, 3), (4, 0, 3, 3), (5, 0, 4, 2)]);
    }
}

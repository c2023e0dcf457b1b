//! What only unreachable pages still hold: bbolt frees pages without wiping them, so changes that a compaction removed stay readable
//! until their pages are used again, and so do those that damage cut off from the tree.
//!
//! A page is believed as far as nothing was written over it since. Pages are written whole and begin with their own number, so
//! whatever overwrote the tail of an overflowing page shows as the header of another page within it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use super::bolt::{Bolt, StalePage, Visited};
use super::db_file;
use super::mvcc::RevisionKey;
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{Origin, RevisionSpan};

/// Adds the changes of `bolt`'s unreachable leaf pages to `builder`, as a layer that answers for no revision.
///
/// Above the last compaction the tree is complete, so nothing there can be missing from it; `reached` are the pages of trees.
pub(super) fn read(bolt: &Bolt, image: u16, reached: &Visited, span: RevisionSpan, builder: &mut VersionsBuilder) {
    let Some(compacted) = span.compacted else { return };
    let Some(layer) = builder.layer(Layer::default()) else { return };
    unreached(bolt, image, reached, |found| found.main <= compacted.0).for_each(|found| builder.push(layer, found));
}

/// Adds to `layer`, the database's own, the changes above the last compaction that its damaged tree has lost and unreachable leaf pages
/// still hold. Returns how many, and the first and last revision of them.
pub(super) fn rescue(
    bolt: &Bolt,
    image: u16,
    reached: &Visited,
    revisions: RangeInclusive<i64>,
    layer: usize,
    builder: &mut VersionsBuilder,
) -> Option<(usize, i64, i64)> {
    let known: HashSet<(i64, i64)> = builder.changes_of(layer).map(|found| (found.main, found.sub)).collect();
    let is_lost = |found: &StoredChange| revisions.contains(&found.main) && !known.contains(&(found.main, found.sub));
    let (mut count, mut first, mut last) = (0, i64::MAX, i64::MIN);
    for found in unreached(bolt, image, reached, is_lost) {
        (count, first, last) = (count + 1, first.min(found.main), last.max(found.main));
        builder.push(layer, found);
    }
    (count > 0).then_some((count, first, last))
}

/// The newest revision that unreachable leaf pages hold.
pub(super) fn newest(bolt: &Bolt, image: u16, reached: &Visited) -> Option<i64> {
    bolt.stale_leaf_pages(reached).filter_map(|page| changes(bolt, image, &page).map(|found| found.main).max()).max()
}

/// The changes that unreachable leaf pages hold. Each rewrite of a leaf left a copy behind; copies that contradict each other are none
/// to believe.
fn unreached(bolt: &Bolt, image: u16, reached: &Visited, wanted: impl Fn(&StoredChange) -> bool) -> impl Iterator<Item = StoredChange> {
    let mut copies: HashMap<(i64, i64), Option<StoredChange>> = HashMap::new();
    for page in bolt.stale_leaf_pages(reached) {
        for found in changes(bolt, image, &page).filter(&wanted) {
            match copies.entry((found.main, found.sub)) {
                Entry::Vacant(vacant) => drop(vacant.insert(Some(found))),
                Entry::Occupied(mut occupied) => {
                    if occupied.get().as_ref().is_some_and(|copy| !is_same(&bolt.image, copy, &found)) {
                        occupied.insert(None);
                    }
                }
            }
        }
    }
    copies.into_values().flatten()
}

fn is_same(image: &[u8], one: &StoredChange, other: &StoredChange) -> bool {
    let bytes = |place: Location| &image[place.start as usize..place.start as usize + place.length as usize];
    one.kind == other.kind && bytes(one.key) == bytes(other.key) && bytes(one.value) == bytes(other.value)
}

fn changes<'a>(bolt: &'a Bolt, image: u16, page: &'a StalePage) -> impl Iterator<Item = StoredChange> + 'a {
    page.pairs(bolt).filter_map(move |pair| {
        let key = RevisionKey::read(&bolt.image[pair.key.clone()]).filter(|_| !pair.is_bucket)?;
        db_file::found(&bolt.image, image, key, pair.value.start, pair.value.len(), Origin::FreePage).ok()
    })
}

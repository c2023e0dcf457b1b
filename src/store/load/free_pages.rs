//! What only unreachable pages still hold: bbolt frees pages without wiping them, so changes that a compaction removed stay readable
//! until their pages are used again.
//!
//! A page is believed as far as nothing was written over it since. Pages are written whole and begin with their own number, so
//! whatever overwrote the tail of an overflowing page shows as the header of another page within it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::bolt::{Bolt, StalePage, Visited};
use super::db_file;
use super::mvcc::RevisionKey;
use crate::store::versions::{Builder, Found, Layer, Place};
use crate::store::{EventKind, Origin, RevisionSpan};

/// Adds the changes of `bolt`'s unreachable leaf pages to `builder`, as a layer that answers for no revision.
///
/// Above the last compaction the tree is complete, so nothing there can be missing from it; `reached` are the pages of trees.
pub fn read(bolt: &Bolt, image: u16, reached: &Visited, span: RevisionSpan, builder: &mut Builder) {
    let Some(compacted) = span.compacted else { return };
    let Some(layer) = builder.layer(Layer::default()) else { return };
    // Each rewrite of a leaf left a copy behind; copies that contradict each other are none to believe.
    let mut copies: HashMap<(i64, i64), Option<Found>> = HashMap::new();
    for page in bolt.stale_leaf_pages(reached) {
        for found in changes(bolt, image, &page).filter(|found| found.main <= compacted.0) {
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
    copies.into_values().flatten().for_each(|found| builder.push(layer, found));
}

fn is_same(image: &[u8], one: &Found, other: &Found) -> bool {
    let bytes = |place: Place| &image[place.start as usize..place.start as usize + place.length as usize];
    one.kind == other.kind && bytes(one.key) == bytes(other.key) && bytes(one.value) == bytes(other.value)
}

fn changes<'a>(bolt: &'a Bolt, image: u16, page: &'a StalePage) -> impl Iterator<Item = Found> + 'a {
    page.pairs(bolt).filter_map(move |pair| {
        let key = RevisionKey::read(&bolt.image[pair.key.clone()]).filter(|_| !pair.is_bucket)?;
        let found = db_file::found(&bolt.image, image, key, pair.value.start, pair.value.len(), Origin::FreePage).ok()?;
        is_plausible(&found).then_some(found)
    })
}

/// A put's numbers must fit each other; a tombstone has none.
fn is_plausible(found: &Found) -> bool {
    match found.kind {
        EventKind::Delete => found.create_revision == 0 && found.version == 0,
        EventKind::Put => {
            found.version >= 1
                && found.create_revision >= 1
                && found.create_revision <= found.main
                && (found.version == 1) == (found.create_revision == found.main)
        }
    }
}

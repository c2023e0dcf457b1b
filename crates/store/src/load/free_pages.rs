//! What only unreachable pages still hold: bbolt frees pages without wiping them, so changes that a compaction removed stay readable
//! until their pages are used again, and so do those that damage cut off from the tree.
//!
//! A page is used as far as nothing was written over it since. In a page that has lost its header an entry is used only if it proves
//! itself: a revision key, right behind it a message of that revision, and behind that the next entry or, where it has a value, nothing to the end of
//! the page.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::bolt::{Bolt, BucketPair, Stale, Visited, step};
use super::key_bucket;
use super::mvcc::{KeyValuePlaces, RevisionKey};
use crate::Origin;
use crate::versions::{Location, StoredChange};

#[derive(Default)]
pub(super) struct Unreached {
    /// The changes that were wanted, ascending.
    pub changes: Vec<StoredChange>,
    /// The newest revision of all that leaf pages hold.
    pub newest: Option<i64>,
}

/// Reads the changes in pages of `bolt` that are not among those `reached`. Each rewrite of a leaf left a copy behind; copies that contradict
/// each other are none to believe.
pub(super) fn read(bolt: &Bolt, image: u16, reached: &Visited, wanted: impl Fn(&StoredChange) -> bool) -> Unreached {
    let change = |pair: BucketPair| {
        step();
        let key = RevisionKey::read(&bolt.image[pair.key.clone()]).filter(|_| !pair.is_bucket)?;
        key_bucket::found(&bolt.image, image, key, pair.value.start, pair.value.len(), Origin::FreePage).ok()
    };
    let mut copies = ChangeCopies { bolt, by_place: HashMap::new() };
    let mut tails: Vec<Range<usize>> = Vec::new();
    let mut newest = None;
    bolt.stale(reached, &mut |stale| match stale {
        Stale::Leaf(page) => page.pairs(bolt).filter_map(change).for_each(|found| {
            newest = newest.max(Some(found.main));
            if wanted(&found) {
                copies.add(found);
            }
        }),
        Stale::Tail(place) => tails.push(place.clone()),
    });
    // A page with its header says more of its entries than one without.
    let mut of_tails = ChangeCopies { bolt, by_place: HashMap::new() };
    for tail in tails {
        let found = entries(&bolt.image, tail, bolt.meta.page_size).filter_map(change).filter(&wanted);
        found.filter(|found| !copies.by_place.contains_key(&(found.main, found.sub))).for_each(|found| of_tails.add(found));
    }
    let all = copies.by_place.into_values().chain(of_tails.by_place.into_values());
    let mut changes: Vec<StoredChange> = all.flatten().collect();
    changes.sort_unstable_by_key(|found| (found.main, found.sub));
    Unreached { changes, newest }
}

/// The copies of each change; `None` where they contradict each other.
struct ChangeCopies<'a> {
    bolt: &'a Bolt,
    by_place: HashMap<(i64, i64), Option<StoredChange>>,
}

impl ChangeCopies<'_> {
    fn add(&mut self, found: StoredChange) {
        match self.by_place.entry((found.main, found.sub)) {
            Entry::Vacant(vacant) => drop(vacant.insert(Some(found))),
            Entry::Occupied(mut occupied) => {
                let Some(copy) = occupied.get().as_ref().filter(|copy| !is_same(&self.bolt.image, copy, &found)) else { return };
                // If two differ, the one that continues in a page of zeros has lost its end.
                match [copy, &found].map(|copy| self.bolt.zeroed_page(&place(copy.value)).is_some()) {
                    [false, true] => {}
                    [true, false] => drop(occupied.insert(Some(found))),
                    _ => drop(occupied.insert(None)),
                }
            }
        }
    }
}

fn is_same(image: &[u8], one: &StoredChange, other: &StoredChange) -> bool {
    let bytes = |location: Location| &image[place(location)];
    one.kind == other.kind && bytes(one.key) == bytes(other.key) && bytes(one.value) == bytes(other.value)
}

fn place(location: Location) -> Range<usize> {
    location.start as usize..location.start as usize + location.length as usize
}

/// The entries of the bucket `key` that lie whole in `tail`, pages of which nothing else is known.
fn entries(image: &[u8], tail: Range<usize>, page_size: usize) -> impl Iterator<Item = BucketPair> {
    let bytes = &image[tail.clone()];
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            // The byte between the two numbers of a revision key.
            let start = from + memchr::memchr(b'_', bytes.get(from + SEPARATOR_OFFSET..)?)?;
            from = start + 1;
            let Some((key, end)) = entry(bytes, start, page_size) else { continue };
            from = end;
            return Some(BucketPair {
                key: tail.start + start..tail.start + start + key,
                value: tail.start + start + key..tail.start + end,
                is_bucket: false,
            });
        }
    })
}

/// Where in a revision key the byte between its numbers is.
const SEPARATOR_OFFSET: usize = 8;

/// The length of the revision key at `start`, and the end of the message behind it.
fn entry(bytes: &[u8], start: usize, page_size: usize) -> Option<(usize, usize)> {
    [18, 17].into_iter().find_map(|key| {
        let revision = RevisionKey::read(bytes.get(start..start + key)?)?;
        let (message, length) = KeyValuePlaces::read_first(&bytes[start + key..]);
        if message.key.is_empty() || message.mod_revision != if revision.tombstone { 0 } else { revision.main } {
            return None;
        }
        let end = start + key + length;
        let is_whole = revision.tombstone || !message.value.is_empty();
        is_end(bytes, end, page_size, revision, is_whole).then_some((key, end))
    })
}

/// Whether an entry of this revision can end here: the next one follows, or zeros to the end of the page. What `is_whole` has a value, or is a tombstone:
/// zeros also follow a put whose value is still to be written, in a page that is written while it is read.
fn is_end(bytes: &[u8], end: usize, page_size: usize, revision: RevisionKey, is_whole: bool) -> bool {
    let rest = &bytes[end..];
    if let Some(next) = rest.get(..17).and_then(RevisionKey::read) {
        return (next.main, next.sub) > (revision.main, revision.sub);
    }
    is_whole && rest[..rest.len().min(end.next_multiple_of(page_size) - end)].iter().all(|&byte| byte == 0)
}

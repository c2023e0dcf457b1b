//! What a database file still holds, found without ketcd: the entries of etcd's bucket `key` that lie whole in some leaf page.

use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) const PAGE_BYTES: usize = 4096;

/// A change's revision and its place among those of the revision.
pub(crate) type Place = (i64, i64);

fn number(bytes: &[u8], at: usize, length: usize) -> usize {
    bytes[at..at + length].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Whether a page begins here: its own number, and what it is.
fn is_page(db: &[u8], id: usize) -> bool {
    number(db, id * PAGE_BYTES, 8) == id && matches!(number(db, id * PAGE_BYTES + 8, 2), 1 | 2 | 4 | 16)
}

/// The leaf pages that reach over several pages.
pub(crate) fn leaves_of_several_pages(db: &[u8]) -> impl Iterator<Item = usize> {
    (2..db.len() / PAGE_BYTES)
        .filter(|&id| is_page(db, id) && number(db, id * PAGE_BYTES + 8, 2) == 2 && number(db, id * PAGE_BYTES + 12, 4) > 0)
}

/// The entries of all leaf pages, by change: where each copy lies, revision key and message.
pub(crate) fn entries(db: &[u8]) -> BTreeMap<Place, Vec<Range<usize>>> {
    let mut entries: BTreeMap<Place, Vec<Range<usize>>> = BTreeMap::new();
    let pages = db.len() / PAGE_BYTES;
    for id in (2..pages).filter(|&id| is_page(db, id) && number(db, id * PAGE_BYTES + 8, 2) == 2) {
        let at = id * PAGE_BYTES;
        let last = (id + number(db, at + 12, 4)).min(pages - 1);
        let end = (id + 1..=last).find(|&next| is_page(db, next)).unwrap_or(last + 1) * PAGE_BYTES;
        for index in 0..number(db, at + 10, 2) {
            let element = at + 16 + 16 * index;
            let start = element + number(db, element + 4, 4);
            let (key, value) = (number(db, element + 8, 4), number(db, element + 12, 4));
            if !(17..=18).contains(&key) || start + key + value > end || db[start + 8] != b'_' {
                continue;
            }
            let big_endian = |at: usize| i64::from_be_bytes(db[at..at + 8].try_into().unwrap());
            entries.entry((big_endian(start), big_endian(start + 9))).or_default().push(start..start + key + value);
        }
    }
    entries
}

//! A pointer that leads to a wrong page costs nothing that other pages hold: every page is tried in the place of each pointer.

use ketcd_store::{Event, Revision};

use super::{Met, Shown, Truth, open, shown};
use crate::decompressed;
use ketcd_testing::mutants::PAGE_BYTES;

/// The last revision of the small database whose pointers are changed.
const NEWEST_REVISION: i64 = 260;

/// The revision up to which it is compacted.
const COMPACTED_REVISION: i64 = 60;

/// A database of some hundred changes, with a tree of more than one level and pages that no tree reaches, and what its copies are compared with.
fn original() -> (Vec<u8>, Truth) {
    let history: Vec<Event> = shown(&*open(decompressed("k120-story/snapshot.db.zst")).unwrap()).events;
    let small = ketcd_testing::database!(&history, NEWEST_REVISION, Some(COMPACTED_REVISION), true);
    let truth = Truth::of(open(small.clone()).unwrap());
    assert_eq!(truth.shown.newest, Revision(NEWEST_REVISION));
    (small, truth)
}

fn word(db: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(db[at..at + 8].try_into().unwrap())
}

fn set(db: &mut [u8], at: usize, number: u64) {
    db[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Makes both meta pages name a page as the list of free pages, as a database has it that was written with such a list.
fn set_freelist(db: &mut [u8], page: u64) {
    for meta in [16, PAGE_BYTES + 16] {
        set(db, meta + 32, page);
        let sum = db[meta..meta + 56]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        set(db, meta + 56, sum);
    }
}

/// Every page of a file and some that it does not have.
fn pages(db: &[u8]) -> impl Iterator<Item = u64> {
    (0..(db.len() / PAGE_BYTES) as u64 + 2).chain([1_000_000_000, u64::MAX - 1])
}

/// The places of the pointers below the page: those of its branches, or in the root those of buckets.
fn pointers(db: &[u8]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for page in 2..db.len() / PAGE_BYTES {
        let at = page * PAGE_BYTES;
        let (id, flags, count) =
            (word(db, at), u16::from_le_bytes([db[at + 8], db[at + 9]]), u16::from_le_bytes([db[at + 10], db[at + 11]]));
        for element in (0..usize::from(count)).map(|index| at + 16 + 16 * index).filter(|_| id == page as u64) {
            match flags {
                1 => found.push((element + 8, format!("a child of page {page}"))),
                2 if db[element] == 1 => {
                    let length = |at: usize| word(db, at) as u32 as usize;
                    let key = element + length(element + 4);
                    let value = key + length(element + 8);
                    found.push((value, format!("the root of {}", db[key..value].escape_ascii())));
                }
                _ => {}
            }
        }
    }
    found
}

/// Every change of the original that the bucket `key` holds is shown, and none that was never made.
fn assert_all_shown(truth: &Truth, copy: &Shown, what: &str) {
    let of = |shown: &Shown| -> Vec<_> {
        let changes = shown.events.iter().filter(|event| event.revision.0 > COMPACTED_REVISION);
        changes
            .map(|event| (event.revision, event.sub_revision, event.kind, event.key_value.key.clone(), event.key_value.value.clone()))
            .collect()
    };
    assert!(of(copy) == of(&truth.shown), "{what}: {} changes of {}", copy.events.len(), truth.shown.events.len());
    assert_eq!(copy.newest, truth.shown.newest, "{what}");
    // What was written before the last compaction and lost with its page is no longer known to have survived it.
    let alive = |shown: &Shown| shown.alive.iter().filter(|kv| kv.mod_revision.0 > COMPACTED_REVISION).cloned().collect::<Vec<_>>();
    assert!(alive(copy) == alive(&truth.shown), "{what}: other keys are alive");
}

/// A list of free pages that the meta page looks for in the wrong place hid the pages there.
#[test]
fn a_wrong_place_of_the_list_of_free_pages_costs_nothing_and_is_reported() {
    let (whole, truth) = original();
    for page in pages(&whole) {
        let mut db = whole.clone();
        set_freelist(&mut db, page);
        let source = open(db).unwrap();
        let problem = format!("page {page} is not the list of free pages");
        assert!(source.damage().iter().any(|damage| damage.contains(&problem)), "{page}: {:?}", source.damage());
        let copy = shown(&*source);
        assert_all_shown(&truth, &copy, &format!("list of free pages at {page}"));
        assert!(copy.alive == truth.shown.alive, "{page}");
    }
}

/// Whatever page a branch leads to instead: what is left of the tree and its pages is shown, and the damage reported.
#[test]
fn a_wrong_pointer_of_a_tree_hides_no_page_and_is_reported() {
    let (whole, truth) = original();
    for (place, name) in pointers(&whole).into_iter().filter(|(_, name)| name.starts_with("a child")) {
        for page in pages(&whole).filter(|&page| page != word(&whole, place)) {
            let what = format!("{name} is page {page}");
            let mut db = whole.clone();
            set(&mut db, place, page);
            let source = open(db).unwrap();
            assert!(!source.damage().is_empty(), "{what}: nothing is reported");
            let copy = shown(&*source);
            // Where a tree leads to its own beginning only, nothing tells a copy of an earlier time from it, but that later pages are there.
            let is_older =
                source.damage().iter().any(|damage| damage.contains("pages that its tree does not reach hold revisions up to 260"));
            if !is_older {
                assert_all_shown(&truth, &copy, &what);
            } else {
                assert!(matches!(truth.compare(&copy).0, Met::Older | Met::Unharmed | Met::Wrong), "{what}");
            }
        }
    }
}

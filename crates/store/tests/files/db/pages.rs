//! Damaged pages: what lies whole anywhere in the file is shown, what comes from a page that no tree reaches is marked, and the loss is named.

use std::collections::BTreeMap;

use ketcd_store::{Event, Origin};

use super::left::{self, PAGE_BYTES, Place};
use super::{by_place, decompressed, events, member_db, open};
use ketcd_testing::random::Random;

/// Numbers of changes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    shown: usize,
    /// Those that no leaf of the tree holds any more.
    lost: usize,
    /// Those of the lost that lie whole in some other page.
    left: usize,
    /// Those of the lost that are shown.
    recovered: usize,
    /// Those shown, and named or marked, whose value goes on in a page that was zeroed.
    wrong: usize,
}

fn is_same(one: &Event, other: &Event) -> bool {
    (one.kind, &one.key_value) == (other.kind, &other.key_value)
}

/// Holds what is shown of a damaged database against the whole one.
fn check(truth: &BTreeMap<Place, Event>, whole: &[u8], damaged: &[u8]) -> Count {
    let (before, after) = (left::entries(whole), left::entries(damaged));
    let source = open(damaged.to_vec()).unwrap();
    assert!(!source.damage().is_empty());
    let shown = by_place(events(&*source));
    let mut count = Count { shown: shown.len(), ..Count::default() };
    for (place, original) in truth {
        let event = shown.get(place);
        let is_named = || {
            source.damage().iter().any(|problem| problem.contains("nothing but zeros") && problem.contains(&format!(" {} (page", place.0)))
        };
        let is_right = event.is_none_or(|event| is_same(event, original));
        assert!(is_right || event.is_some_and(|event| event.origin == Origin::FreePage) || is_named(), "{place:?}: {:?}", source.damage());
        count.wrong += usize::from(!is_right);
        // Copies that were damaged themselves are not whole.
        let entry = before[place].first().map(|copy| &whole[copy.clone()]);
        let is_left = after.get(place).is_some_and(|copies| copies.iter().any(|copy| Some(&damaged[copy.clone()]) == entry));
        let is_lost = event.is_none_or(|event| event.origin == Origin::FreePage) && original.origin == Origin::Db;
        count.lost += usize::from(is_lost);
        count.left += usize::from(is_lost && is_left);
        count.recovered += usize::from(is_lost && event.is_some());
        assert!(is_left || event.is_none() || !is_right, "{place:?} is shown, and is not left");
        assert!(!is_left || event.is_some(), "{place:?} is left, and not shown");
    }
    count
}

/// Zeroes one page of twenty.
fn zero_pages(db: &mut [u8], random: &mut Random) {
    let pages = db.len() / PAGE_BYTES;
    for _ in 0..pages / 20 {
        let page = 2 + random.below(pages - 2);
        db[page * PAGE_BYTES..][..PAGE_BYTES].fill(0);
    }
}

#[test]
fn stale_copies_replace_lost_leaves() {
    let whole = member_db("k120-story/member.tar.zst");
    let truth = by_place(events(&*open(whole.clone()).unwrap()));
    let mut all = Count::default();
    for seed in 0..20 {
        let mut damaged = whole.clone();
        zero_pages(&mut damaged, &mut Random(seed));
        let count = check(&truth, &whole, &damaged);
        all.left += count.left;
        all.recovered += count.recovered;
    }
    assert!(all.left > 2000 && all.recovered >= all.left, "{all:?}");
}

/// Leaves that reach over several pages have lost the first: what lies whole in the others proves itself.
#[test]
fn a_leafs_tail_is_read_without_its_header() {
    for (name, least) in [("k136-story/snapshot.db.zst", 50), ("k136-random/snapshot.db.zst", 50)] {
        let whole = decompressed(name);
        let truth = by_place(events(&*open(whole.clone()).unwrap()));
        let mut damaged = whole.clone();
        let leaves: Vec<usize> = left::leaves_of_several_pages(&whole).collect();
        leaves.iter().for_each(|page| damaged[page * PAGE_BYTES..][..PAGE_BYTES].fill(0));
        let (before, in_leaves) = (left::entries(&whole), left::entries(&damaged));
        let in_ends = |place: &Place| before[place].iter().all(|copy| damaged[copy.clone()] == whole[copy.clone()]);
        let shown = by_place(events(&*open(damaged.clone()).unwrap()));
        let of_ends = |place: &&Place| !in_leaves.contains_key(place);
        for place in shown.keys().filter(of_ends) {
            assert!(
                is_same(&shown[place], &truth[place]) && shown[place].origin == Origin::FreePage && in_ends(place),
                "{name}: {place:?}"
            );
        }
        let left: Vec<&Place> = truth.keys().filter(of_ends).filter(|place| in_ends(place)).collect();
        assert!(left.iter().all(|place| shown.contains_key(place)) && left.len() > least, "{name}: {left:?} of {} leaves", leaves.len());
    }
}

/// Without both meta pages nothing leads to the data, and nothing says how large a page is.
#[test]
fn leaf_pages_are_read_without_meta_pages() {
    for name in ["k120-story/snapshot.db.zst", "k136-story/snapshot.db.zst", "k120-story/compacted.db.zst"] {
        let mut db = decompressed(name);
        let truth = by_place(events(&*open(db.clone()).unwrap()));
        db[..2 * PAGE_BYTES].fill(0);
        let source = open(db).unwrap();
        assert!(source.damage()[0].contains("both meta pages are broken"), "{:?}", source.damage());
        let shown = by_place(events(&*source));
        assert!(shown.values().all(|event| event.origin == Origin::FreePage));
        for (place, event) in &truth {
            assert!(shown.get(place).is_some_and(|shown| is_same(shown, event)), "{name}: {place:?}");
        }
    }
}

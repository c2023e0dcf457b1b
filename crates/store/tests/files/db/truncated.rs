//! Databases cut short anywhere: whatever lies whole on the pages that are there is shown, and the loss is named.

use super::left::{self, PAGE_BYTES, Place};
use super::{by_place, decompressed, events, open};

/// Truncations of each database.
const TRUNCATION_COUNT: usize = 120;

fn check(name: &str) {
    let mut whole = decompressed(name);
    whole.truncate(whole.len() / PAGE_BYTES * PAGE_BYTES);
    let truth = by_place(events(&*open(whole.clone()).unwrap()));
    let entries = left::entries(&whole);
    let mut shown_at_all = 0;
    for number in 0..TRUNCATION_COUNT {
        // From a few pages to all but the last bytes, on the border of a page every other time.
        let length = PAGE_BYTES * 3 + (whole.len() - PAGE_BYTES * 3) * number / TRUNCATION_COUNT;
        let length = if number % 2 == 0 { length / PAGE_BYTES * PAGE_BYTES } else { length };
        let is_left = |place: &Place| entries.get(place).is_some_and(|copies| copies.iter().any(|copy| copy.end <= length));
        let left: Vec<&Place> = truth.keys().filter(|place| is_left(place)).collect();
        let source = match open(whole[..length].to_vec()) {
            Ok(source) => source,
            Err(error) => {
                assert!(left.is_empty(), "{name}, {length} bytes: {} of {}: {error}", left.len(), truth.len());
                continue;
            }
        };
        assert!(source.damage().iter().any(|problem| problem.contains("truncated: ")), "{length}: {:?}", source.damage());
        let shown = by_place(events(&*source));
        for (place, event) in &shown {
            let original = &truth[place];
            assert_eq!((original.kind, &original.key_value), (event.kind, &event.key_value), "{name}, {length} bytes");
        }
        let lost: Vec<_> = left.iter().filter(|place| !shown.contains_key(place)).collect();
        assert!(lost.is_empty(), "{name}, {length} bytes: {} of {} are not shown: {lost:?}", lost.len(), left.len());
        shown_at_all += shown.len();
    }
    assert!(shown_at_all > TRUNCATION_COUNT * truth.len() / 4, "{name}: {shown_at_all}");
}

#[test]
fn a_truncated_database_shows_what_it_holds() {
    check("k120-story/snapshot.db.zst");
}

#[test]
fn a_truncated_compacted_database_shows_what_it_holds() {
    check("k120-story/compacted.db.zst");
}

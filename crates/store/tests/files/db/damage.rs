//! A thousand damaged copies of databases: every value that is shown equals the original at its revision, or is marked, or the damage that
//! reached it is reported.

use std::collections::BTreeMap;

use ketcd_store::{Event, EventKind, Origin};

use super::left::{PAGE_BYTES, Place};
use super::{by_place, decompressed, events, open};
use ketcd_testing::mutants::{Kind, damage_database};
use ketcd_testing::random::Random;

/// Zeroed pages, flipped bytes, truncations.
const DAMAGE_KINDS: [Kind; 5] = [Kind::Zeroed, Kind::Bytes, Kind::Truncated, Kind::Header, Kind::Element];

/// How a damaged copy was met.
#[derive(Debug, Default)]
struct Met {
    copies: usize,
    refused: usize,
    /// Copies with reported damage.
    reported: usize,
    /// Values from pages that no tree reaches.
    marked: usize,
    /// Marked values that are not the original's.
    marked_and_wrong: usize,
    /// Values that nothing marks and that differ in single bytes only, or where a page of them was zeroed: pages bear no checksum.
    bytes: usize,
}

/// Whether a sentence names a revision.
fn names(problems: &[String], revision: i64) -> bool {
    let number = revision.to_string();
    problems.iter().any(|problem| problem.split(|character: char| !character.is_ascii_digit()).any(|word| word == number))
}

/// Whether two versions of a key agree in everything but bytes of the value.
fn is_of_the_same_write(one: &Event, other: &Event) -> bool {
    let of = |event: &Event| {
        let kv = &event.key_value;
        (event.kind, kv.create_revision, kv.mod_revision, kv.version, if event.kind == EventKind::Put { kv.value.len() } else { 0 })
    };
    of(one) == of(other)
}

fn meet(truth: &BTreeMap<Place, Event>, damaged: Vec<u8>, met: &mut Met) {
    met.copies += 1;
    let source = match open(damaged) {
        Ok(source) => source,
        Err(_) => return met.refused += 1,
    };
    let is_reported = !source.damage().is_empty() || !source.late_damage().is_empty();
    met.reported += usize::from(is_reported);
    for (place, event) in by_place(events(&*source)) {
        let is_marked = event.origin == Origin::FreePage;
        met.marked += usize::from(is_marked);
        match truth.get(&place) {
            Some(original) if (original.kind, &original.key_value) == (event.kind, &event.key_value) => {}
            _ if is_marked => met.marked_and_wrong += 1,
            Some(original) if is_of_the_same_write(original, &event) => met.bytes += 1,
            original => {
                // Only the first of many sentences of a kind are written.
                let problems = source.damage();
                let is_named = names(problems, event.revision.0) || problems.iter().any(|problem| problem.contains(" more "));
                assert!(is_named, "{event:?} is {original:?}, and its revision is not named: {problems:?}");
            }
        }
    }
}

#[test]
fn a_damaged_database_shows_what_is_true_or_marked() {
    let copies = std::env::var("KETCD_DAMAGES").ok().and_then(|copies| copies.parse().ok()).unwrap_or(300);
    let originals = ["k120-story/snapshot.db.zst", "k120-story/compacted.db.zst", "k136-story/compacted.db.zst"].map(|name| {
        let mut whole = decompressed(name);
        whole.truncate(whole.len() / PAGE_BYTES * PAGE_BYTES);
        (by_place(events(&*open(whole.clone()).unwrap())), whole)
    });
    let mut met: BTreeMap<Kind, Met> = BTreeMap::new();
    for number in 0..copies {
        let (kind, (truth, whole)) = (DAMAGE_KINDS[number % DAMAGE_KINDS.len()], &originals[number / DAMAGE_KINDS.len() % originals.len()]);
        let (mut damaged, random) = (whole.clone(), &mut Random(5_000_000 + number as u64));
        let times = if kind == Kind::Truncated { 1 } else { 1 + random.below(20) };
        (0..times).for_each(|_| damage_database(&mut damaged, kind, random));
        meet(truth, damaged, met.entry(kind).or_default());
    }
    for (kind, met) in &met {
        // Zeros in a value's further pages and single bytes of values are all that can go unreported.
        let least = if *kind == Kind::Bytes { met.copies / 2 } else { met.copies * 9 / 10 };
        assert!(met.reported + met.refused >= least, "{kind:?}: {met:?}");
        assert!(met.marked_and_wrong * 100 <= met.marked, "{kind:?}: {met:?}");
        assert!(matches!(kind, Kind::Bytes | Kind::Zeroed) || met.bytes == 0, "{kind:?}: {met:?}");
    }
}

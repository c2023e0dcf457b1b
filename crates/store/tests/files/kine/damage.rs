//! A thousand damaged copies of a database and its log: what is shown equals the original at its revision, or damage is reported.

use std::collections::BTreeMap;

use ketcd_store::{EventKind, Origin, Revision, load};

use super::made::Kine;
use super::{events, wait};
use ketcd_testing::random::Random;

/// Small pages, so that a small database has many.
const PAGE_BYTES: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Single bytes anywhere, in values above all.
    Bytes,
    /// Single bytes in the beginnings of pages.
    Header,
    Zeroed,
    Truncated,
    /// A page in another one's place.
    Misplaced,
    /// Bytes of the log.
    Log,
    /// The log is lost from somewhere on, which is how a crash leaves it.
    LogTruncated,
}

const DAMAGE_KINDS: [Kind; 7] = [Kind::Bytes, Kind::Header, Kind::Zeroed, Kind::Truncated, Kind::Misplaced, Kind::Log, Kind::LogTruncated];

fn damage(database: &mut Vec<u8>, log: &mut Vec<u8>, kind: Kind, random: &mut Random) {
    let pages = database.len() / PAGE_BYTES;
    match kind {
        Kind::Bytes => (0..=random.below(3)).for_each(|_| {
            let at = random.below(database.len());
            database[at] ^= 1 << random.below(8);
        }),
        Kind::Header => {
            let at = random.below(pages) * PAGE_BYTES + random.below(64);
            database[at] ^= 1 + random.below(255) as u8;
        }
        Kind::Zeroed => (0..=random.below(40)).for_each(|_| {
            let at = random.below(pages) * PAGE_BYTES;
            database[at..at + PAGE_BYTES].fill(0);
        }),
        Kind::Truncated => database.truncate(random.below(database.len())),
        Kind::Misplaced => {
            let (from, to) = (random.below(pages) * PAGE_BYTES, random.below(pages) * PAGE_BYTES);
            database.copy_within(from..from + PAGE_BYTES, to);
        }
        Kind::Log => {
            let at = random.below(log.len());
            log[at] ^= 1 << random.below(8);
        }
        Kind::LogTruncated => log.truncate(random.below(log.len())),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    Refused,
    Reported,
    Unharmed,
    /// Nothing is reported, and the newest transactions are not there.
    Older,
    /// Some value, or a lease, is not what was written, and no sentence names its revision.
    Bytes,
}

/// What was written: the key, the row that made it, the value; by revision.
type Written = BTreeMap<i64, (String, i64, Option<Vec<u8>>)>;

/// A database that was compacted once, its log, and every change that was ever made in it.
fn original() -> (Vec<u8>, Vec<u8>, Written) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let pragmas = format!("PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 150;");
    let (mut kine, random) = (Kine::new(&path, &pragmas), &mut Random(1));
    (0..200).for_each(|_| kine.change(random, 1500));
    kine.compact(101);
    (0..200).for_each(|_| kine.change(random, 1500));
    let read = |name| std::fs::read(directory.path().join(name)).unwrap();
    (read("state.db"), read("state.db-wal"), kine.written)
}

/// Whether a sentence names a revision.
fn names(problems: &[String], revision: Revision) -> bool {
    let number = revision.to_string();
    problems.iter().any(|problem| problem.split(|character: char| !character.is_ascii_digit()).any(|word| word == number))
}

fn meet(database: Vec<u8>, log: Vec<u8>, written: &Written) -> Met {
    let Ok(source) = load::open_kine("damaged", database.into(), log.into()) else { return Met::Refused };
    let shown = events(&*source);
    let problems = source.damage();
    let mut met = if problems.is_empty() { Met::Unharmed } else { Met::Reported };
    for event in &shown {
        let entry = &event.key_value;
        let is_marked = event.origin == Origin::FreePage || names(problems, event.revision);
        let truth = written.get(&event.revision.0);
        let is_true = truth.is_some_and(|(name, made, value)| {
            let is_put = event.kind == EventKind::Put;
            name.as_bytes() == &entry.key[..] && *made == entry.create_revision.0 && value.is_some() == is_put
        });
        assert!(is_true || is_marked, "another change of revision {}: {event:?} is {truth:?}", event.revision);
        if is_true && !is_marked && truth.is_some_and(|(_, _, value)| value.clone().unwrap_or_default() != entry.value || entry.lease != 0)
        {
            met = Met::Bytes;
        }
    }
    let span = wait(source.span()).unwrap();
    if problems.is_empty() {
        let compacted = span.compacted.unwrap_or(Revision(1));
        let above = shown.iter().filter(|event| event.revision > compacted).count() as i64;
        assert_eq!(above, span.newest.0 - compacted.0, "changes are missing up to {}", span.newest);
        met = if span.newest < Revision(401) { met.max(Met::Older) } else { met };
    }
    met
}

#[test]
fn a_damaged_database_is_reported_or_true() {
    check(330);
}

#[test]
fn a_thousand_damaged_databases_are_reported_or_true_nightly() {
    check(1000);
}

fn check(mutants: usize) {
    let (database, log, written) = original();
    assert_eq!((meet(database.clone(), log.clone(), &written), written.len()), (Met::Unharmed, 400));
    assert!(log.len() > 100 * PAGE_BYTES && database.len() > 200 * PAGE_BYTES);
    let mut met: BTreeMap<(Kind, Met), usize> = BTreeMap::new();
    for number in 0..mutants {
        let (kind, random) = (DAMAGE_KINDS[number % DAMAGE_KINDS.len()], &mut Random(number as u64));
        let (mut damaged, mut damaged_log) = (database.clone(), log.clone());
        damage(&mut damaged, &mut damaged_log, kind, random);
        let how = meet(damaged, damaged_log, &written);
        // A value is held against the row that replaced it alone, so nothing shows damage of the newest of a key; a log ends where it ends.
        let may_be = match kind {
            Kind::Bytes | Kind::Header | Kind::Misplaced => how != Met::Older,
            Kind::LogTruncated | Kind::Log => how != Met::Bytes,
            Kind::Zeroed | Kind::Truncated => !matches!(how, Met::Older | Met::Bytes),
        };
        assert!(may_be, "mutant {number} ({kind:?}): {how:?}");
        *met.entry((kind, how)).or_default() += 1;
    }
    let of = |kind, how| met.get(&(kind, how)).copied().unwrap_or_default();
    for kind in [Kind::Zeroed, Kind::Truncated, Kind::Misplaced] {
        assert!(of(kind, Met::Reported) * 10 > mutants, "{kind:?}: {met:?}");
    }
    for kind in [Kind::Bytes, Kind::Header, Kind::Log] {
        assert!(of(kind, Met::Reported) * 200 > mutants * 3, "{kind:?}: {met:?}");
    }
    // The log was written back, so the database and a part of the log are of two moments, which the indexes show.
    assert!(of(Kind::LogTruncated, Met::Reported) * 10 > mutants, "{met:?}");
}

/// What SQLite's integrity check refuses is reported, though every row can be read.
#[test]
fn pages_are_what_sqlite_makes_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let (mut kine, random) = (Kine::new(&path, &format!("PRAGMA page_size = {PAGE_BYTES};")), &mut Random(1));
    (0..200).for_each(|_| kine.change(random, 1500));
    kine.compact(101);
    let whole = std::fs::read(&path).unwrap();
    let damage = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut damaged = whole.clone();
        change(&mut damaged);
        load::open_kine("state.db", damaged.into(), vec![].into()).unwrap().damage().join("; ")
    };
    assert_eq!(damage(&|_| ()), "");
    let leaf = |kind: u8| (1..).map(|page| page * PAGE_BYTES).find(|&at| whole[at] == kind && whole[at + 4] > 2).unwrap();
    let (rows, entries) = (leaf(13), leaf(10));
    let cases: [(&dyn Fn(&mut Vec<u8>), &str); 6] = [
        (&|db| db[21] = 65, "the file's header has values"),
        (&|db| db[39] ^= 1, "free pages, and the list has"),
        (&|db| db[31] -= 1, "lies behind the last page"),
        (&|db| db[rows + 7] ^= 1, "its free bytes are not as many as it says"),
        (&|db| db[entries + 7] ^= 1, "its free bytes are not as many as it says"),
        // The two first entries of an index in each other's place.
        (
            &|db| {
                let [one, other] = [8, 10].map(|at| [db[entries + at], db[entries + at + 1]]);
                db[entries + 8..entries + 10].copy_from_slice(&other);
                db[entries + 10..entries + 12].copy_from_slice(&one);
            },
            "is not in its place",
        ),
    ];
    for (change, says) in cases {
        let damage = damage(change);
        assert!(damage.contains(says), "{says}: {damage}");
    }
}

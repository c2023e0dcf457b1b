//! Differential damage: of some hundred damaged copies each of a snapshot, a data dir and an encrypted snapshot, at night of a thousand, every value shown
//! equals the original at that revision, or the damage is reported.

mod pointers;
mod reported;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::StreamExt;
use ketcd_store::{At, Event, KeyRange, KeyValue, Revision, Source, Until, Want, WatchItem, load};

use ketcd_testing::mutants::{DAMAGE_KINDS, Kind, LOG_KINDS, LogKind, PAGE_BYTES, damage_database, damage_log};
use ketcd_testing::random::Random;

use super::{decompressed, wait};

/// Damaged copies of each original by day.
const DAY_MUTANTS: usize = 330;

/// Damaged copies of each original at night. They begin with those of the day.
const NIGHT_MUTANTS: usize = 1000;

fn open(bytes: Vec<u8>) -> Result<Box<dyn Source>, String> {
    load::open_bytes("damaged", Bytes::from(bytes), &load::Limits::default(), &|_| None).map_err(|error| error.to_string())
}

const FIRST_LOG_NAME: &str = "0000000000000000-0000000000000000.wal";

fn open_member(db: Vec<u8>, log: Vec<u8>) -> Result<Box<dyn Source>, String> {
    load::open_member("damaged", db.into(), vec![(FIRST_LOG_NAME.to_owned(), log.into())]).map_err(|error| error.to_string())
}

/// Everything that a source shows: every change, and the keys alive at its newest revision.
struct Shown {
    newest: Revision,
    events: Vec<Event>,
    alive: Vec<KeyValue>,
}

fn alive(source: &dyn Source, at: At) -> (Revision, Vec<KeyValue>) {
    wait(async {
        let listing = source.range(KeyRange::all(), at, Want::Values).await.unwrap();
        (listing.revision, listing.entries.map(Result::unwrap).collect().await)
    })
}

fn shown(source: &dyn Source) -> Shown {
    let items: Vec<_> = wait(source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect());
    let events = items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None });
    let (newest, alive) = alive(source, At::Newest);
    Shown { newest, events: events.collect(), alive }
}

type Place = (Revision, i64);

fn place(event: &Event) -> Place {
    (event.revision, event.sub_revision)
}

/// An original, to hold damaged copies against.
struct Truth {
    source: Box<dyn Source>,
    shown: Shown,
    by_place: HashMap<Place, usize>,
}

impl Truth {
    fn of(source: Box<dyn Source>) -> Self {
        assert_eq!((source.damage(), source.late_damage()), (&[][..], vec![]), "the original is whole");
        let shown = shown(&*source);
        let by_place = shown.events.iter().enumerate().map(|(index, event)| (place(event), index)).collect();
        Self { source, shown, by_place }
    }

    /// Holds what a copy shows against the original.
    fn compare(&self, copy: &Shown) -> (Met, String) {
        let wrong = |what: String| (Met::Wrong, what);
        let numbers = |kv: &KeyValue| (kv.create_revision, kv.mod_revision, kv.version);
        let mut bytes = None;
        for event in &copy.events {
            let Some(truth) = self.by_place.get(&place(event)).map(|&index| &self.shown.events[index]) else {
                return wrong(format!("a change of revision {} that was never made", event.revision));
            };
            if truth.kind != event.kind || numbers(&truth.key_value) != numbers(&event.key_value) {
                return wrong(format!("another change of revision {}", event.revision));
            }
            if truth.key_value != event.key_value {
                bytes = Some(format!("other bytes in the change of revision {}", event.revision));
            }
        }
        let made = self.shown.events.iter().filter(|event| event.revision <= copy.newest).count();
        if copy.events.len() != made {
            return wrong(format!("{} changes of {made} up to revision {}", copy.events.len(), copy.newest));
        }
        if let Some(bytes) = bytes {
            return (Met::Bytes, bytes);
        }
        if copy.newest > self.shown.newest || copy.alive != alive(&*self.source, At::Revision(copy.newest)).1 {
            return wrong(format!("other keys are alive at revision {}", copy.newest));
        }
        if copy.newest < self.shown.newest {
            (Met::Older, format!("its newest revision is {}", copy.newest))
        } else {
            (Met::Unharmed, String::new())
        }
    }
}

/// How a damaged copy was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    /// It is refused: an error.
    Refused,
    /// It is read, and damage is reported.
    Reported,
    /// Nothing is reported, and nothing shown is wrong.
    Unharmed,
    /// Nothing is reported, and everything shown is right, but the newest revisions are not there.
    Older,
    /// Nothing is reported, and keys or values have other bytes.
    Bytes,
    /// Nothing is reported, and changes are missing, or were never made.
    Wrong,
}

/// Meets one copy.
fn meet(truth: &Truth, opened: Result<Box<dyn Source>, String>) -> (Met, String) {
    let source = match opened {
        Ok(source) => source,
        Err(error) => return (Met::Refused, error),
    };
    let reported: Vec<String> = source.damage().iter().cloned().chain(source.late_damage()).collect();
    if !reported.is_empty() {
        assert!(reported.iter().all(|sentence| sentence.len() > 20), "{reported:?}");
        return (Met::Reported, reported[0].clone());
    }
    truth.compare(&shown(&*source))
}

/// Runs `work` for each number up to `count`, on all processors; returns how often each of its answers came.
fn tally<K: Ord + Send>(count: usize, work: impl Fn(usize) -> K + Sync) -> BTreeMap<K, usize> {
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < count) {
                    let answer = work(number);
                    *tally.lock().unwrap().entry(answer).or_default() += 1;
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// Damages copies of a snapshot, with its checksum and without it.
fn check_snapshot(name: &str, seed: u64, mutants: usize) {
    let whole = decompressed(name);
    let without = whole.len() / PAGE_BYTES * PAGE_BYTES;
    let truth = Truth::of(open(whole.clone()).unwrap());
    let met = tally(mutants, |number| {
        let kind = DAMAGE_KINDS[number % DAMAGE_KINDS.len()];
        let mut damaged = whole.clone();
        damage_database(&mut damaged, kind, &mut Random(seed + number as u64));
        if damaged == whole {
            return (kind, Met::Unharmed);
        }
        let (met, what) = meet(&truth, open(damaged.clone()));
        assert!(
            matches!(met, Met::Refused | Met::Reported),
            "{name}, mutant {number} ({kind:?}): {met:?} {what}, though its checksum cannot hold"
        );
        damaged.truncate(without);
        let (met, what) = meet(&truth, open(damaged));
        let may_be = match kind {
            // Pages have no checksum: of the bytes of keys and values, and of the pages that go on with them, nothing but the file's shows damage.
            Kind::Bytes | Kind::Zeroed | Kind::Misplaced | Kind::Renumbered => met == Met::Bytes,
            // An older copy of the last leaf in its place leaves a whole database, of a little earlier.
            Kind::Stale => met == Met::Older,
            _ => false,
        };
        let is_right = matches!(met, Met::Refused | Met::Reported | Met::Unharmed) || may_be;
        assert!(is_right, "{name}, mutant {number} ({kind:?}) without its checksum: {met:?}: {what}");
        (kind, met)
    });
    assert_reported(&met, mutants);
}

/// Every kind of damage was reported at least sometimes.
fn assert_reported(met: &BTreeMap<(Kind, Met), usize>, mutants: usize) {
    let sometimes = if mutants < NIGHT_MUTANTS { 0 } else { 5 };
    for kind in DAMAGE_KINDS {
        let of = |what: Met| met.get(&(kind, what)).copied().unwrap_or_default();
        assert!(of(Met::Reported) + of(Met::Refused) > sometimes, "{kind:?}: {met:?}");
    }
    let reported: usize = met.iter().filter(|((_, met), _)| *met == Met::Reported).map(|(_, count)| count).sum();
    assert!(reported > mutants / 3, "{met:?}");
}

#[test]
fn a_damaged_snapshot_is_reported_or_true() {
    check_snapshot("k120-story/snapshot.db.zst", 1, DAY_MUTANTS);
}

#[test]
fn a_damaged_encrypted_snapshot_is_reported_or_true() {
    check_snapshot("k136-encrypted/snapshot.db.zst", 2, DAY_MUTANTS);
}

#[test]
fn a_thousand_damaged_snapshots_are_reported_or_true_nightly() {
    check_snapshot("k120-story/snapshot.db.zst", 1, NIGHT_MUTANTS);
    check_snapshot("k136-encrypted/snapshot.db.zst", 2, NIGHT_MUTANTS);
}

/// The files of a recorded member: its database, and its log as far as it was written.
fn member(name: &str) -> (Vec<u8>, Vec<u8>) {
    let tar = decompressed(name);
    let text = |field: &[u8]| String::from_utf8(field.split(|&byte| byte == 0).next().unwrap().to_vec()).unwrap();
    let (mut at, mut db, mut log) = (0, Vec::new(), Vec::new());
    while tar[at] != 0 {
        let header = &tar[at..at + 512];
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        let bytes = &tar[at + 512..at + 512 + size];
        match text(&header[..100]) {
            name if name.ends_with("snap/db") => db = bytes.to_vec(),
            name if name.ends_with(FIRST_LOG_NAME) => log = bytes.to_vec(),
            _ => {}
        }
        at += 512 + size.next_multiple_of(512);
    }
    let written = log.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    log.truncate(written.next_multiple_of(PAGE_BYTES) + PAGE_BYTES);
    (db, log)
}

#[test]
fn a_damaged_data_dir_is_reported_or_true() {
    check_data_dir(DAY_MUTANTS);
}

#[test]
fn a_thousand_damaged_data_dirs_are_reported_or_true_nightly() {
    check_data_dir(NIGHT_MUTANTS);
}

/// Damages the database or the log of copies of a data dir.
fn check_data_dir(mutants: usize) {
    let (db, log) = member("k120-story/member.tar.zst");
    let written = log.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    let truth = Truth::of(open_member(db.clone(), log.clone()).unwrap());
    let met = tally(mutants, |number| {
        let random = &mut Random(3_000_000 + number as u64);
        let (mut damaged, mut damaged_log) = (db.clone(), log.clone());
        let mut what = String::new();
        if number % 2 == 0 {
            let kind = DAMAGE_KINDS[number / 2 % DAMAGE_KINDS.len()];
            damage_database(&mut damaged, kind, random);
            what += &format!("{kind:?}");
        } else {
            let kind: LogKind = LOG_KINDS[number / 2 % LOG_KINDS.len()];
            damage_log(&mut damaged_log, written, kind, random);
            what += &format!("log {kind:?}");
        }
        let (met, difference) = meet(&truth, open_member(damaged, damaged_log));
        assert!(matches!(met, Met::Refused | Met::Reported | Met::Unharmed), "mutant {number} ({what}): {met:?}: {difference}");
        (number % 2, met)
    });
    let times = |part: usize, how| met.get(&(part, how)).copied().unwrap_or_default();
    assert!(times(0, Met::Reported) + times(0, Met::Refused) > mutants / 10 && times(1, Met::Reported) > mutants * 3 / 10, "{met:?}");
}

//! Replays a member's log and compares it with its database: which changes the log holds, and where the database is damaged.
//!
//! The log's entries have checksums, the database's pages have none. So where both hold the same history and differ in a few places, the
//! database is damaged there; where they never agree again, they are not of the same history.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::db_file::Facts;
use super::wal::{self, KeyState, KnownPut, LogChange, Logged, Request, Run, Store};
use crate::EventKind;
use crate::versions::{Location, StoredChange, VersionsBuilder};

/// The changes of a run of entries.
#[derive(Default)]
pub(super) struct Replayed {
    pub changes: Vec<LogChange>,
    /// Whether they begin with the store's first change, so that every revision of them can be read whole.
    pub from_the_start: bool,
    /// Where the database has a change that the log proves wrong: revision and sub-revision.
    pub refuted: HashSet<(i64, i64)>,
    /// Each a sentence.
    pub problems: Vec<String>,
}

/// What a replay needs.
pub(super) struct Replay<'a> {
    pub builder: &'a VersionsBuilder,
    /// The images of the log's files.
    pub images: &'a [u16],
    /// The database's layer.
    pub layer: usize,
    pub facts: &'a Facts,
    /// The last entry that counts.
    pub certain: u64,
}

impl Replay<'_> {
    /// Replays a run of entries.
    pub(super) fn run(&self, run: &Run) -> Replayed {
        let newest = self.facts.span.map_or(1, |span| span.newest.0);
        if run.first <= 1
            && let Some(replayed) = self.replay_from_the_start(run, newest)
        {
            return replayed;
        }
        let next = self.facts.consistent_index.saturating_add(1);
        let meets_database = (run.first..=run.end()).contains(&next);
        let mut replayed = self.recover(run, next, meets_database.then_some(newest));
        if meets_database {
            let images = |image: u16| self.builder.image_bytes(image);
            let mut store = Store::at(&images, newest, self.alive().into_iter());
            let (changes, problem) = self.apply(&mut store, run, next, |_, _| ());
            replayed.changes.extend(changes);
            replayed.problems.extend(problem);
        } else {
            let what =
                if replayed.changes.is_empty() { "cannot be brought together with the database" } else { "do not reach the database" };
            let problem = format!("entries {} to {} of the log {what}, whose last is {}", run.first, run.end() - 1, next - 1);
            replayed.problems.push(problem);
        }
        replayed
    }

    /// Returns what a log that begins later than the cluster holds of the time before its entry `end`, as far as revisions are certain.
    fn recover(&self, run: &Run, end: u64, reached: Option<i64>) -> Replayed {
        let before = run.entries.iter().zip(run.first..).take_while(|(_, index)| *index < end);
        let logged = before.map(|(entry, _)| {
            let image = self.images[entry.file];
            let file = &self.builder.image_bytes(image)[..];
            Logged { image, file, request: Request::of_entry(entry) }
        });
        let puts = self.builder.changes_of(self.layer).filter(|found| found.kind == EventKind::Put);
        let known: Vec<KnownPut<'_>> = puts
            .map(|found| {
                let StoredChange { main, create_revision, version, .. } = *found;
                KnownPut { key: self.builder.bytes(found.key), value: self.builder.bytes(found.value), main, create_revision, version }
            })
            .collect();
        let changes = wal::recover(&logged.collect::<Vec<_>>(), &known, reached);
        let comparison = self.compare(&changes, false);
        // Where neither key nor value is the same, it is rather the revision that was taken for another's.
        if comparison.same < comparison.differing.len() || comparison.differing.iter().any(|difference| !difference.is_similar) {
            return Replayed::default();
        }
        Replayed { changes, ..comparison.into_replayed() }
    }

    /// Replays a log that begins with the cluster, and holds it against the database: a cluster restored from a snapshot begins anew
    /// with its log, but not with its revisions. `None` where they are not of one history.
    fn replay_from_the_start(&self, run: &Run, newest: i64) -> Option<Replayed> {
        let images = |image: u16| self.builder.image_bytes(image);
        let mut store = Store::empty(&images);
        let last = self.facts.consistent_index;
        let reached = Cell::new(None);
        let (changes, problem) = self.apply(&mut store, run, run.first, |index, store| {
            if index == last {
                reached.set(Some(store.revision));
            }
        });
        let comparison = self.compare(&changes, true);
        // A log of another history, or one that was not understood, never agrees again after the first difference.
        let agrees = comparison.differing.is_empty()
            || (comparison.same > comparison.differing.len()
                && (reached.get() == Some(newest)
                    || comparison.last_same > comparison.differing.last().map(|difference| difference.place)));
        if !agrees || (comparison.same == 0 && reached.get() != Some(newest)) {
            return None;
        }
        let mut replayed = Replayed { changes, from_the_start: true, ..comparison.into_replayed() };
        replayed.problems.extend(problem);
        match reached.get() {
            Some(reached) if reached < newest => replayed.problems.push(format!(
                "the database says that entry {last} was applied last, which made revision {reached}, but it has revision {newest}"
            )),
            None => replayed.problems.push(format!(
                "the log's entries from its beginning on end with {}, the last applied to the database is {last}",
                run.end() - 1
            )),
            _ => {}
        }
        Some(replayed)
    }

    /// Applies the entries from index `first` on and calls `after` with each; returns all changes, and what ended it early.
    fn apply<'b>(&self, store: &mut Store<'b>, run: &Run, first: u64, after: impl Fn(u64, &Store<'b>)) -> (Vec<LogChange>, Option<String>) {
        let mut changes = Vec::new();
        for (entry, index) in run.entries.iter().zip(run.first..).skip_while(|(_, index)| *index < first) {
            if index > self.certain {
                let left = run.end() - index;
                return (changes, Some(format!("the last {left} entries of the log are not known to be committed and are left out")));
            }
            let image = self.images[entry.file];
            let Some(request) = Request::of_entry(entry) else {
                return (changes, Some(format!("entry {index} of the log cannot be read; what follows it is left out")));
            };
            changes.extend(store.apply(image, &request));
            after(index, store);
        }
        (changes, None)
    }

    /// Holds the database's changes against the log's. Only a log that is `whole` has all changes up to its last.
    fn compare(&self, changes: &[LogChange], whole: bool) -> LogComparison {
        let by_place: HashMap<(i64, i64), &LogChange> = changes.iter().map(|change| ((change.main, change.sub), change)).collect();
        let last = changes.last().map_or(0, |change| change.main);
        let mut comparison = LogComparison::default();
        for found in self.builder.changes_of(self.layer).filter(|found| found.main <= last) {
            let place = (found.main, found.sub);
            let change = by_place.get(&place).copied();
            if change.is_some_and(|change| self.is_same(change, found)) {
                comparison.same += 1;
                comparison.last_same = comparison.last_same.max(Some(place));
            } else if change.is_some() || whole {
                comparison.differing.push(self.difference(change, found));
            }
        }
        comparison.differing.sort_by_key(|difference| difference.place);
        comparison
    }

    fn difference(&self, change: Option<&LogChange>, found: &StoredChange) -> LogDifference {
        let text = |key: Location| String::from_utf8_lossy(self.builder.bytes(key)).into_owned();
        let same = |one: Location, other: Location| self.builder.bytes(one) == self.builder.bytes(other);
        LogDifference {
            place: (found.main, found.sub),
            is_similar: change.is_some_and(|change| same(change.key, found.key) || same(change.version.value, found.value)),
            problem: match change {
                Some(change) => format!(
                    "the database is damaged at revision {}: what it has of {} is not what the log has, whose checksum holds; the log's is shown",
                    found.main,
                    text(change.key)
                ),
                None => format!(
                    "the database is damaged at revision {}: the log, whose checksum holds, has no such change of {}; it is left out",
                    found.main,
                    text(found.key)
                ),
            },
        }
    }

    /// Whether a change of the log and one of the database are one; of a log that begins late the version may not be known.
    fn is_same(&self, change: &LogChange, found: &StoredChange) -> bool {
        let KeyState { create_revision, version, lease, value, .. } = change.version;
        change.kind == found.kind
            && self.builder.bytes(change.key) == self.builder.bytes(found.key)
            && (found.kind == EventKind::Delete
                || (self.builder.bytes(value) == self.builder.bytes(found.value)
                    && lease == found.lease
                    && (version == 0 || (create_revision, version) == (found.create_revision, found.version))))
    }

    /// The keys alive at the database's newest revision.
    fn alive(&self) -> Vec<(Location, KeyState)> {
        let mut alive: HashMap<&[u8], (Location, KeyState)> = HashMap::new();
        for found in self.builder.changes_of(self.layer) {
            let key = self.builder.bytes(found.key);
            match found.kind {
                EventKind::Delete => drop(alive.remove(key)),
                EventKind::Put => {
                    let StoredChange { create_revision, main: mod_revision, version, lease, value, .. } = *found;
                    alive.insert(key, (found.key, KeyState { create_revision, mod_revision, version, lease, value }));
                }
            }
        }
        alive.into_values().collect()
    }
}

/// The database held against the log.
#[derive(Default)]
struct LogComparison {
    same: usize,
    last_same: Option<(i64, i64)>,
    /// Ascending.
    differing: Vec<LogDifference>,
}

/// A change on which the database and the log differ.
struct LogDifference {
    place: (i64, i64),
    /// Whether they have the same key or the same value.
    is_similar: bool,
    /// A sentence.
    problem: String,
}

impl LogComparison {
    fn into_replayed(self) -> Replayed {
        /// More are not listed one by one.
        const MOST: usize = 20;
        let refuted = self.differing.iter().map(|difference| difference.place).collect();
        let rest = self.differing.len().saturating_sub(MOST);
        let mut problems: Vec<String> = self.differing.into_iter().take(MOST).map(|difference| difference.problem).collect();
        if rest > 0 {
            problems.push(format!("the database is damaged at {rest} more places where the log proves it"));
        }
        Replayed { refuted, problems, ..Replayed::default() }
    }
}

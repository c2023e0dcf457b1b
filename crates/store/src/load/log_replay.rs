//! Replays a member's log and compares it with its database: which changes the log holds, and where the database is damaged.
//!
//! The log's entries have checksums, the database's pages have none. So where both hold the same history and differ in a few places, the
//! database is damaged there; where they never agree again, they are not of the same history.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::db_file::DatabaseFacts;
use super::wal::{
    self, EntryRun, KeyState, KnownPut, LogBounds, LogChange, Logged, Recovered, ServerState, Store, UndecidedChange, WalRequest,
};
use crate::EventKind;
use crate::versions::{Location, StoredChange, VersionsBuilder};

/// More sentences of a kind are not written; the rest is counted.
const MAX_SENTENCES: usize = 20;

/// More entries that may have made one revision are not named; the rest is counted.
const MAX_CANDIDATES_NAMED: usize = 5;

/// The changes of a run of entries.
#[derive(Default)]
pub(super) struct Replayed {
    pub changes: Vec<LogChange>,
    /// The index of each entry that is known to have made a revision, and the revision.
    pub revisions: Vec<(u64, i64)>,
    /// Whether they begin with the store's first change, so that every revision of them can be read whole.
    pub from_the_start: bool,
    /// Where the database has a change that the log proves wrong: revision and sub-revision.
    pub refuted: HashSet<(i64, i64)>,
    /// The revision after the run's last entry, where it is known.
    pub end: Option<i64>,
    /// Each a sentence.
    pub problems: Vec<String>,
    /// Where the log contradicts the database, each a sentence.
    pub contradictions: Vec<String>,
    /// Messages that do not report damage, one sentence each.
    pub notes: Vec<String>,
}

pub(super) struct Replay<'a> {
    pub builder: &'a VersionsBuilder,
    /// The images of the log's files.
    pub images: &'a [u16],
    /// The database's layer.
    pub layer: usize,
    pub facts: &'a DatabaseFacts,
    /// The last entry that counts.
    pub certain: u64,
    /// Whether the log begins with a database that was restored, and not with a new cluster.
    pub is_restored: bool,
}

/// The log and the database differ at a revision, and agree about none before it.
struct Contradiction {
    revision: i64,
}

/// What applying entries one after the other came to.
#[derive(Default)]
struct Applied {
    changes: Vec<LogChange>,
    /// The index of each entry that made a revision, and the revision; ascending.
    revisions: Vec<(u64, i64)>,
    /// The index after the last entry applied.
    end: u64,
    problem: Option<String>,
    note: Option<String>,
}

impl Applied {
    /// The revision after the entry `index`, if it was applied; `first` is the one before all.
    fn revision_after(&self, index: u64, first: i64) -> Option<i64> {
        let upto = self.revisions.partition_point(|(entry, _)| *entry <= index);
        (index < self.end).then(|| upto.checked_sub(1).map_or(first, |last| self.revisions[last].1))
    }
}

impl Replay<'_> {
    /// Replays a run of entries. `before` is the end of the run before it, where that is known: the index after its last entry, and the
    /// revision there.
    pub(super) fn run(&self, run: &EntryRun, before: Option<(u64, i64)>) -> Replayed {
        let newest = self.facts.span.map_or(1, |span| span.newest.0);
        // Each entry that is missing between two runs made one revision at most.
        let before = before.filter(|before| before.0 <= run.first);
        let begin = before.map(|(end, revision)| (revision, revision.saturating_add_unsigned(run.first - end)));
        if run.first > 1 || self.is_restored {
            return self.run_from_later(run, begin, newest);
        }
        self.replay_from_the_start(run, newest).unwrap_or_else(|Contradiction { revision }| {
            let mut replayed = self.run_from_later(run, None, newest);
            let problem = format!(
                "the log, applied from its first entry on, contradicts the database at revision {revision} and agrees with it about none \
                 before: what the log says is shown only where the database proves it"
            );
            replayed.contradictions.insert(0, problem);
            replayed
        })
    }

    /// The changes of a run that does not begin with a new cluster, or is not understood from there on.
    fn run_from_later(&self, run: &EntryRun, begin: Option<(i64, i64)>, newest: i64) -> Replayed {
        let next = self.facts.consistent_index.saturating_add(1);
        let meets_database = (run.first..=run.end()).contains(&next);
        let mut replayed = self.recover(run, run.first, next, begin, meets_database.then_some(newest));
        if meets_database {
            let images = |image: u16| self.builder.still_bytes(image);
            let mut store = Store::at(&images, newest, self.around(run, next), self.alive().into_iter());
            let applied = self.apply(&mut store, run, next);
            replayed.end = applied.problem.is_none().then_some(store.revision);
            replayed.changes.extend(applied.changes);
            replayed.revisions.extend(applied.revisions);
            replayed.problems.extend(applied.problem);
            replayed.notes.extend(applied.note);
        } else if self.facts.span.is_none() {
            let problem = format!("the log begins with entry {}: without a database its revisions are not known", run.first);
            replayed.problems.push(problem);
        } else {
            let what = if replayed.changes.is_empty() { "cannot be matched with the database" } else { "do not reach the database" };
            let problem = format!("entries {} to {} of the log {what}, whose last is {}", run.first, run.end() - 1, next - 1);
            replayed.problems.push(problem);
        }
        replayed
    }

    /// Returns what a log that begins later than the cluster holds of its entries from `first` to before `end`, as far as revisions are
    /// certain. The revision before `first` is between those of `begin`, the one after the last is `reached`.
    fn recover(&self, run: &EntryRun, first: u64, end: u64, begin: Option<(i64, i64)>, reached: Option<i64>) -> Replayed {
        let before = run.entries.iter().zip(run.first..).filter(|(_, index)| (first..end).contains(index));
        let logged = before.map(|(entry, _)| {
            let image = self.images[entry.file];
            let file = &self.builder.image_bytes(image)[..];
            Logged { image, file, entry, request: WalRequest::of_entry(entry) }
        });
        let logged: Vec<Logged<'_>> = logged.collect();
        let puts = self.builder.changes_of(self.layer).filter(|found| found.kind == EventKind::Put);
        let known: Vec<KnownPut<'_>> = puts
            .map(|found| {
                let StoredChange { main, create_revision, version, lease, .. } = *found;
                KnownPut { key: self.builder.bytes(found.key), found, lease, main, create_revision, version }
            })
            .collect();
        // The end of a damaged database may be an earlier one than that of its last entry.
        let reached = reached.filter(|_| self.facts.damage.is_empty());
        let Recovered { mut changes, made, undecided } = wal::recover(
            &logged,
            &known,
            &LogBounds { begin, reached, after: &self.facts.around, value: &|found| self.builder.value(found) },
        );
        let comparison = self.compare(&changes, false);
        let mut contradicted = Vec::new();
        if comparison.same.len() < comparison.differing.len() {
            if !changes.is_empty() {
                contradicted.push(format!("entries {first} to {} of the log do not fit the database; they are left out", end - 1));
            }
            changes.clear();
        }
        // One change that differs between two that agree is damage of the database; else a revision may have been taken for another's.
        let agrees_about = |main: i64| comparison.same.range((main, 0)..(main + 1, 0)).next().is_some();
        let is_damage = |difference: &LogDifference| {
            difference.is_similar && agrees_about(difference.place.0 - 1) && agrees_about(difference.place.0 + 1)
        };
        let (similar, other): (Vec<_>, Vec<_>) = comparison.differing.into_iter().partition(is_damage);
        for difference in other {
            let (from, to) = neighbours(&comparison.same, difference.place);
            changes.retain(|change| (change.main, change.sub) <= from || to.is_some_and(|to| (change.main, change.sub) >= to));
            contradicted.push(format!(
                "the log and the database disagree about revision {}; what only the log has of the revisions around it is left out",
                difference.place.0
            ));
        }
        let mut replayed = LogComparison { same: comparison.same, differing: similar }.into_replayed();
        replayed.contradictions = contradicted;
        replayed.notes = self.undecided(&undecided, first);
        let left: BTreeSet<i64> = changes.iter().map(|change| change.main).collect();
        let made = made.into_iter().filter(|(_, revision)| left.contains(revision));
        let revisions = made.map(|(place, revision)| (first.max(run.first) + place as u64, revision)).collect();
        Replayed { changes, revisions, ..replayed }
    }

    /// Says which revisions are undecided; the entry `first` is the first of those recovered.
    fn undecided(&self, undecided: &[UndecidedChange], first: u64) -> Vec<String> {
        let sentence = |change: &UndecidedChange| {
            let mut entries: Vec<String> =
                change.entries.iter().take(MAX_CANDIDATES_NAMED).map(|&entry| (first + entry as u64).to_string()).collect();
            if change.entries.len() > MAX_CANDIDATES_NAMED {
                entries.push(format!("{} more", change.entries.len() - MAX_CANDIDATES_NAMED));
            }
            let older = if change.may_be_older { ", or one before the log begins," } else { "" };
            format!(
                "revision {} is unknown: a put of {} by entry {} of the log{older} made it, and nothing that is left decides which",
                change.revision,
                String::from_utf8_lossy(self.builder.bytes(change.key)),
                entries.join(" or "),
            )
        };
        let mut sentences: Vec<String> = undecided.iter().take(MAX_SENTENCES).map(sentence).collect();
        let rest = undecided.len().saturating_sub(MAX_SENTENCES);
        if rest > 0 {
            sentences.push(format!("{rest} more revisions are unknown for the same reason"));
        }
        sentences
    }

    /// Replays a log that begins with the cluster, and holds it against the database.
    ///
    /// # Errors
    ///
    /// They differ, and agree about nothing before that.
    fn replay_from_the_start(&self, run: &EntryRun, newest: i64) -> Result<Replayed, Contradiction> {
        let images = |image: u16| self.builder.still_bytes(image);
        let mut store = Store::empty(&images);
        let last = self.facts.consistent_index;
        let applied = self.apply(&mut store, run, run.first);
        let reached = applied.revision_after(last, 1);
        let comparison = self.compare(&applied.changes, true);
        // Where the replay ends before the oldest revision of a compacted database, as what an entry did is undecided, nothing can be compared.
        let is_comparable = reached.is_some() || !comparison.differing.is_empty();
        if comparison.same.is_empty() && is_comparable && reached != Some(newest) {
            return Err(comparison.contradiction(newest));
        }
        // A log of another history, or one that was not understood, never agrees again after the first difference.
        let last_differing = comparison.differing.last().map(|difference| difference.place);
        let agrees = comparison.differing.is_empty()
            || (comparison.same.len() > comparison.differing.len()
                && (reached == Some(newest) || comparison.same.last().copied() > last_differing));
        if !agrees {
            return self.replay_until_it_differs(run, applied, &comparison, newest);
        }
        let Applied { changes, revisions, end, problem, note } = applied;
        let replayed = comparison.into_replayed();
        let mut replayed =
            Replayed { changes, revisions, from_the_start: true, end: problem.is_none().then_some(store.revision), ..replayed };
        let is_undone = problem.is_some() && end <= last;
        replayed.problems.extend(problem);
        replayed.notes.extend(note);
        match reached {
            Some(reached) if reached < newest => replayed.contradictions.push(format!(
                "the database says that entry {last} was applied last, which made revision {reached}, but it has revision {newest}"
            )),
            // etcd writes the index of an entry into the transaction that has its changes (v3.7.3, `server/etcdserver/cindex/cindex.go`).
            Some(reached) if reached > newest => replayed.problems.push(format!(
                "the database says that entry {last} was applied last, which made revision {reached}, but its newest revision is {newest}: it has lost \
                 what came between, which is shown from the log and which etcd would not apply again"
            )),
            None if is_undone => {
                // What the log did not decide, the database may.
                let rest = self.recover(run, end, last + 1, Some((1, store.revision)), Some(newest));
                return Ok(self.join(replayed, rest, run));
            }
            None => replayed.problems.push(format!(
                "the log's entries from its beginning on end with {}, the last applied to the database is {last}",
                run.end() - 1
            )),
            _ => {}
        }
        Ok(replayed)
    }

    /// Keeps of a replay what the database agrees with, and goes on behind it as with a log that begins there.
    fn replay_until_it_differs(
        &self,
        run: &EntryRun,
        applied: Applied,
        comparison: &LogComparison,
        newest: i64,
    ) -> Result<Replayed, Contradiction> {
        let agreed = comparison.differing.first().and_then(|first| {
            // A revision of which only some changes agree is not one both have.
            let revision = comparison.same.iter().take_while(|same| same.0 < first.place.0).last()?.0;
            let entry = applied.revisions.iter().find(|(_, made)| *made == revision)?.0;
            Some((first.place, revision, entry))
        });
        let (first, revision, entry) = agreed.ok_or_else(|| comparison.contradiction(newest))?;
        let changes: Vec<LogChange> = applied.changes.into_iter().filter(|change| change.main <= revision).collect();
        let revisions = applied.revisions.into_iter().filter(|(_, made)| *made <= revision).collect();
        let problem = format!(
            "the log and the database agree up to revision {revision} and differ from revision {} on: what the log says of the time after \
             that is shown only where the database proves it",
            first.0
        );
        let replayed = Replayed { changes, revisions, from_the_start: true, contradictions: vec![problem], ..Replayed::default() };
        let rest = self.recover(run, entry + 1, self.facts.consistent_index.saturating_add(1), Some((1, revision)), Some(newest));
        Ok(self.join(replayed, rest, run))
    }

    /// Puts together what a log from the start says until `from_start` ends, what `rest` recovered behind it, and what follows the database.
    fn join(&self, mut from_start: Replayed, rest: Replayed, run: &EntryRun) -> Replayed {
        let newest = self.facts.span.map_or(1, |span| span.newest.0);
        let last = from_start.changes.last().map_or(1, |change| change.main);
        let made = rest.revisions.into_iter().filter(|(_, revision)| *revision > last);
        from_start.revisions.extend(made);
        from_start.changes.extend(rest.changes.into_iter().filter(|change| change.main > last));
        // Only a log without a hole answers for every revision.
        from_start.from_the_start = false;
        from_start.refuted.extend(rest.refuted);
        from_start.problems.extend(rest.problems);
        from_start.contradictions.extend(rest.contradictions);
        from_start.notes.extend(rest.notes);
        let images = |image: u16| self.builder.still_bytes(image);
        let next = self.facts.consistent_index.saturating_add(1);
        let mut store = Store::at(&images, newest, self.around(run, next), self.alive().into_iter());
        let applied = self.apply(&mut store, run, next);
        from_start.changes.extend(applied.changes);
        from_start.revisions.extend(applied.revisions);
        from_start.problems.extend(applied.problem);
        from_start.notes.extend(applied.note);
        from_start
    }

    /// What the database says of leases, users and roles before the entry `next`.
    fn around(&self, run: &EntryRun, next: u64) -> ServerState {
        let mut around = self.facts.around.clone();
        if !self.facts.has_exact_index {
            let later = run.entries.iter().zip(run.first..).filter(|(_, index)| *index >= next);
            around.may_be_after(later.filter_map(|(entry, _)| WalRequest::of_entry(entry)));
        }
        around
    }

    /// Applies the entries from index `first` on.
    fn apply(&self, store: &mut Store<'_>, run: &EntryRun, first: u64) -> Applied {
        let mut applied = Applied { end: first, ..Applied::default() };
        for (entry, index) in run.entries.iter().zip(run.first..).skip_while(|(_, index)| *index < first) {
            if index > self.certain {
                let left = run.end() - index;
                applied.note = Some(format!("the last {left} entries of the log are not known to be committed and are left out"));
                return applied;
            }
            let Some(request) = WalRequest::of_entry(entry) else {
                applied.problem = Some(format!("entry {index} of the log cannot be read; what follows it is left out"));
                return applied;
            };
            match store.apply(self.images[entry.file], entry, &request) {
                Ok(changed) if changed.is_empty() => {}
                Ok(changed) => {
                    applied.changes.extend(changed);
                    applied.revisions.push((index, store.revision));
                }
                Err(undecided) => {
                    applied.problem = Some(format!("cannot tell what entry {index} of the log did: {}", undecided.0));
                    return applied;
                }
            }
            applied.end = index + 1;
        }
        applied
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
                comparison.same.insert(place);
            } else if change.is_some() || whole {
                comparison.differing.push(self.difference(change, found));
            }
        }
        comparison.differing.sort_by_key(|difference| difference.place);
        comparison
    }

    fn difference(&self, change: Option<&LogChange>, found: &StoredChange) -> LogDifference {
        let text = |key: Location| String::from_utf8_lossy(self.builder.bytes(key)).into_owned();
        LogDifference {
            place: (found.main, found.sub),
            is_similar: change.is_some_and(|change| {
                self.builder.bytes(change.key) == self.builder.bytes(found.key) || self.has_value(found, change.version.value) == Some(true)
            }),
            problem: match change {
                Some(change) => format!(
                    "the database is damaged at revision {}: what it has of {} is not what the log has, whose checksum matches; the log's is shown",
                    found.main,
                    text(change.key)
                ),
                None => format!(
                    "the database is damaged at revision {}: the log, whose checksum matches, has no such change of {}; it is left out",
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
                || (self.has_value(found, value) != Some(false)
                    && lease == found.lease
                    && (version == 0 || (create_revision, version) == (found.create_revision, found.version))))
    }

    /// Whether a change of the database has the value at a place; `None` where one of them cannot be read any more.
    fn has_value(&self, found: &StoredChange, place: Location) -> Option<bool> {
        let value = self.builder.value(found).filter(|_| !self.builder.is_volatile(place))?;
        Some(value == self.builder.bytes(place))
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

/// The places around `place` at which both agree.
fn neighbours(same: &BTreeSet<(i64, i64)>, place: (i64, i64)) -> ((i64, i64), Option<(i64, i64)>) {
    (same.range(..place).next_back().copied().unwrap_or_default(), same.range(place..).next().copied())
}

/// The database held against the log.
#[derive(Default)]
struct LogComparison {
    /// Where they agree: revision and sub-revision.
    same: BTreeSet<(i64, i64)>,
    /// Ascending.
    differing: Vec<LogDifference>,
}

/// A change on which the database and the log differ.
struct LogDifference {
    place: (i64, i64),
    /// Whether they have the same key or the same value.
    is_similar: bool,
    problem: String,
}

impl LogComparison {
    /// Where they differ first; at the database's newest revision where the log does not come to any of the database's.
    fn contradiction(&self, newest: i64) -> Contradiction {
        Contradiction { revision: self.differing.first().map_or(newest, |difference| difference.place.0) }
    }

    fn into_replayed(self) -> Replayed {
        let refuted = self.differing.iter().map(|difference| difference.place).collect();
        let rest = self.differing.len().saturating_sub(MAX_SENTENCES);
        let mut problems: Vec<String> = self.differing.into_iter().take(MAX_SENTENCES).map(|difference| difference.problem).collect();
        if rest > 0 {
            problems.push(format!("the database is damaged at {rest} more places where the log proves it"));
        }
        Replayed { refuted, problems, ..Replayed::default() }
    }
}

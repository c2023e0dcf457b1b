//! A member's data dir: its database, and what its write-ahead log knows beyond it, after it and before the last compaction.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::bolt::Bolt;
use super::db_file::{self, Facts};
use super::wal::{self, Change, Known, Log, Logged, Request, Run, Store, Version};
use super::{Problem, image};
use crate::store::versions::{Builder, Found, Layer, Place};
use crate::store::{EventKind, Origin, Revision, RevisionSpan};

/// Reads the data dir at `path` into `builder`; returns what the database says, with the log's own problems, and the cluster's id.
pub fn read(path: &Path, builder: &mut Builder) -> Result<(Facts, Option<u64>), Problem> {
    let member = member(path)?;
    let db = image::open(&member.join("snap/db").to_string_lossy())?;
    let bolt = Bolt::open(db.bytes).map_err(|problem| Problem::Format(format!("member/snap/db: {problem}")))?;
    // The log is read after the database, so that it reaches at least as far.
    let log = if member.join("wal").is_dir() { Log::read(&member.join("wal"))? } else { Log::default() };
    let (layer, mut facts) = db_file::read(&bolt, builder)?;
    if db.copied_while_open && !facts.damage.is_empty() {
        facts
            .damage
            .push("a running etcd wrote to member/snap/db while it was read, so damage may be of the copy only; read again".to_owned());
    }
    facts.damage.extend(log.problems.iter().cloned());
    if log.runs.is_empty() {
        facts.damage.push("member/wal holds no entries, so only the database is shown".to_owned());
    }
    let images: Option<Vec<u16>> = log.files.iter().map(|file| builder.image(file.clone())).collect();
    let images = images.ok_or_else(|| Problem::Format("too many files at once".to_owned()))?;
    // A lone member commits what it has written; among several the others may have refused the log's end.
    let certain = if facts.voters == Some(1) { u64::MAX } else { log.commit };
    let mut replay = Replay { builder, images: &images, layer, facts: &facts, certain };
    let replayed: Vec<Replayed> = log.runs.iter().map(|run| replay.run(run)).collect();
    for replayed in replayed {
        add(builder, layer, replayed, &mut facts);
    }
    Ok((facts, log.cluster_id))
}

/// The `member` directory, if `path` is a data dir or that directory itself.
fn member(path: &Path) -> Result<PathBuf, Problem> {
    let has_db = |directory: &PathBuf| directory.join("snap/db").is_file();
    [path.join("member"), path.to_owned()].into_iter().find(has_db).ok_or_else(|| {
        Problem::Format("is a directory without member/snap/db; name etcd's --data-dir, a database file or a snapshot".to_owned())
    })
}

/// What a run of entries told.
struct Replayed {
    changes: Vec<Change>,
    /// Whether they begin with the store's first change, so that every revision of them can be read whole.
    from_the_start: bool,
    problem: Option<String>,
}

struct Replay<'a> {
    builder: &'a Builder,
    images: &'a [u16],
    layer: usize,
    facts: &'a Facts,
    certain: u64,
}

impl Replay<'_> {
    fn run(&mut self, run: &Run) -> Replayed {
        let newest = self.facts.span.map_or(1, |span| span.newest.0);
        if run.first <= 1
            && let Some((changes, problem)) = self.replay_from_the_start(run, newest)
        {
            return Replayed { changes, from_the_start: true, problem };
        }
        let next = self.facts.consistent_index + 1;
        let meets_database = (run.first..=run.end()).contains(&next);
        let mut changes = self.recover(run, next, meets_database.then_some(newest));
        let problem = if meets_database {
            let images = |image: u16| self.builder.image_bytes(image);
            let mut store = Store::at(&images, newest, self.alive().into_iter());
            let (replayed, problem) = self.apply(&mut store, run, next, |_, _| true);
            changes.extend(replayed);
            problem
        } else {
            let what = if changes.is_empty() { "cannot be brought together with the database" } else { "do not reach the database" };
            Some(format!("entries {} to {} of the log {what}, whose last is {}", run.first, run.end() - 1, next - 1))
        };
        Replayed { changes, from_the_start: false, problem }
    }

    /// What a log that begins later than the cluster tells of the time before its entry `end`, as far as revisions are certain.
    fn recover(&self, run: &Run, end: u64, reached: Option<i64>) -> Vec<Change> {
        let before = run.entries.iter().zip(run.first..).take_while(|(_, index)| *index < end);
        let logged = before.map(|(entry, _)| {
            let image = self.images[entry.file];
            let file = &self.builder.image_bytes(image)[..];
            Logged { image, file, request: Request::read(file, entry.data.clone()) }
        });
        let puts = self.builder.changes_of(self.layer).filter(|found| found.kind == EventKind::Put);
        let known: Vec<Known<'_>> = puts
            .map(|found| {
                let Found { main, create_revision, version, .. } = *found;
                Known { key: self.builder.bytes(found.key), value: self.builder.bytes(found.value), main, create_revision, version }
            })
            .collect();
        let changes = wal::recover(logged.collect(), &known, reached);
        if self.contradicts(&changes) { Vec::new() } else { changes }
    }

    /// Whether the database has another change where the log says it has one.
    fn contradicts(&self, changes: &[Change]) -> bool {
        let by_place: HashMap<(i64, i64), &Change> = changes.iter().map(|change| ((change.main, change.sub), change)).collect();
        self.builder
            .changes_of(self.layer)
            .any(|found| by_place.get(&(found.main, found.sub)).is_some_and(|change| !self.is_same(change, found)))
    }

    fn is_same(&self, change: &Change, found: &Found) -> bool {
        change.kind == found.kind
            && self.builder.bytes(change.key) == self.builder.bytes(found.key)
            && (found.kind == EventKind::Delete || self.builder.bytes(change.version.value) == self.builder.bytes(found.value))
    }

    /// Replays a log that begins with the cluster, and holds it against the database: a cluster restored from a snapshot begins anew
    /// with its log, but not with its revisions. `None` where they do not agree.
    fn replay_from_the_start(&self, run: &Run, newest: i64) -> Option<(Vec<Change>, Option<String>)> {
        let images = |image: u16| self.builder.image_bytes(image);
        let mut store = Store::empty(&images);
        let last = self.facts.consistent_index;
        let met = Cell::new(false);
        let agrees = |index: u64, store: &Store<'_>| {
            met.set(met.get() || (index == last && store.revision == newest));
            index != last || store.revision == newest
        };
        let (changes, problem) = self.apply(&mut store, run, run.first, agrees);
        (met.get() && self.agrees(&changes)).then_some((changes, problem))
    }

    /// Applies the entries from index `first` on, as long as `goes_on` after each; returns all changes, and what ended it early.
    fn apply<'b>(
        &self,
        store: &mut Store<'b>,
        run: &Run,
        first: u64,
        goes_on: impl Fn(u64, &Store<'b>) -> bool,
    ) -> (Vec<Change>, Option<String>) {
        let mut changes = Vec::new();
        for (entry, index) in run.entries.iter().zip(run.first..).skip_while(|(_, index)| *index < first) {
            if index > self.certain {
                let left = run.end() - index;
                return (changes, Some(format!("the last {left} entries of the log are not known to be committed and are left out")));
            }
            let image = self.images[entry.file];
            let Some(request) = Request::read(self.builder.image_bytes(image), entry.data.clone()) else {
                return (changes, Some(format!("entry {index} of the log cannot be read; what follows it is left out")));
            };
            changes.extend(store.apply(image, &request));
            if !goes_on(index, store) {
                return (changes, Some(format!("the log disagrees with the database at entry {index}")));
            }
        }
        (changes, None)
    }

    /// Whether every change that the database still has is the log's too.
    fn agrees(&self, changes: &[Change]) -> bool {
        let by_place: HashMap<(i64, i64), &Change> = changes.iter().map(|change| ((change.main, change.sub), change)).collect();
        let is_told = |found: &Found| by_place.get(&(found.main, found.sub)).is_some_and(|change| self.is_same(change, found));
        self.builder.changes_of(self.layer).all(is_told)
    }

    /// The keys alive at the database's newest revision.
    fn alive(&self) -> Vec<(Place, Version)> {
        let mut alive: HashMap<&[u8], (Place, Version)> = HashMap::new();
        for found in self.builder.changes_of(self.layer) {
            let key = self.builder.bytes(found.key);
            match found.kind {
                EventKind::Delete => drop(alive.remove(key)),
                EventKind::Put => {
                    let Found { create_revision, main: mod_revision, version, lease, value, .. } = *found;
                    alive.insert(key, (found.key, Version { create_revision, mod_revision, version, lease, value }));
                }
            }
        }
        alive.into_values().collect()
    }
}

/// Puts changes into the index. Those after the database's last belong to the same layer as the database, which they go on from.
fn add(builder: &mut Builder, db: usize, replayed: Replayed, facts: &mut Facts) {
    facts.damage.extend(replayed.problem);
    let Some(span) = facts.span else { return };
    let Some(last) = replayed.changes.last().map(|change| Revision(change.main)) else { return };
    let newest = last.max(span.newest);
    facts.span = Some(RevisionSpan { newest, ..span });
    builder.set_span(db, RevisionSpan { newest, ..span });
    // A log from the beginning answers for every revision; one that begins later for none by itself.
    let whole = replayed.from_the_start.then_some(RevisionSpan { oldest: Revision(1), newest: last, compacted: None });
    let Some(log) = builder.layer(Layer { span: whole, ..Layer::default() }) else {
        return facts.damage.push("the log is broken into too many pieces; some are left out".to_owned());
    };
    for change in replayed.changes {
        let Change { main, sub, kind, key, version } = change;
        let found = Found {
            main,
            sub,
            kind,
            origin: Origin::Wal,
            key,
            value: version.value,
            create_revision: version.create_revision,
            version: version.version,
            lease: version.lease,
        };
        if main > span.newest.0 {
            builder.push(db, found.clone());
        }
        builder.push(log, found);
    }
}

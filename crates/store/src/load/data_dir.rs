//! A member's data dir: its database, and what its write-ahead log knows beyond it, after it and before the last compaction. Either will
//! do alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::db_file::{self, DatabaseFacts};
use super::image::{self, Image};
use super::log_replay::{Replay, Replayed};
use super::options::Reading;
use super::problem::LoadProblem;
use super::wal::{KeptLog, LogChange, RaftLog, WalRequest};
use crate::versions::{Layer, StoredChange, VersionsBuilder};
use crate::{KeyRange, Origin, Revision, RevisionSpan};

const TOO_MANY: &str = "too many files at once";

/// The files of a member, as far as they are there.
#[derive(Default)]
pub(super) struct Parts {
    pub db: Option<Image>,
    pub log: RaftLog,
}

/// Reads the data dir at `path`, or a part of it, into `builder`; returns what the database says, with the log's own problems, and the
/// cluster's id.
pub(super) fn read(path: &Path, reading: &Reading<'_>, builder: &mut VersionsBuilder) -> Result<(DatabaseFacts, Option<u64>), LoadProblem> {
    if RaftLog::is_in(path) {
        return read_files(Parts { db: None, log: RaftLog::read(path, reading)? }, builder);
    }
    let member = member(path)?;
    let db = member.join("snap/db");
    let db = if db.is_file() { Some(image::open(&db.to_string_lossy(), reading)?) } else { None };
    // The log is read after the database, so that it reaches at least as far.
    let log = if member.join("wal").is_dir() { RaftLog::read(&member.join("wal"), reading)? } else { RaftLog::default() };
    read_files(Parts { db, log }, builder)
}

/// The same, of files that were opened.
pub(super) fn read_files(parts: Parts, builder: &mut VersionsBuilder) -> Result<(DatabaseFacts, Option<u64>), LoadProblem> {
    let Parts { db, log } = parts;
    let has_db = db.is_some();
    let is_live = db.as_ref().is_some_and(|db| db.live.is_some());
    let (layer, mut facts) = match db {
        Some(db) => read_db(db, builder)?,
        None => {
            if log.runs.is_empty() {
                return Err(LoadProblem::Format(nothing_in(&log)));
            }
            let layer = builder.layer(Layer::default()).ok_or_else(|| LoadProblem::Format(TOO_MANY.to_owned()))?;
            let file_bytes: u64 = log.files.iter().map(|file| file.len() as u64).sum();
            let mut left_out = vec!["there is no member/snap/db next to the log, so only the log is shown".to_owned()];
            left_out.extend(log.has_no_room.then(|| {
                "the log ends right after a record, without the unused space that etcd keeps behind it: it may have been cut short there or go on in \
                 another file, and later changes may be missing"
                    .to_owned()
            }));
            let facts = DatabaseFacts { file_bytes, in_use_bytes: file_bytes, voters: log.voters(), left_out, ..DatabaseFacts::default() };
            (layer, DatabaseFacts { layer: Some(layer), ..facts })
        }
    };
    facts.damage.extend(log.problems.iter().chain(&log.contradictions).cloned());
    builder.let_log_give_way();
    if log.files.is_empty() {
        let sentence = "there is no member/wal next to the database, so changes that only the log has are missing";
        facts.left_out.push(sentence.to_owned());
    } else if log.runs.is_empty() {
        facts.damage.push("member/wal holds no entries, so only the database is shown".to_owned());
    }
    if is_live {
        own_values(&log, layer, builder).ok_or_else(|| LoadProblem::Format(TOO_MANY.to_owned()))?;
    }
    let images: Option<Vec<u16>> = log.files.iter().map(|file| builder.image(file.clone())).collect();
    let images = images.ok_or_else(|| LoadProblem::Format(TOO_MANY.to_owned()))?;
    // A lone member commits what it has written; among several the others may have refused the log's end.
    let certain = if facts.voters == Some(1) { u64::MAX } else { log.commit.max(facts.consistent_index) };
    let replay = Replay { builder, images: &images, layer, facts: &facts, certain, is_restored: log.is_restored() };
    let mut before = None;
    let mut replayed: Vec<Replayed> = Vec::new();
    for run in &log.runs {
        let of_run = replay.run(run, before);
        before = of_run.end.map(|revision| (run.end(), revision));
        replayed.push(of_run);
    }
    let revisions = replayed.iter().flat_map(|replayed| replayed.revisions.iter().copied()).collect();
    let in_replay = replayed.iter().flat_map(|replayed| replayed.contradictions.iter().cloned());
    let contradictions: Vec<String> = log.contradictions.iter().cloned().chain(in_replay).collect();
    for replayed in replayed {
        add(builder, layer, replayed, &mut facts);
    }
    let cluster_id = log.cluster_id;
    facts.log = KeptLog::of(log, revisions, has_db.then_some(facts.consistent_index), certain).map(|mut log| {
        log.contradict(contradictions);
        Arc::new(log)
    });
    Ok((facts, cluster_id))
}

/// Copies what the log's requests compare or leave as it is out of a database that is being written.
fn own_values(log: &RaftLog, layer: usize, builder: &mut VersionsBuilder) -> Option<()> {
    let requests = log.runs.iter().flat_map(|run| &run.entries).filter_map(WalRequest::of_entry);
    let mut read: Vec<KeyRange> = requests.flat_map(|request| request.values_read()).collect();
    if read.is_empty() {
        return Some(());
    }
    read.sort_unstable_by(|one, other| one.start.cmp(&other.start));
    let mut keys: Vec<KeyRange> = Vec::new();
    for next in read {
        match keys.last_mut() {
            Some(last) if last.end.as_ref().is_none_or(|end| *end >= next.start) => {
                last.end = last.end.take().zip(next.end).map(|(one, other)| one.max(other));
            }
            _ => keys.push(next),
        }
    }
    builder.own_values(layer, &keys)
}

/// Why there is nothing to read of a log alone.
fn nothing_in(log: &RaftLog) -> String {
    let why = if log.problems.is_empty() { String::new() } else { format!(" ({})", log.problems.join("; ")) };
    format!("is a write-ahead log without entries, and there is no member/snap/db next to it, so there is nothing to read{why}")
}

/// Where k3s keeps the data dir of its embedded etcd, from the directories that people name.
const OF_K3S: [&str; 4] = ["etcd", "db/etcd", "server/db/etcd", "k3s/server/db/etcd"];

/// Whether a member's database or log is in the directory.
pub(super) fn is_there(path: &Path) -> bool {
    RaftLog::is_in(path) || member(path).is_ok()
}

/// Reads the database; returns its layer and what else it says.
fn read_db(db: Image, builder: &mut VersionsBuilder) -> Result<(usize, DatabaseFacts), LoadProblem> {
    let in_db = |problem: String| LoadProblem::Format(format!("member/snap/db: {problem}"));
    let mut bolt = db.database().map_err(in_db)?;
    let (layer, mut facts) = db_file::read(&mut bolt, builder).map_err(in_db)?;
    facts.damage.extend(db.cut);
    Ok((layer, facts))
}

/// The `member` directory, if `path` is a data dir or that directory itself, or a directory of k3s above it.
fn member(path: &Path) -> Result<PathBuf, LoadProblem> {
    let holds_a_member = |directory: &PathBuf| directory.join("snap/db").is_file() || RaftLog::is_in(&directory.join("wal"));
    let of_k3s = OF_K3S.iter().map(|place| path.join(place).join("member"));
    [path.join("member"), path.to_owned()].into_iter().chain(of_k3s).find(holds_a_member).ok_or_else(|| {
        LoadProblem::Format("is a directory without member/snap/db or k3s's state.db; name etcd's --data-dir, a k3s server directory, a database file or a snapshot".to_owned())
    })
}

/// Puts changes into the index. Those after the database's last belong to the same layer as the database, which they go on from.
fn add(builder: &mut VersionsBuilder, db: usize, mut replayed: Replayed, facts: &mut DatabaseFacts) {
    facts.damage.append(&mut replayed.contradictions);
    facts.damage.append(&mut replayed.problems);
    facts.notes.append(&mut replayed.notes);
    builder.remove(db, &replayed.refuted);
    let last = replayed.changes.last().map(|change| Revision(change.main));
    let Some(span) = facts.span else { return add_alone(builder, db, replayed, facts) };
    let Some(last) = last else { return };
    let newest = last.max(span.newest);
    facts.span = Some(RevisionSpan { newest, ..span });
    builder.set_span(db, RevisionSpan { newest, ..span });
    // A log from the beginning answers for every revision, in place of the database where it reaches as far; one that begins later for none.
    let whole = replayed.from_the_start.then_some(RevisionSpan { oldest: Revision(1), newest: last, compacted: None });
    if whole.is_some() && last >= span.newest {
        builder.clear_span(db);
    }
    let Some(log) = builder.layer(Layer { span: whole, ..Layer::default() }) else {
        return facts.damage.push("the log is broken into too many pieces; some are left out".to_owned());
    };
    for found in replayed.changes.into_iter().map(stored) {
        if found.main > span.newest.0 {
            builder.push(db, found.clone());
        }
        builder.push(log, found);
    }
}

/// Puts the changes of a log without a database into the index, as the layer that would be the database's.
fn add_alone(builder: &mut VersionsBuilder, layer: usize, replayed: Replayed, facts: &mut DatabaseFacts) {
    if !replayed.from_the_start {
        return;
    }
    let newest = replayed.changes.last().map_or(Revision(1), |change| Revision(change.main));
    let span = RevisionSpan { oldest: Revision(1), newest, compacted: None };
    facts.span = Some(span);
    builder.set_span(layer, span);
    replayed.changes.into_iter().map(stored).for_each(|found| builder.push(layer, found));
}

fn stored(change: LogChange) -> StoredChange {
    let LogChange { main, sub, kind, key, version } = change;
    StoredChange {
        main,
        sub,
        kind,
        origin: Origin::Wal,
        key,
        value: version.value,
        create_revision: version.create_revision,
        version: version.version,
        replaced: 0,
        lease: version.lease,
        crc: 0,
    }
}

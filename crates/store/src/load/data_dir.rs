//! A member's data dir: its database, and what its write-ahead log knows beyond it, after it and before the last compaction.

use std::path::{Path, PathBuf};

use super::bolt::Bolt;
use super::db_file::{self, Facts};
use super::image::{self, Image};
use super::log_replay::{Replay, Replayed};
use super::wal::{Log, LogChange};
use super::{Limits, Problem};
use crate::versions::{Layer, StoredChange, VersionsBuilder};
use crate::{Origin, Revision, RevisionSpan};

/// Reads the data dir at `path` into `builder`; returns what the database says, with the log's own problems, and the cluster's id.
pub(super) fn read(path: &Path, limits: &Limits, builder: &mut VersionsBuilder) -> Result<(Facts, Option<u64>), Problem> {
    let member = member(path)?;
    let db = image::open(&member.join("snap/db").to_string_lossy(), limits)?;
    // The log is read after the database, so that it reaches at least as far.
    let log = if member.join("wal").is_dir() { Log::read(&member.join("wal"), limits)? } else { Log::default() };
    read_files(db, log, builder)
}

/// The same, of files that were opened.
pub(super) fn read_files(db: Image, log: Log, builder: &mut VersionsBuilder) -> Result<(Facts, Option<u64>), Problem> {
    let in_db = |problem: String| Problem::Format(format!("member/snap/db: {problem}"));
    let bolt = Bolt::open(db.bytes).map_err(in_db)?;
    let (layer, mut facts) = db_file::read(&bolt, builder).map_err(in_db)?;
    facts.damage.extend(db.cut);
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
    let replay = Replay { builder, images: &images, layer, facts: &facts, certain };
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

/// Puts changes into the index. Those after the database's last belong to the same layer as the database, which they go on from.
fn add(builder: &mut VersionsBuilder, db: usize, replayed: Replayed, facts: &mut Facts) {
    facts.damage.extend(replayed.problems);
    builder.remove(db, &replayed.refuted);
    let Some(span) = facts.span else { return };
    let Some(last) = replayed.changes.last().map(|change| Revision(change.main)) else { return };
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
    for change in replayed.changes {
        let LogChange { main, sub, kind, key, version } = change;
        let found = StoredChange {
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

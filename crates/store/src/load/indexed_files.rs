//! Files that were read into the index, and the source that they make together.

use std::sync::Arc;

use super::bolt::AtRest;
use super::checksum::Check;
use super::db_file;
use super::objects::Objects;
use crate::memory::MemorySource;
use crate::versions::{Versions, VersionsBuilder};
use crate::{Checksum, Companion, Error, MemberLog, Origin, Result, Revision, SourceKind, SourceStatus};

pub(super) fn finish(name: String, mut builder: VersionsBuilder, objects: Objects<'_>, mut loaded: Vec<Loaded>) -> Result<MemorySource> {
    if !objects.is_empty() {
        finish_objects(objects, &mut builder, &mut loaded).map_err(|problem| Error::Format { path: name.clone(), problem })?;
    }
    if let Some(exceeded) = builder.exceeded() {
        return Err(Error::Format { path: name, problem: exceeded.to_string() });
    }
    let versions = builder.finish().map_err(|revision| Error::Format {
        path: name.clone(),
        problem: format!("its parts disagree about revision {revision}: they are not from one etcd cluster"),
    })?;
    for file in &mut loaded {
        let contradictions = contradictions(versions.contradicted());
        file.facts.damage.extend(contradictions.iter().cloned());
        if let Some(log) = file.facts.log.as_mut().and_then(Arc::get_mut) {
            log.contradict(contradictions);
        }
        file.facts.damage.extend(file.facts.layer.iter().flat_map(|&layer| versions.missing(layer)));
    }
    Ok(source(name, versions, loaded))
}

/// Says of which revisions a log was not believed.
fn contradictions(revisions: &[Revision]) -> Vec<String> {
    const MAX_REVISIONS_NAMED: usize = 20;
    let sentence = |revision: &Revision| {
        format!(
            "the log contradicts the database, or an earlier part of itself, at revision {revision}: what it says of that revision is left out"
        )
    };
    let mut said: Vec<String> = revisions.iter().take(MAX_REVISIONS_NAMED).map(sentence).collect();
    let rest = revisions.len().saturating_sub(MAX_REVISIONS_NAMED);
    if rest > 0 {
        said.push(format!("the log contradicts the database, or an earlier part of itself, at {rest} more revisions"));
    }
    said
}

/// A source of an index and of what the files say besides.
pub(super) fn source(name: String, versions: Versions, loaded: Vec<Loaded>) -> MemorySource {
    let with_path =
        |file: &Loaded, problems: &[String]| problems.iter().map(|problem| format!("{}: {problem}", file.path)).collect::<Vec<_>>();
    let damage = loaded.iter().flat_map(|file| with_path(file, &file.facts.damage)).collect();
    let left_out = loaded.iter().flat_map(|file| with_path(file, &[&file.facts.left_out[..], &file.facts.notes].concat())).collect();
    let (recoverable_freepage, recoverable_wal) = (versions.count(Origin::FreePage), versions.count(Origin::Wal));
    let recoverable_old_value = versions.count(Origin::OldValue);
    let companions = loaded.iter().flat_map(|file| file.companions.iter().cloned()).collect();
    let log = if let [file] = &loaded[..] { file.facts.log.clone() } else { None };
    let loaded = Arc::new(loaded);
    let of_checksums = Arc::clone(&loaded);
    let late_damage = move || {
        let of_file = |file: &Loaded| file.late_problems().map(|problem| format!("{}: {problem}", file.path)).collect::<Vec<_>>();
        of_checksums.iter().flat_map(of_file).collect()
    };
    let status = move || SourceStatus { recoverable_freepage, recoverable_wal, recoverable_old_value, ..join(&name, &loaded) };
    MemorySource::new(versions, damage, left_out, late_damage, status)
        .with_companions(companions)
        .with_log(log.map(|log| log as Arc<dyn MemberLog>))
}

/// One file, read into the index.
pub(super) struct Loaded {
    pub kind: SourceKind,
    pub path: String,
    pub facts: db_file::DatabaseFacts,
    pub cluster_id: Option<u64>,
    pub checksum: Option<Check>,
    /// Whether it was read by the index that was kept of it.
    pub is_kept: bool,
    /// Whether it lay in an archive, so that its places are not those in the file.
    pub is_archived: bool,
    /// Where the one database lies in the folder or the archive that it is.
    pub database: Option<String>,
    /// Those of what is left out that name files which were not written to their end.
    pub unfinished: Vec<String>,
    /// Configuration of the cluster's programs that lay with it.
    pub companions: Vec<Companion>,
}

impl Loaded {
    /// A file of which nothing else is known.
    pub(super) fn new(kind: SourceKind, path: String, facts: db_file::DatabaseFacts) -> Self {
        Self {
            kind,
            path,
            facts,
            cluster_id: None,
            checksum: None,
            is_kept: false,
            is_archived: false,
            database: None,
            unfinished: Vec::new(),
            companions: Vec::new(),
        }
    }

    /// What its checksum says, once that is known; `None` for a file that cannot have one.
    fn checksum(&self) -> Option<Checksum> {
        match &self.checksum {
            Some(check) => Some(if check.holds() { Checksum::Holds } else { Checksum::Fails }),
            None if self.is_kept => Some(Checksum::Kept),
            None => self.facts.lacks_checksum.then_some(Checksum::Absent),
        }
    }

    /// What is known to be wrong only after the file was read.
    fn late_problems(&self) -> impl Iterator<Item = &'static str> {
        let is_written = self.facts.at_rest.as_ref().is_some_and(AtRest::is_written);
        let written = is_written
            .then_some("another process began to write the file while it was read, so what is shown may be wrong; run the command again");
        self.checksum_problem().into_iter().chain(written)
    }

    /// How many rows of a kine database are gaps. Only `status` says so: they damage nothing, and compaction removes them (kine v0.17.5,
    /// `pkg/logstructured/sqllog/sql.go`, `poll`, writes them for revisions that no transaction took).
    fn gap_rows(&self) -> Option<String> {
        let (gaps, all) = self.facts.gap_rows.filter(|(gaps, _)| *gaps > 0)?;
        let are = if gaps == 1 { "is a gap row" } else { "are gap rows" };
        Some(format!("{gaps} of the {all} rows in its table {are}, with which kine fills revisions that no transaction took"))
    }

    /// Waits until the checksum is known; what is wrong if it does not hold.
    fn checksum_problem(&self) -> Option<&'static str> {
        (self.checksum() == Some(Checksum::Fails)).then_some(
            "the SHA-256 at its end does not match: the snapshot was changed or damaged since it was taken, so what is shown may be wrong",
        )
    }
}

/// Adds the objects of all files that hold objects, as one state.
fn finish_objects(objects: Objects<'_>, builder: &mut VersionsBuilder, loaded: &mut [Loaded]) -> std::result::Result<(), String> {
    if loaded.iter().any(|file| file.kind != SourceKind::Objects) {
        return Err("API objects and etcd's own files cannot be read together; name one or the other".to_owned());
    }
    for (file, sentence) in objects.finish(builder)? {
        loaded[file].facts.notes.push(sentence);
    }
    Ok(())
}

fn join(name: &str, loaded: &[Loaded]) -> SourceStatus {
    let mut status = SourceStatus {
        cluster_id: loaded.iter().find_map(|file| file.cluster_id).map(|id| format!("{id:x}")),
        database: if let [file] = loaded { file.database.clone() } else { None },
        ..SourceStatus::new(loaded.first().map_or(SourceKind::Db, |file| file.kind), name.to_owned())
    };
    for file in loaded {
        status.file_bytes += file.facts.file_bytes;
        status.in_use_bytes += file.facts.in_use_bytes;
        status.free_bytes += file.facts.file_bytes.saturating_sub(file.facts.in_use_bytes);
        status.gaps.extend(file.facts.gaps.iter().cloned());
        for member in &file.facts.members {
            if !status.members.iter().any(|known| known.id == member.id) {
                status.members.push(member.clone());
            }
        }
        for alarm in &file.facts.alarms {
            if !status.alarms.contains(alarm) {
                status.alarms.push(*alarm);
            }
        }
        let mut problems = [&file.facts.damage[..], &file.facts.left_out].concat();
        problems.extend(file.late_problems().map(str::to_owned));
        let named = |problem| if loaded.len() > 1 { format!("{}: {problem}", file.path) } else { problem };
        status.problems.extend(problems.into_iter().map(named));
        status.unfinished.extend(file.unfinished.iter().cloned().map(named));
        status.notes.extend(file.facts.notes.iter().cloned().chain(file.gap_rows()).map(named));
        status.checksums.extend(file.checksum());
    }
    status
}

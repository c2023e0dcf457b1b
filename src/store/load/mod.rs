//! Files to a [`Source`]: what a file is, is told by its content.

mod bolt;
mod checksum;
mod data_dir;
mod db_file;
mod free_pages;
mod image;
mod mvcc;
mod objects;
mod wal;

use std::path::Path;

use bolt::Bolt;
use checksum::Check;
use objects::Objects;

use super::memory::MemorySource;
use super::versions::Builder;
use super::{Error, Origin, Result, Source, SourceKind, SourceStatus};

/// Tells the registry key of an API object, for files that hold objects and not etcd's data. `None`: it has none.
pub type KeyOf<'a> = dyn Fn(&serde_json::Value) -> Option<Vec<u8>> + 'a;

/// Opens files as one source; the histories of several are joined, API objects of several are the state of one moment.
///
/// A file is an etcd snapshot, a member's `db`, an etcd data dir (its database and its write-ahead log), or API objects as kubectl prints them (a `List`, one object, a YAML stream or
/// lines of JSON); plain, gzip or zstd; `-` is standard input.
///
/// # Errors
///
/// [`Error::File`] where a file cannot be read, [`Error::Format`] where it is nothing we know or damaged beyond reading.
pub fn open(paths: &[String], key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    let mut builder = Builder::default();
    let mut objects = Objects::new(key_of);
    let mut loaded = Vec::new();
    for path in paths {
        loaded.push(load(path, &mut builder, &mut objects).map_err(|problem| match problem {
            Problem::Known(error) => error,
            Problem::Format(problem) => Error::Format { path: path.clone(), problem },
        })?);
    }
    if !objects.is_empty() {
        finish_objects(objects, &mut builder, &mut loaded).map_err(|problem| Error::Format { path: paths.join(", "), problem })?;
    }
    let versions = builder.finish().map_err(|revision| Error::Format {
        path: paths.join(", "),
        problem: format!("these are not of one etcd cluster: they disagree about revision {revision}; give the files of one cluster only"),
    })?;
    let name = paths.join(", ");
    let told = |file: &Loaded, sentences: &[String]| sentences.iter().map(|told| format!("{}: {told}", file.path)).collect::<Vec<_>>();
    let damage = loaded.iter().flat_map(|file| told(file, &file.facts.damage)).collect();
    let left_out = loaded.iter().flat_map(|file| told(file, &file.facts.left_out)).collect();
    let (recoverable_freepage, recoverable_wal) = (versions.count(Origin::FreePage), versions.count(Origin::Wal));
    let status = move || SourceStatus { recoverable_freepage, recoverable_wal, ..join(&name, &loaded) };
    Ok(Box::new(MemorySource::new(versions, damage, left_out, status)))
}

/// One file, read into the index.
struct Loaded {
    kind: SourceKind,
    path: String,
    facts: db_file::Facts,
    cluster_id: Option<u64>,
    checksum: Option<Check>,
}

/// Why a file was not loaded.
enum Problem {
    Known(Error),
    Format(String),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Known(error)
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Format(problem)
    }
}

/// Adds the objects of all files that hold objects, as one state.
fn finish_objects(objects: Objects<'_>, builder: &mut Builder, loaded: &mut [Loaded]) -> std::result::Result<(), String> {
    let of_objects: Vec<usize> = (0..loaded.len()).filter(|&place| loaded[place].kind == SourceKind::Objects).collect();
    if of_objects.len() < loaded.len() {
        return Err("API objects and etcd's own files cannot be read together; name one or the other".to_owned());
    }
    for (file, sentence) in objects.finish(builder)? {
        loaded[of_objects[file]].facts.left_out.push(sentence);
    }
    Ok(())
}

fn load(path: &str, builder: &mut Builder, objects: &mut Objects<'_>) -> Result<Loaded, Problem> {
    if image::is_directory(path) {
        let (facts, cluster_id) = data_dir::read(Path::new(path), builder)?;
        return Ok(Loaded { kind: SourceKind::DataDir, path: path.to_owned(), facts, cluster_id, checksum: None });
    }
    let image = image::open(path)?;
    let path = path.to_owned();
    if image.bytes.is_empty() {
        return Err(Problem::Format("is empty; take a new snapshot with `etcdctl snapshot save`".to_owned()));
    }
    if bolt::looks_like_bolt(&image.bytes) {
        let bolt = Bolt::open(image.bytes)?;
        let (_, mut facts) = db_file::read(&bolt, builder)?;
        if image.copied_while_open && !facts.damage.is_empty() {
            facts.damage.push(
                "a running etcd wrote to the file while it was read, so damage may be of the copy only; read again, or take a snapshot"
                    .to_owned(),
            );
        }
        let checksum = bolt.checksum.map(|expected| Check::new(bolt.image.clone(), expected));
        return Ok(Loaded { kind: SourceKind::Db, path, facts, cluster_id: None, checksum });
    }
    if image.bytes.get(257..262) == Some(b"ustar") {
        return Err(Problem::Format("is a tar archive; unpack it and name what is in it".to_owned()));
    }
    let damage = objects.read(&path, &image.bytes)?;
    let length = image.bytes.len() as u64;
    let facts = db_file::Facts { file_bytes: length, in_use_bytes: length, damage, ..Default::default() };
    Ok(Loaded { kind: SourceKind::Objects, path, facts, cluster_id: None, checksum: None })
}

/// What the files say together.
fn join(name: &str, loaded: &[Loaded]) -> SourceStatus {
    let mut status = SourceStatus {
        kind: loaded.first().map_or(SourceKind::Db, |file| file.kind),
        name: name.to_owned(),
        cluster_id: loaded.iter().find_map(|file| file.cluster_id).map(|id| format!("{id:x}")),
        members: Vec::new(),
        file_bytes: 0,
        in_use_bytes: 0,
        free_bytes: 0,
        recoverable_freepage: 0,
        recoverable_wal: 0,
        problems: Vec::new(),
    };
    for file in loaded {
        status.file_bytes += file.facts.file_bytes;
        status.in_use_bytes += file.facts.in_use_bytes;
        status.free_bytes += file.facts.file_bytes.saturating_sub(file.facts.in_use_bytes);
        for member in &file.facts.members {
            if !status.members.iter().any(|known| known.id == member.id) {
                status.members.push(member.clone());
            }
        }
        let mut problems = [&file.facts.alarms[..], &file.facts.damage, &file.facts.left_out].concat();
        if file.checksum.as_ref().is_some_and(|check| !check.holds()) {
            problems.push("the SHA-256 at its end does not hold: the snapshot was changed or damaged since it was taken".to_owned());
        }
        let named = |problem| if loaded.len() > 1 { format!("{}: {problem}", file.path) } else { problem };
        status.problems.extend(problems.into_iter().map(named));
    }
    status
}

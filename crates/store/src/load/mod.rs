//! Opens files as a [`Source`]; their content decides what they are.

mod archive;
mod bolt;
mod buckets;
mod checksum;
mod data_dir;
mod db_file;
mod filling;
mod format;
mod free_pages;
mod image;
mod kept;
mod key_bucket;
mod kine;
mod loaded;
mod log_replay;
mod mapped;
mod mvcc;
mod objects;
mod own;
mod peek;
mod pump;
mod raft_snapshot;
mod several;
mod spool;
mod sql_dump;
mod wal;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use checksum::Check;
use format::Format;
use image::Image;
use kept::Place;
use loaded::{Loaded, finish, source};
use objects::Objects;
use several::{found_at, parts};

use super::fusion::{Beside, Fused, joined_name};
use super::recording::{self, RecordingSource};
use super::versions::VersionsBuilder;
use super::{Error, Result, RevisionSpan, Source, SourceKind};

pub(crate) use mapped::map;
pub(crate) use peek::Peek;

pub use kept::Cache;
pub use mapped::file_at as mapped_file_at;

/// Returns the registry key of an API object, for files that hold objects and not etcd's data; `None` where it has none.
pub type KeyOf<'a> = dyn Fn(&serde_json::Value) -> Option<Vec<u8>> + 'a;

/// How much a file may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes that come out of a compressed file or a pipe.
    pub unpacked: u64,
    /// Where the indexes of large databases are kept; `None`: nowhere.
    pub cache: Option<Cache>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { unpacked: 16 << 30, cache: None }
    }
}

/// Opens files as one source; the histories of several are joined, API objects of several are the state of one moment.
///
/// A file is an etcd snapshot, a member's `db`, an etcd data dir (its database and its write-ahead log, or one of them) as a directory or a tar
/// archive, a file of the log, a raft snapshot, a recording as [`recording`] writes it, a kine database with the log beside it, kine's table as CSV or lines of JSON, a directory of k3s, or
/// API objects as kubectl prints them (a `List`, one object, a YAML stream or lines of JSON); plain, gzip or zstd; `-` is standard input.
///
/// # Errors
///
/// [`Error::File`] where a file cannot be read, [`Error::Format`] where it is nothing we know or damaged beyond reading.
pub fn open(paths: &[String], key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    open_within(paths, &Limits::default(), key_of)
}

/// [`open`] with other limits than the usual ones.
///
/// # Errors
///
/// As of [`open`].
pub fn open_within(paths: &[String], limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    if let [path] = paths {
        return open_one(path, limits, key_of);
    }
    let found = found_at(paths, limits)?;
    if found.iter().any(|(_, found)| found.is_objects()) {
        return open_objects(paths, found, limits, key_of);
    }
    Ok(Box::new(Fused::new(parts(found, limits)?, None)?))
}

/// Opens files beside a live etcd, `name`, which gives the present and what came after them. `tell` receives one sentence for each thing that
/// the user should know of how they go together.
///
/// # Errors
///
/// As of [`open`]; [`Error::Format`] too where a file holds API objects.
pub fn open_beside(
    paths: &[String],
    limits: &Limits,
    name: String,
    source: Box<dyn Source>,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
) -> Result<Box<dyn Source>> {
    let found = found_at(paths, limits)?;
    if let Some((path, _)) = found.iter().find(|(_, found)| found.is_objects()) {
        let problem = "holds API objects, which cannot be read beside a live etcd; name one or the other".to_owned();
        return Err(Error::Format { path: path.clone(), problem });
    }
    Ok(Box::new(Fused::new(parts(found, limits)?, Some(Beside { name, source, tell }))?))
}

/// What is at a path.
enum Found {
    Recording,
    Directory,
    File(Image),
    /// A compressed database that was looked into and is not kept unpacked.
    Packed {
        span: RevisionSpan,
        bytes: u64,
    },
}

impl Found {
    fn at(path: &str, limits: &Limits, open: fn(&str, &Limits) -> Result<Image>) -> Result<Self> {
        if is_recording(path) {
            return Ok(Self::Recording);
        }
        if image::is_directory(path) { Ok(Self::Directory) } else { open(path, limits).map(Self::File) }
    }

    /// Whether it is nothing that etcd or kine wrote.
    fn is_objects(&self) -> bool {
        matches!(self, Self::File(Image { bytes, .. }) if !bytes.is_empty() && Format::of(bytes) == Format::Objects)
    }
}

/// Opens what is at one path; of a large database by the index that was kept of it.
fn open_one(path: &str, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    // A pipe can be opened once.
    let place = limits.cache.as_ref().filter(|_| Path::new(path).is_file()).and_then(|cache| Place::of(path, cache));
    let mut foreign = None;
    match place.as_ref().map(|place| place.read(limits)) {
        Some(kept::Found::Index(found)) => {
            let (versions, facts) = *found;
            return Ok(Box::new(source(path.to_owned(), versions, vec![Loaded::new(SourceKind::Db, path.to_owned(), facts)])));
        }
        Some(kept::Found::Foreign(why)) => foreign = Some(why),
        Some(kept::Found::Nothing) | None => {}
    }
    let found = Found::at(path, limits, image::open)?;
    if matches!(found, Found::Recording) {
        return Ok(Box::new(RecordingSource::open(path)?));
    }
    let (mut builder, mut objects) = (VersionsBuilder::default(), Objects::new(key_of));
    let mut loaded = load(path, found, limits, &mut builder, &mut objects).map_err(|problem| problem.of(path))?;
    let keeps = place.filter(|place| loaded.kind == SourceKind::Db && !loaded.is_archived && place.keeps(&loaded.facts));
    let keeps = keeps.map(|place| (place, loaded.facts.clone()));
    // Whether the index would have been of the file is not looked at.
    loaded.facts.left_out.extend(foreign.filter(|_| keeps.is_some()));
    let source = finish(path.to_owned(), builder, objects, vec![loaded])?;
    Ok(Box::new(match keeps {
        // An index that cannot be kept is made again.
        Some((place, facts)) => source.when_sound(move |versions| drop(place.write(versions, &facts))),
        None => source,
    }))
}

/// Opens files of API objects as the state of one moment.
fn open_objects(paths: &[String], found: Vec<(String, Found)>, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    let (mut builder, mut objects, mut loaded) = (VersionsBuilder::default(), Objects::new(key_of), Vec::new());
    for (path, found) in found {
        loaded.push(load(&path, found, limits, &mut builder, &mut objects).map_err(|problem| problem.of(&path))?);
    }
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    Ok(Box::new(finish(joined_name(&names), builder, objects, loaded)?))
}

/// Opens the bytes of one file, as if it were called `name`.
///
/// # Errors
///
/// [`Error::Format`], as of [`open`].
pub fn open_bytes(name: &str, bytes: Bytes, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    let mut builder = VersionsBuilder::default();
    let mut objects = Objects::new(key_of);
    let image = Image::of_bytes(name, bytes, limits)?;
    let loaded = load_image(name, image, &mut builder, &mut objects).map_err(|problem| problem.of(name))?;
    Ok(Box::new(finish(name.to_owned(), builder, objects, vec![loaded])?))
}

/// Opens the bytes of a member's data dir: of its database, and of the files of its write-ahead log with their names.
///
/// # Errors
///
/// [`Error::Format`], as of [`open`].
pub fn open_member(name: &str, db: Bytes, log: Vec<(String, Bytes)>) -> Result<Box<dyn Source>> {
    let mut builder = VersionsBuilder::default();
    let db = Image::plain(db);
    let parts = data_dir::Parts { db: Some(db), log: wal::Log::of_files(log) };
    let read = data_dir::read_files(parts, &mut builder);
    let (facts, cluster_id) = read.map_err(|problem| problem.of(name))?;
    let loaded = Loaded { cluster_id, ..Loaded::new(SourceKind::DataDir, name.to_owned(), facts) };
    Ok(Box::new(finish(name.to_owned(), builder, Objects::new(&|_| None), vec![loaded])?))
}

/// Opens the bytes of a kine database, and of the log beside it.
///
/// # Errors
///
/// [`Error::Format`], as of [`open`].
pub fn open_kine(name: &str, database: Bytes, log: Bytes) -> Result<Box<dyn Source>> {
    let mut builder = VersionsBuilder::default();
    let loaded = load_database(name, kine::Files::of_pair(database, log), &mut builder).map_err(|problem| problem.of(name))?;
    Ok(Box::new(finish(name.to_owned(), builder, Objects::new(&|_| None), vec![loaded])?))
}

/// Why a file was not loaded.
enum Problem {
    Known(Error),
    Format(String),
}

impl Problem {
    fn of(self, path: &str) -> Error {
        match self {
            Self::Known(error) => error,
            Self::Format(problem) => Error::Format { path: path.to_owned(), problem },
        }
    }
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

/// Whether a path is that of a recording.
fn is_recording(path: &str) -> bool {
    image::is_directory(path) && !data_dir::is_there(Path::new(path)) && recording::is_recording(Path::new(path))
}

fn load(path: &str, found: Found, limits: &Limits, builder: &mut VersionsBuilder, objects: &mut Objects<'_>) -> Result<Loaded, Problem> {
    let image = match found {
        Found::File(image) => image,
        Found::Packed { .. } => image::open(path, limits)?,
        Found::Directory | Found::Recording => {
            let database = kine::in_directory(Path::new(path)).filter(|_| !data_dir::is_there(Path::new(path)));
            if let Some(database) = database {
                return load_kine(&database.to_string_lossy(), limits, builder);
            }
            let (facts, cluster_id) = data_dir::read(Path::new(path), limits, builder)?;
            return Ok(Loaded { cluster_id, ..Loaded::new(SourceKind::DataDir, path.to_owned(), facts) });
        }
    };
    if Format::of(&image.bytes) == Format::Sqlite {
        let files = kine::Files::with_log(path, image, limits)?;
        return load_database(path, files, builder);
    }
    load_image(path, image, builder, objects)
}

/// The database of kine at a path, or what is left of it beside that.
fn load_kine(path: &str, limits: &Limits, builder: &mut VersionsBuilder) -> Result<Loaded, Problem> {
    let image = if Path::new(path).exists() { image::open(path, limits)? } else { image::none() };
    load_database(path, kine::Files::with_log(path, image, limits)?, builder)
}

fn load_database(path: &str, files: kine::Files, builder: &mut VersionsBuilder) -> Result<Loaded, Problem> {
    let facts = kine::read(files, builder)?;
    Ok(Loaded::new(SourceKind::Kine, path.to_owned(), facts))
}

fn load_image(path: &str, image: Image, builder: &mut VersionsBuilder, objects: &mut Objects<'_>) -> Result<Loaded, Problem> {
    let path = path.to_owned();
    if image.bytes.is_empty() {
        return Err(Problem::Format("is empty; take a new snapshot with `etcdctl snapshot save`".to_owned()));
    }
    match Format::of(&image.bytes) {
        Format::Tar => load_archive(path, image, builder),
        Format::Bolt => load_bolt(path, image, builder),
        Format::Sqlite => load_database(&path, kine::Files::of_bytes(image.bytes, image.cut), builder),
        Format::KineExport(form) => {
            let facts = kine::read_export(&image.bytes, image.cut, form, builder)?;
            Ok(Loaded::new(SourceKind::Kine, path, facts))
        }
        Format::Log => load_parts(path, data_dir::Parts { db: None, log: wal::Log::of_file(image.bytes) }, image.cut, builder),
        Format::RaftSnapshot => {
            let facts = raft_snapshot::read(&image.bytes, builder).ok_or_else(|| "is a raft snapshot that cannot be read".to_owned())?;
            Ok(Loaded::new(SourceKind::DataDir, path, facts))
        }
        Format::Objects => load_objects(path, image, objects),
    }
}

/// Loads API objects.
fn load_objects(path: String, image: Image, objects: &mut Objects<'_>) -> Result<Loaded, Problem> {
    if let Some(problem) = sql_dump::recognised(&path, &image.bytes) {
        return Err(Problem::Format(problem));
    }
    let damage = match &image.cut {
        None => objects.read(&path, &image.bytes)?,
        Some(cut) => objects.read(&path, &whole_objects(&image.bytes)).map_err(|problem| format!("{problem}; {cut}"))?,
    };
    let length = image.bytes.len() as u64;
    let damage = damage.into_iter().chain(image.cut).collect();
    let facts = db_file::Facts { file_bytes: length, in_use_bytes: length, damage, ..Default::default() };
    Ok(Loaded::new(SourceKind::Objects, path, facts))
}

/// Loads etcd's database.
fn load_bolt(path: String, image: Image, builder: &mut VersionsBuilder) -> Result<Loaded, Problem> {
    let mut bolt = image.database()?;
    let (_, mut facts) = db_file::read(&mut bolt, builder)?;
    facts.damage.extend(image.cut);
    facts.damage.extend(facts.newest_unreached.map(newer_unreached));
    let checksum = bolt.checksum.map(|expected| match image.digest {
        Some(digest) => Check::done(digest == expected),
        None => Check::new(bolt.image.clone(), expected),
    });
    Ok(Loaded { checksum, ..Loaded::new(SourceKind::Db, path, facts) })
}

/// Loads what is in a tar archive.
fn load_archive(path: String, image: Image, builder: &mut VersionsBuilder) -> Result<Loaded, Problem> {
    let archive = archive::read(&image.bytes)?;
    let mut loaded = match archive.content {
        archive::Content::Member(parts) => load_parts(path, parts, None, builder)?,
        archive::Content::Kine(files) => load_database(&path, files, builder)?,
        archive::Content::Database(image) => load_bolt(path, image, builder)?,
    };
    loaded.facts.damage.extend(archive.cut.into_iter().chain(image.cut));
    loaded.facts.left_out.extend(archive.left_out);
    Ok(Loaded { is_archived: true, ..loaded })
}

/// Loads the files of a member that came in one.
fn load_parts(path: String, parts: data_dir::Parts, cut: Option<String>, builder: &mut VersionsBuilder) -> Result<Loaded, Problem> {
    let (mut facts, cluster_id) = data_dir::read_files(parts, builder)?;
    facts.damage.extend(cut);
    Ok(Loaded { cluster_id, ..Loaded::new(SourceKind::DataDir, path, facts) })
}

/// The objects of a text cut short, without the last one: lines of JSON, YAML documents, or the items of a list in YAML.
fn whole_objects(text: &Bytes) -> Bytes {
    let last = |separator: &[u8]| text.windows(separator.len()).rposition(|bytes| bytes == separator);
    let end = if text.trim_ascii_start().starts_with(b"{") { last(b"\n") } else { last(b"\n---").max(last(b"\n- ")) };
    text.slice(..end.unwrap_or(text.len()))
}

/// A snapshot may have such pages, of changes that were made while it was taken; there the checksum vouches for the tree.
fn newer_unreached(newest: i64) -> String {
    format!(
        "pages that its tree does not reach hold revisions up to {newest}: the tree has lost them, or the file was copied while etcd wrote to it; \
         what is shown may be older than it looks"
    )
}

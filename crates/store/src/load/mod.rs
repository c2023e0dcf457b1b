//! Opens files as a [`Source`]; their content decides what they are.

mod audit_logs;
mod audit_text;
mod bolt;
mod buckets;
mod budget;
mod cache_directory;
mod checksum;
mod compression;
mod container;
mod data_dir;
mod db_file;
#[cfg(feature = "kine")]
mod dqlite;
#[cfg(test)]
mod dry_run;
mod file_set;
mod format;
mod formats;
mod free_pages;
mod gardener;
mod image;
mod index_cache;
mod indexed_files;
mod key_bucket;
mod key_files;
#[cfg(feature = "kine")]
mod kine;
mod little_endian;
mod log_replay;
mod lz4;
mod mapped;
mod mvcc;
#[cfg_attr(not(feature = "objects"), expect(dead_code, reason = "nothing is collected without them"))]
mod objects;
mod opening;
mod options;
mod path_content;
mod peek;
mod problem;
mod pump;
mod raft_snapshot;
mod rebuilt_history;
mod search_results;
mod spool;
mod sql_dump;
mod unpacked_copy;
mod unsupported_formats;
mod wal;
#[cfg(all(test, unix))]
mod writer_model;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use container::{Body, ContainerEntry, EntryKind, breaks_promise};
use file_set::{Several, open_image, open_path};
use format::Loading;
use formats::{load_parts, reading};
use image::Image;
use indexed_files::{Loaded, finish};
use objects::Objects;
use path_content::{PathContent, load};
use problem::LoadProblem;

use super::fusion::{LiveInput, joined_name};
use super::versions::VersionsBuilder;
use super::{Error, Result, Source};

#[cfg(feature = "recording")]
pub(crate) use mapped::map;
pub(crate) use peek::Peek;

pub use audit_logs::{AuditLogs, WithAuditLogs};
pub use budget::{Budget, Exceeded, FileLimits, Reservation, Spent};
pub use mapped::file_at as mapped_file_at;
pub use opening::OpeningProgress;
pub use options::{Cache, KeyOf, Limits, StandardInput};
pub use rebuilt_history::{Rebuilt, RebuiltChange, RebuiltValues, ValuePlace, ValueWriter, open_rebuilt};
pub use search_results::Finds;
pub use spool::RECOGNISED_WITHIN;

/// Opens files as one source; the histories of several are joined, API objects of several are the state of one moment.
///
/// A file is an etcd snapshot, a member's `db`, an etcd data dir (its database and its write-ahead log, or one of them), a file of the log, a raft
/// snapshot, a recording or a bundle as [`crate::recording`] writes it, a kine database with its log, kine's table as CSV or lines of JSON, a directory of k3s, a
/// folder of dqlite or a snapshot of it, or API objects as kubectl prints them (a `List`, one object, a YAML stream or lines of JSON); plain or compressed (gzip, zstd, xz, bzip2, LZ4, zlib);
/// `-` is standard input. A folder or an archive (tar, zip) of such files is what lies in it: one of them, several databases as one history, or all
/// objects; `ARCHIVE::NAME` is one entry, or what lies below it.
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
        return open_path(path, limits, key_of);
    }
    let several = Several::at(paths, limits)?;
    if several.found.iter().any(|(_, found)| found.is_objects()) {
        return open_objects(paths, several.found, limits, key_of);
    }
    Ok(Box::new(several.fused(None, limits, key_of)?))
}

/// Opens files together with a live etcd, `name`, which gives the present and what came after them. `tell` receives one sentence for each thing that
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
    let several = Several::at(paths, limits)?;
    if let Some((path, _)) = several.found.iter().find(|(_, found)| found.is_objects()) {
        let problem = "holds API objects, which cannot be read together with a live etcd; name one or the other".to_owned();
        return Err(Error::Format { path: path.clone(), problem });
    }
    Ok(Box::new(several.fused(Some(LiveInput { name, source, tell }), limits, &|_| None)?))
}

/// Opens files of API objects as the state of one moment.
fn open_objects(paths: &[String], found: Vec<(String, PathContent)>, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    let (mut builder, mut objects) = (VersionsBuilder::within(&limits.budget()), Objects::new(key_of, limits.budget()));
    let mut loaded = Vec::new();
    for (path, found) in found {
        loaded.push(load(&path, found, limits, &mut builder, &mut objects).map_err(|problem| problem.of(&path))?);
    }
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    Ok(Box::new(finish(joined_name(&names), builder, objects, loaded)?))
}

/// Whether a file that begins with these bytes may be, or contain, one that can be opened. Other files need not be fetched any further.
pub fn may_be_read(name: &str, beginning: Bytes) -> bool {
    let entry = ContainerEntry { name: name.to_owned(), body: Body::Bytes(beginning) };
    let Ok(look) = entry.look(&Limits::default().budget()) else { return true };
    let kind = EntryKind::of(&entry, &look.bytes);
    let is_unread = matches!(kind, EntryKind::Other | EntryKind::Foreign(_) | EntryKind::SqlDump | EntryKind::Unfinished);
    !is_unread || is_gardeners(name) || kind == EntryKind::Other && breaks_promise(&entry, &look)
}

/// Whether a file is called as Gardener's snapshots are, whose bytes may not tell how they are compressed.
pub fn is_gardeners(name: &str) -> bool {
    gardener::SnapshotName::of(name).is_some()
}

/// The places of Gardener's full snapshots among `names` that their history does without: the files before them have all changes up to their revision.
/// Names may have folders before them; the files at the places in `damaged` count as not there.
pub fn superfluous_snapshots(names: &[&str], damaged: &BTreeSet<usize>) -> BTreeSet<usize> {
    gardener::superfluous(names, damaged)
}

/// Whether one of Gardener's snapshots has what its name says: it can be decompressed to its end, and its checksum holds.
pub fn is_whole_snapshot(path: &Path, limits: &Limits) -> bool {
    gardener::is_whole(path, &reading(limits))
}

/// Opens the bytes of one file, as if it were called `name`.
///
/// # Errors
///
/// [`Error::Format`], as of [`open`].
#[doc(hidden)]
pub fn open_bytes(name: &str, bytes: Bytes, limits: &Limits, key_of: &KeyOf<'_>) -> Result<Box<dyn Source>> {
    open_image(name, Image::of_bytes(name, bytes, &reading(limits))?, limits, key_of)
}

/// Opens the bytes of a member's data dir: of its database, and of the files of its write-ahead log with their names.
///
/// # Errors
///
/// [`Error::Format`], as of [`open`].
#[doc(hidden)]
pub fn open_member(name: &str, db: Bytes, log: Vec<(String, Bytes)>) -> Result<Box<dyn Source>> {
    let parts = data_dir::Parts { db: Some(Image::plain(db)), log: wal::RaftLog::of_files(log) };
    loaded_as(name, |loading| load_parts(loading, name, parts, None))
}

/// Opens the bytes of a kine database and of its log.
///
/// # Errors
///
/// [`Error::Format`], as of [`open`].
#[doc(hidden)]
#[cfg(feature = "kine")]
pub fn open_kine(name: &str, database: Bytes, log: Bytes) -> Result<Box<dyn Source>> {
    loaded_as(name, |loading| formats::kine(loading, name, kine::Files::of_pair(database, log)))
}

/// A source of what is loaded without a path.
fn loaded_as(name: &str, load: impl FnOnce(&mut Loading<'_, '_>) -> Result<Loaded, LoadProblem>) -> Result<Box<dyn Source>> {
    let limits = Limits::default();
    let (mut builder, mut objects) = (VersionsBuilder::within(&limits.budget()), Objects::new(&|_| None, limits.budget()));
    let mut loading = Loading { reading: reading(&limits), builder: &mut builder, objects: &mut objects, has_path: false };
    let loaded = load(&mut loading).map_err(|problem| problem.of(name))?;
    Ok(Box::new(finish(name.to_owned(), builder, objects, vec![loaded])?))
}

//! The layer before formats: folders and archives, what lies in them, and which of that is read.
//!
//! Entries are recognised by their first bytes, as files are, and unpacked when they are wanted. Their names are data: they are compared, shown escaped
//! and never made into a path.

mod choice;
mod companions;
mod entry;
mod folder;
mod gather;
mod kind;
mod messages;
#[cfg(feature = "kine")]
mod nodes;
mod numbered_files;
mod objects;
mod promise;
mod tape;
mod zip;

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;

use super::mapped::map_lazily;
use super::options::Reading;
use super::problem::LoadProblem;

pub(super) use choice::{Choice, Chosen};
pub(super) use companions::of_known_folder;
pub(super) use entry::{Body, ContainerEntry, ENTRY_SEPARATOR, name_within, shown};
pub(super) use kind::EntryKind;
pub(super) use promise::breaks_promise;

pub(super) fn is_archive(bytes: &[u8]) -> bool {
    tape::looks_like_tar(bytes) || zip::begins_so(bytes)
}

/// Whether bytes are a zip archive with something before it, such as a program that unpacks it.
pub(super) fn is_archive_behind_something(bytes: &[u8]) -> bool {
    zip::is_behind_something(bytes)
}

/// Chooses what is read of the archive at a path, which bytes are; of `within` it alone, if that is not empty.
///
/// # Errors
///
/// Nothing in it can be read, or it is not clear what is meant.
pub(super) fn of_archive(path: &str, archive: &Bytes, within: &str, reading: &Reading<'_>) -> Result<Choice, LoadProblem> {
    let gathered = gather::of_archive(path, archive, within, reading)?;
    Ok(named(path, choice::choose(gathered, "an archive", reading)?))
}

/// A choice whose database is named as what lies at a path.
fn named(path: &str, choice: Choice) -> Choice {
    Choice { database: choice.database.map(|name| name_within(path, &name)), ..choice }
}

/// The audit logs in an archive, or in one part of it, and whether it holds anything else that is read.
///
/// # Errors
///
/// A fragment: nothing of it can be read.
pub(super) fn audit_logs_in_archive(
    path: &str,
    archive: &Bytes,
    within: &str,
    reading: &Reading<'_>,
) -> Result<(Vec<ContainerEntry>, bool), String> {
    gather::of_archive(path, archive, within, reading).map(|gathered| audit_logs(path, within, gathered, reading))
}

/// The same of a folder.
///
/// # Errors
///
/// As of [`audit_logs_in_archive`].
pub(super) fn audit_logs_in_folder(path: &Path, within: &str, reading: &Reading<'_>) -> Result<(Vec<ContainerEntry>, bool), String> {
    gather::of_folder(path, within, reading).map(|gathered| audit_logs(&path.to_string_lossy(), within, gathered, reading))
}

/// The audit logs among what was gathered at a path, and whether there is anything else that is read: all is kept for that.
fn audit_logs(path: &str, within: &str, gathered: gather::Gathered, reading: &Reading<'_>) -> (Vec<ContainerEntry>, bool) {
    let is_other = |kind: EntryKind| {
        kind.is_database() || matches!(kind, EntryKind::Archive | EntryKind::Log | EntryKind::Dqlite | EntryKind::Objects)
    };
    let is_only_log = !gathered.found.iter().any(|found| is_other(found.kind));
    let is_log = |found: &&gather::Found| found.kind == EntryKind::AuditLog;
    let logs: Vec<ContainerEntry> = gathered.found.iter().filter(is_log).map(|found| found.entry.clone()).collect();
    let holds_others = logs.is_empty() || !is_only_log;
    if holds_others {
        gather::keep(path, within, gathered, reading);
    }
    (logs, holds_others)
}

/// The bytes of a file, of which not all need be in memory at once.
///
/// # Errors
///
/// The file cannot be opened.
pub(super) fn file_bytes(name: &str, path: &Path) -> io::Result<Bytes> {
    map_lazily(name, &File::open(path)?)
}

/// The same of a folder.
///
/// # Errors
///
/// As of [`of_archive`].
pub(super) fn of_folder(path: &Path, within: &str, reading: &Reading<'_>) -> Result<Choice, LoadProblem> {
    let choice = choice::choose(gather::of_folder(path, within, reading)?, "a folder", reading)?;
    Ok(named(&path.to_string_lossy(), choice))
}

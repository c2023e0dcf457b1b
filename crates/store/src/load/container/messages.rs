//! What is said of a folder or an archive: which of its files are read, which are not, and why.

use std::collections::BTreeSet;

use super::super::unsupported_formats;
use super::entry::{Body, listed, shown};
use super::gather::Found;
use super::kind::EntryKind;
use super::promise::uncompressed;

/// Why there is nothing to read.
pub(super) fn nothing(found: &[Found], what: &str, damage: &[String]) -> String {
    if let Some(said) = unsupported_formats::of_folder(found.iter().map(|found| found.entry.file_name())) {
        return said.to_owned();
    }
    let foreign = found.iter().find_map(unreadable).map(|said| format!("; {said}"));
    let foreign = foreign.or_else(|| damage.first().map(|damage| format!("; {damage}"))).unwrap_or_default();
    let held = match found.len() {
        0 => "no file".to_owned(),
        1 => format!("one file ({})", listed(found.iter().map(|found| &*found.entry.name))),
        count => format!("{count} files ({})", listed(found.iter().map(|found| &*found.entry.name))),
    };
    format!("is {what} that holds neither a database or log of etcd or kine nor API objects: it has {held}{foreign}")
}

/// Says what a file is that cannot be opened.
fn unreadable(found: &Found) -> Option<String> {
    let name = shown(&found.entry.name);
    match (found.kind, &found.entry.body) {
        (EntryKind::Foreign(said), _) | (_, &Body::Sealed(said)) => Some(format!("{name} {said}")),
        (EntryKind::SqlDump, _) => found.problem.as_ref().map(|said| format!("{name} {said}")),
        _ => None,
    }
}

/// Says which files were not written to their end.
pub(super) fn unfinished(found: &[Found]) -> Option<String> {
    // A member makes the next file of its log in advance (`wal/0.tmp`).
    let is_of_log = |found: &Found| found.entry.folder().ends_with("wal");
    let is_one = |found: &&Found| found.kind == EntryKind::Unfinished && !is_of_log(found);
    let names: Vec<&str> = found.iter().filter(is_one).map(|found| &*found.entry.name).collect();
    let said = match names.len() {
        0 => return None,
        1 => "is not read: its name says that the program writing it was stopped, or still writes",
        _ => "are not read: their names say that the programs writing them were stopped, or still write",
    };
    Some(format!("{} {said}", listed(names.into_iter())))
}

/// Says what of several files is read, and which databases are not.
pub(super) fn sentence(found: &[Found], read: &[usize], total: usize) -> Vec<String> {
    let read: BTreeSet<usize> = read.iter().copied().collect();
    let mut said = Vec::new();
    let rest = || (0..found.len()).filter(|place| !read.contains(place));
    if total > read.len() && !read.is_empty() {
        let names = listed(read.iter().map(|&place| &*found[place].entry.name));
        said.push(format!("{} of the {total} files in it {} read: {names}", read.len(), if read.len() == 1 { "is" } else { "are" }));
    }
    let others: Vec<&str> = rest()
        .filter(|&place| found[place].kind.is_database() || found[place].is_of_member())
        .map(|place| &*found[place].entry.name)
        .collect();
    if !others.is_empty() {
        said.push(format!(
            "it holds other databases too, which are not read: {}; name one with -f PATH::NAME to read it",
            listed(others.into_iter())
        ));
    }
    said
}

/// Says which of the files that are not read are damaged, or may be.
pub(super) fn broken(found: &[Found], read: &[usize]) -> Vec<String> {
    /// More are counted.
    const MAX_FILES_NAMED: usize = 20;
    let broken = broken_files(found, read);
    let mut said: Vec<String> =
        broken.iter().take(MAX_FILES_NAMED).map(|(found, why)| format!("{} is not read: {why}", shown(&found.entry.name))).collect();
    if broken.len() > MAX_FILES_NAMED {
        said.push(format!("{} more files are not read, as they are damaged or not what they are called", broken.len() - MAX_FILES_NAMED));
    }
    said
}

/// The files that are not read though they should be, with why: those in which nothing is recognised though their names promise it, and those that are
/// called as the databases are that are read next to them.
fn broken_files<'f>(found: &'f [Found], read: &[usize]) -> Vec<(&'f Found, String)> {
    let suffix = |found: &Found| Some(uncompressed(found.entry.file_name()).rsplit_once('.')?.1.to_owned());
    let place = |found: &Found| Some((found.entry.folder().to_owned(), suffix(found)?));
    let databases: BTreeSet<_> =
        read.iter().filter(|&&at| found[at].kind == EntryKind::Database).filter_map(|&at| place(&found[at])).collect();
    let why = |found: &Found| {
        let is_called_so = || place(found).is_some_and(|place| databases.contains(&place));
        let other = || "it is empty, damaged at its beginning, cut short, or of another kind than the files next to it".to_owned();
        found.problem.clone().or_else(|| is_called_so().then(other))
    };
    let rest = rest(found, read).filter(|found| found.kind == EntryKind::Other);
    rest.filter_map(|found| Some((found, why(found)?))).collect()
}

/// The files that are not read.
fn rest<'f>(found: &'f [Found], read: &[usize]) -> impl Iterator<Item = &'f Found> {
    let read: BTreeSet<usize> = read.iter().copied().collect();
    found.iter().enumerate().filter(move |(place, _)| !read.contains(place)).map(|(_, found)| found)
}

/// Says what there is to read in the files that are not read, and are not damaged.
pub(super) fn of_the_rest(found: &[Found], read: &[usize]) -> Vec<String> {
    const MAX_FILES_NAMED: usize = 3;
    let unreadable: Vec<(&Found, String)> = rest(found, read).filter_map(|found| Some((found, unreadable(found)?))).collect();
    let mut said: Vec<String> = unreadable.iter().take(MAX_FILES_NAMED).map(|(_, said)| said.clone()).collect();
    if unreadable.len() > MAX_FILES_NAMED {
        said.push(format!("no more can be read of {}", listed(unreadable[MAX_FILES_NAMED..].iter().map(|(found, _)| &*found.entry.name))));
    }
    said.extend(unread(found, read, EntryKind::Archive, "as it lies in an archive in an archive within"));
    said
}

/// Names the files that come with a backup and hold nothing of it.
pub(super) fn of_others(found: &[Found], read: &[usize]) -> Vec<String> {
    let others = [(EntryKind::Other, "as nothing is recognised in it"), (EntryKind::Objects, "as API objects lie next to what is read")];
    others.into_iter().filter_map(|(kind, why)| unread(found, read, kind, why)).collect()
}

/// Names the files of a kind that are not read, and of which nothing else was said.
fn unread(found: &[Found], read: &[usize], kind: EntryKind, why: &str) -> Option<String> {
    let broken: BTreeSet<&str> = broken_files(found, read).iter().map(|(found, _)| &*found.entry.name).collect();
    let is_one = |one: &&Found| one.kind == kind && !broken.contains(&*one.entry.name) && unreadable(one).is_none();
    let names: Vec<&str> = rest(found, read).filter(is_one).map(|found| &*found.entry.name).collect();
    (!names.is_empty()).then(|| format!("not read, {why}: {}", listed(names.into_iter())))
}

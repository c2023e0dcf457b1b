//! What is said of a folder or an archive: which of its files are read, which are not, and why.

use std::collections::BTreeSet;

use super::super::{foreign, sql_dump};
use super::entry::{Body, listed, shown};
use super::gather::Found;
use super::kind::Kind;

/// Why there is nothing to read.
pub(super) fn nothing(found: &[Found], what: &str, damage: &[String]) -> String {
    if let Some(said) = foreign::of_folder(found.iter().map(|found| found.entry.file_name())) {
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
        (Kind::Foreign(said), _) | (_, &Body::Sealed(said)) => Some(format!("{name} {said}")),
        (Kind::SqlDump, _) => sql_dump::recognised(&name, &found.entry.look()?).map(|said| format!("{name} {said}")),
        _ => None,
    }
}

/// Says which files were not written to their end.
pub(super) fn unfinished(found: &[Found]) -> Option<String> {
    // A member makes the next file of its log in advance (`wal/0.tmp`).
    let is_of_log = |found: &Found| found.entry.folder().ends_with("wal");
    let is_one = |found: &&Found| found.kind == Kind::Unfinished && !is_of_log(found);
    let names: Vec<&str> = found.iter().filter(is_one).map(|found| &*found.entry.name).collect();
    let said = match names.len() {
        0 => return None,
        1 => "is not read: by its name, the program that writes it was stopped or still writes",
        _ => "are not read: by their names, the programs that write them were stopped or still write",
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
        said.push(format!(
            "of {total} files in it {} read: {names}",
            if read.len() == 1 { "one is".to_owned() } else { format!("{} are", read.len()) }
        ));
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

/// Says what cannot be opened of the files that are not read, and which of them are called as the databases are that are read next to them.
pub(super) fn of_the_rest(found: &[Found], read: &[usize]) -> Vec<String> {
    const MOST: usize = 3;
    let read: BTreeSet<usize> = read.iter().copied().collect();
    let suffix = |found: &Found| found.entry.file_name().rsplit_once('.').map(|(_, suffix)| suffix.to_owned());
    let place = |found: &Found| Some((found.entry.folder().to_owned(), suffix(found)?));
    let databases: BTreeSet<_> = read.iter().filter(|&&at| found[at].kind == Kind::Database).filter_map(|&at| place(&found[at])).collect();
    let rest = || (0..found.len()).filter(|place| !read.contains(place)).map(|place| &found[place]);
    let mut said: Vec<String> = rest().filter_map(unreadable).take(MOST).collect();
    let is_called_so = |found: &&Found| found.kind == Kind::Other && place(found).is_some_and(|place| databases.contains(&place));
    let names: Vec<&str> = rest().filter(is_called_so).map(|found| &*found.entry.name).collect();
    if !names.is_empty() {
        let (is, it) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
        said.push(format!(
            "{} {is} not read: {it} empty, cut short or of another kind than the files next to it",
            listed(names.into_iter())
        ));
    }
    said
}

//! Which of the entries of a folder or an archive are the files of a node of dqlite.

use std::collections::BTreeSet;

use super::super::dqlite;
use super::entry::listed;
use super::gather::Found;
use super::kind::EntryKind;

/// The node among the entries, and the places of its files; `databases` are the places of databases of other kinds.
///
/// # Errors
///
/// A fragment: there are several, or other databases with it.
pub(super) fn node(found: &[Found], databases: &[usize], what: &str) -> Result<Option<(dqlite::Node, Vec<usize>)>, String> {
    let folders: BTreeSet<&str> = found.iter().filter(|found| found.kind == EntryKind::Dqlite).map(|found| found.entry.folder()).collect();
    let Some(&folder) = folders.first() else { return Ok(None) };
    let is_of_it =
        |found: &Found| found.entry.folder() == folder && (found.kind == EntryKind::Dqlite || dqlite::is_name(found.entry.file_name()));
    let shown = |folder: &&str| if folder.is_empty() { "files of dqlite".to_owned() } else { (*folder).to_owned() };
    let mut names: Vec<String> = folders.iter().map(shown).collect();
    let nodes = names.len();
    // One that is named as a file of the node is a damaged one of it, whatever it begins with.
    let others = databases.iter().map(|&place| &found[place]).filter(|found| !is_of_it(found));
    names.extend(others.map(|found| found.entry.name.clone()));
    if names.len() > 1 {
        let (count, names) = (names.len(), listed(names.iter().map(String::as_str)));
        return Err(match count - nodes {
            0 => format!("is {what} of {count} nodes of dqlite, each with a log of its own: {names}; name one of them: -f PATH::NAME"),
            _ => format!("is {what} of {count} databases that are not from one etcd: {names}; name one of them: -f PATH::NAME"),
        });
    }
    let places: Vec<usize> = (0..found.len()).filter(|&place| is_of_it(&found[place])).collect();
    let files = places.iter().map(|&place| found[place].entry.clone()).collect();
    Ok(Some((dqlite::Node { files }, places)))
}

//! The files of a folder and of the folders below it. Links are not followed, so that no loop and nothing outside is read.

use std::fs;
use std::path::{Path, PathBuf};

use super::entry::{Body, ContainerEntry, MAX_ENTRIES};

/// Folders deeper than this are not entered.
const MAX_FOLDER_DEPTH: usize = 32;

/// The plain files below `path`, by name.
///
/// # Errors
///
/// A fragment: the folder cannot be read, or there are too many.
pub(super) fn entries(path: &Path) -> Result<Vec<ContainerEntry>, String> {
    let mut entries = Vec::new();
    let mut folders: Vec<(PathBuf, String, usize)> = vec![(path.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        let found = match fs::read_dir(&folder) {
            Ok(found) => found,
            Err(cause) if depth == 0 => return Err(format!("cannot be read: {cause}")),
            Err(_) => {
                entries.push(ContainerEntry { name: prefix, body: Body::Sealed("is a folder that cannot be read") });
                continue;
            }
        };
        for found in found.flatten() {
            let name = format!("{prefix}{}", found.file_name().to_string_lossy());
            match found.file_type() {
                Ok(kind) if kind.is_file() => entries.push(ContainerEntry { name, body: Body::File(found.path()) }),
                Ok(kind) if kind.is_dir() && depth < MAX_FOLDER_DEPTH => folders.push((found.path(), format!("{name}/"), depth + 1)),
                _ => {}
            }
        }
        if entries.len() > MAX_ENTRIES {
            return Err(format!("is a folder of more than {MAX_ENTRIES} files; name the one that the backups are in"));
        }
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

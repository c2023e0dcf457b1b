//! Kinds and identities of files. Modes are those of the folder's access list, which this system has in their place.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// What stands between the names in a variable such as `PATH`, as names of files have colons.
pub(in crate::cli) const LIST_SEPARATOR: char = ';';

/// New files inherit who may read them from their folder.
pub(in crate::cli) fn with_mode(_builder: &mut tempfile::Builder<'_, '_>, _mode: u32) {}

/// Makes a file that must not exist yet.
pub(in crate::cli) fn create_new(path: &Path, _mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Who may read a file stays as its folder has it.
///
/// # Errors
/// There is none.
pub(in crate::cli) fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// There are no modes.
pub(in crate::cli) fn mode_if_public(_path: &Path) -> Option<u32> {
    None
}

/// Paths of files lead to no pipes or devices.
pub(in crate::cli) fn is_stream(_kind: FileType) -> bool {
    false
}

/// Whether two paths lead to one file, through symbolic links or other spellings. A hard link is another file here: replacing one leaves the other.
pub(in crate::cli) fn is_same(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// The file that standard input reads cannot be replaced while it is open.
pub(in crate::cli) fn is_standard_input(_path: &Path) -> bool {
    false
}

/// There is none: an index that is kept counts only where files have an owner.
pub(in crate::cli) fn cache_folder() -> Option<PathBuf> {
    None
}

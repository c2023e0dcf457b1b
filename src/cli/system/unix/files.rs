//! Modes, kinds and identities of files.

use std::fs::{self, File, FileType, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What stands between the names in a variable such as `PATH`.
pub(in crate::cli) const LIST_SEPARATOR: char = ':';

/// Gives the files that `builder` makes a mode; the process's umask goes off it.
pub(in crate::cli) fn with_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    builder.permissions(Permissions::from_mode(mode));
}

/// Makes a file that must not exist yet; the process's umask goes off its mode.
pub(in crate::cli) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Sets the mode of a file or directory.
pub(in crate::cli) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The mode of a file that every user can read.
pub(in crate::cli) fn mode_if_public(path: &Path) -> Option<u32> {
    const OTHERS_READ: u32 = 0o004;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & OTHERS_READ != 0).then_some(mode)
}

/// A pipe or a character device: written to as it is.
pub(in crate::cli) fn is_stream(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device()
}

/// Whether two paths lead to one file, through links of either sort.
pub(in crate::cli) fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// Whether a path leads to the file that standard input reads, as with `< snapshot.db`.
pub(in crate::cli) fn is_standard_input(path: &Path) -> bool {
    let stdin = io::stdin().as_fd().try_clone_to_owned().and_then(|stdin| File::from(stdin).metadata());
    matches!((stdin, fs::metadata(path)), (Ok(stdin), Ok(found)) if (stdin.dev(), stdin.ino()) == (found.dev(), found.ino()))
}

/// The folder of caches: `$XDG_CACHE_HOME`, or `~/.cache`.
pub(in crate::cli) fn cache_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

//! A recording's files on the disk. A recording may lie where others write: a file is opened only where it is a plain one, never through a symbolic
//! link, and nothing is removed that no recorder wrote.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use super::chunk;
#[cfg(test)]
use super::faults::meet;

/// What is done to a file that is written; a test can make each fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileStep {
    Create,
    Append,
    Shorten,
    Sync,
    Rename,
}

/// Without tests no step fails by itself.
#[cfg(not(test))]
fn meet(_step: FileStep, _file: &mut File, _bytes: &[u8]) -> io::Result<()> {
    Ok(())
}

/// Opens a plain file for reading; a pipe is not waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    open_plain(path, OpenOptions::new().read(true))
}

/// Opens a plain file that has no other name, to read it and write at its end.
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    let file = open_plain(path, private().read(true))?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) > 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file has another name too (a hard link), so it may be another's"));
    }
    Ok(file)
}

/// Opens the file that a recorder holds locked, and makes it if it is not there.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    open_plain(path, private().create(true))
}

/// Makes a file that must not be there yet.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut file = private().create_new(true).open(path)?;
    if let Err(error) = meet(FileStep::Create, &mut file, &[]) {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(file)
}

fn open_plain(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| match is_link(path) {
        true => io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, which is not followed"),
        false => error,
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file")),
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink())
}

/// Whether a plain file lies there.
pub(super) fn is_plain(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

/// The names in a directory. A recorder makes no name that is not text, so such names are left out.
pub(super) fn names(directory: &Path) -> io::Result<BTreeSet<String>> {
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Reads a plain file of at most `most` bytes.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, mut bytes) = (open(path)?, Vec::new());
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is larger than {most} bytes"))),
    }
}

/// Removes a file that a recorder wrote, which begins as its files do. Returns whether it is gone: another is left where it is.
pub(super) fn remove_own(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(false),
        Err(error) => return Err(error),
    };
    file.take(16).read_to_end(&mut beginning)?;
    let begins_as = |own: &[u8]| beginning.iter().zip(own).all(|(one, other)| one == other);
    if !begins_as(chunk::CHUNK_MAGIC) && !begins_as(br#"{"recording":{"#) {
        return Ok(false);
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(true),
    }
}

pub(super) fn append(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    meet(FileStep::Append, file, bytes)?;
    file.write_all(bytes)
}

/// Cuts off what lies behind `length`.
pub(super) fn shorten(file: &mut File, length: u64) -> io::Result<()> {
    meet(FileStep::Shorten, file, &[])?;
    file.set_len(length)
}

/// Waits until a file's bytes are on the disk.
pub(super) fn sync(file: &mut File) -> io::Result<()> {
    meet(FileStep::Sync, file, &[])?;
    file.sync_data()
}

/// Gives a file another name, once all of it is on the disk.
pub(super) fn rename(file: &mut File, from: &Path, to: &Path) -> io::Result<()> {
    file.sync_all()?;
    meet(FileStep::Rename, file, &[])?;
    fs::rename(from, to)
}

/// Waits until the names in a directory are on the disk.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Files are readable by their owner alone: they hold what etcd holds.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_opened_and_none_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("plain"), b"\x89ktc").unwrap();
        std::os::unix::fs::symlink(path("plain"), path("link")).unwrap();
        std::os::unix::fs::symlink(path("nothing"), path("dangling")).unwrap();
        fs::hard_link(path("plain"), path("other")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        assert!(open(&path("plain")).is_ok());
        for name in ["link", "dangling", "folder", "pipe"] {
            assert!(open(&path(name)).is_err() && open_lock(&path(name)).is_err() && open_to_append(&path(name)).is_err(), "{name}");
            assert!(!remove_own(&path(name)).unwrap(), "{name}");
        }
        assert!(!path("nothing").exists());
        assert!(open_to_append(&path("plain")).unwrap_err().to_string().contains("hard link"));
        fs::write(path("mine"), b"a letter").unwrap();
        assert!(!remove_own(&path("mine")).unwrap() && path("mine").exists());
        assert!(remove_own(&path("other")).unwrap() && remove_own(&path("plain")).unwrap() && !path("plain").exists());
    }

    #[test]
    fn a_file_is_read_up_to_a_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"12345").unwrap();
        assert_eq!(read(file.path(), 5).unwrap(), b"12345");
        assert!(read(file.path(), 4).is_err());
    }
}

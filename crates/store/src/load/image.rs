//! From a path to bytes: mapped, not read; copied where a running etcd owns the file; spooled where it is compressed or no plain file.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;

use super::Limits;
use super::mapped::map;
use super::spool::{self, Spooled};
use crate::{Error, Result};

/// A file's bytes, decompressed.
pub(super) struct Image {
    /// The bytes; a mapping, so that only what is looked at is ever in memory.
    pub bytes: Bytes,
    /// Whether a running etcd held the file, so that the bytes are a copy made while it may have been written.
    pub copied_while_open: bool,
    /// Why the bytes end early: a sentence, where compression could not be undone to its end.
    pub cut: Option<String>,
}

impl Image {
    /// Bytes as they are, decompressed if need be.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where nothing of them can be decompressed.
    pub(super) fn of_bytes(name: &str, bytes: Bytes, limits: &Limits) -> Result<Self> {
        let Spooled { bytes, cut } = spool::decompress(name, bytes, limits)?;
        Ok(Self { bytes, copied_while_open: false, cut })
    }
}

/// Opens `path` (`-`: standard input), whichever way it is compressed. A pipe is read to its end.
///
/// # Errors
///
/// [`Error::File`] where it cannot be read, [`Error::Format`] where nothing of it can be decompressed, or it is larger than `limits` allow.
pub(super) fn open(path: &str, limits: &Limits) -> Result<Image> {
    let file_error = |cause| Error::File { path: path.to_owned(), cause };
    let mut file = if path == "-" { standard_input() } else { File::open(path) }.map_err(file_error)?;
    let is_plain = file.metadata().map_err(file_error)?.is_file();
    if path == "-" || !is_plain {
        refuse_device(path, &file)?;
        let spooled = spool::stream(path, &mut file, limits)?;
        return Image::of_bytes(path, spooled, limits);
    }
    let copied_while_open = is_owned_by_etcd(&file);
    let file = if copied_while_open { copy_stable(&file).map_err(file_error)? } else { file };
    let image = Image::of_bytes(path, map(path, &file).map_err(file_error)?, limits)?;
    Ok(Image { copied_while_open, ..image })
}

#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(unix))]
fn standard_input() -> io::Result<File> {
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut copy)?;
    copy.seek(SeekFrom::Start(0))?;
    Ok(copy)
}

/// Devices other than a terminal hold no file, and some never end.
#[cfg(unix)]
fn refuse_device(path: &str, file: &File) -> Result<()> {
    use std::io::IsTerminal;
    use std::os::unix::fs::FileTypeExt;
    let file_type = file.metadata().map_err(|cause| Error::File { path: path.to_owned(), cause })?.file_type();
    if file_type.is_block_device() || (file_type.is_char_device() && !file.is_terminal()) {
        return Err(Error::Format { path: path.to_owned(), problem: "is a device, not a file; name a file or a pipe".to_owned() });
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_device(_path: &str, _file: &File) -> Result<()> {
    Ok(())
}

/// Whether a running etcd has locked the file. The lock is given back at once, as an etcd that starts would wait for it.
fn is_owned_by_etcd(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        // File systems without locks: the lock says nothing.
        Err(TryLockError::Error(_)) => false,
    }
}

/// Copies a file that is being written. etcd commits about every 100 ms and then uses the pages it freed two commits before, so a
/// copy during which no commit was seen is whole; after a few attempts the last copy is taken and what is torn shows as damage.
fn copy_stable(file: &File) -> io::Result<File> {
    const ATTEMPTS: usize = 5;
    let mut from = file;
    for attempt in 1.. {
        let before = meta_pages(file)?;
        let mut copy = tempfile::tempfile()?;
        from.seek(SeekFrom::Start(0))?;
        io::copy(&mut from, &mut copy)?;
        if attempt == ATTEMPTS || meta_pages(file)? == before {
            return Ok(copy);
        }
    }
    unreachable!("the loop ends with its last attempt")
}

/// The beginning of the file, which holds both meta pages whichever the page size is.
fn meta_pages(mut file: &File) -> io::Result<Vec<u8>> {
    let mut pages = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(2 * 65536).read_to_end(&mut pages)?;
    Ok(pages)
}

/// Whether `path` is a directory; false too where it cannot be looked at.
pub(super) fn is_directory(path: &str) -> bool {
    path != "-" && Path::new(path).is_dir()
}

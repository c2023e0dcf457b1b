//! From a path to bytes: mapped, not read; decompressed into an unlinked file where need be; copied where a running etcd owns the file.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use crate::store::{Error, Result};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A file's bytes, decompressed.
pub struct Image {
    /// The bytes; a mapping, so that only what is looked at is ever in memory.
    pub bytes: Bytes,
    /// Whether a running etcd held the file, so that the bytes are a copy made while it may have been written.
    pub copied_while_open: bool,
}

/// Opens `path` (`-`: standard input), whichever way it is compressed.
///
/// # Errors
///
/// [`Error::File`] where it cannot be read, [`Error::Format`] where its compression is damaged.
pub fn open(path: &str) -> Result<Image> {
    let file_error = |cause| Error::File { path: path.to_owned(), cause };
    let (file, copied_while_open) = if path == "-" {
        let mut spool = tempfile::tempfile().map_err(file_error)?;
        io::copy(&mut io::stdin().lock(), &mut spool).map_err(file_error)?;
        (spool, false)
    } else {
        let file = File::open(path).map_err(file_error)?;
        if is_owned_by_etcd(&file) { (copy_stable(&file).map_err(file_error)?, true) } else { (file, false) }
    };
    let bytes = decompress(path, map(&file).map_err(file_error)?)?;
    Ok(Image { bytes, copied_while_open })
}

/// Whether a running etcd has locked the file. The lock is given back at once, as an etcd that starts would wait for it.
fn is_owned_by_etcd(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        // File systems without locks: nothing can be told.
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

fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is read-only and private to us; every reader bounds-checks what it finds and tolerates bytes that
    // change. A file cut short while it is mapped would raise SIGBUS: etcd never shortens its database in place (a
    // defragmentation renames a new file over it), and a file that a running etcd owns is copied, not mapped.
    let map = unsafe { Mmap::map(file)? };
    Ok(Bytes::from_owner(map))
}

fn decompress(path: &str, bytes: Bytes) -> Result<Bytes> {
    if bytes.starts_with(GZIP) {
        spool(path, "gzip", flate2::read::MultiGzDecoder::new(&bytes[..]))
    } else if bytes.starts_with(ZSTD) {
        let decoder = zstd::stream::read::Decoder::with_buffer(&bytes[..]).map_err(|cause| Error::File { path: path.to_owned(), cause })?;
        spool(path, "zstd", decoder)
    } else {
        Ok(bytes)
    }
}

/// Decompresses into a file that has no name, so that a large database is never on the heap and nothing is left behind.
fn spool(path: &str, what: &str, mut decoder: impl Read) -> Result<Bytes> {
    let no_room = |cause: io::Error| Error::Format {
        path: path.to_owned(),
        problem: format!(
            "cannot be decompressed into {}: {cause}; point TMPDIR to a directory with more room",
            tempfile::env::temp_dir().display()
        ),
    };
    let mut file = tempfile::tempfile().map_err(no_room)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = match decoder.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => {
                return Err(Error::Format {
                    path: path.to_owned(),
                    problem: format!("its {what} compression is damaged or cut short ({cause}); copy the file again"),
                });
            }
        };
        file.write_all(&buffer[..read]).map_err(no_room)?;
    }
    map(&file).map_err(no_room)
}

/// Whether `path` is a directory; false too where it cannot be looked at.
pub fn is_directory(path: &str) -> bool {
    path != "-" && Path::new(path).is_dir()
}

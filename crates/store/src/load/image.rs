//! From a path to bytes: mapped, not read, even where a running etcd writes the file; spooled if it is compressed or not a plain file.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
#[cfg(not(unix))]
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::bolt::{Bolt, Live, looks_like_bolt};
use super::mapped::{map, map_lazily, map_with_room};
use super::opening::OpeningProgress;
use super::options::Reading;
use super::spool::{self, Spooled};
use crate::{Error, Result};

/// A file's bytes, decompressed.
pub(super) struct Image {
    /// The bytes; a mapping, so that only what is looked at is ever in memory.
    pub bytes: Bytes,
    /// The file, where a running etcd holds it: a database that may be written while it is read.
    pub live: Option<Arc<Live>>,
    /// Why the bytes end early: a sentence, where compression could not be undone to its end.
    pub cut: Option<String>,
    /// The SHA-256 of all but the last 32 bytes, where it was computed while they were unpacked.
    pub digest: Option<[u8; 32]>,
    /// Counts the pages of a database in it that are read.
    pub progress: OpeningProgress,
}

impl Image {
    pub(super) fn plain(bytes: Bytes) -> Self {
        Self { bytes, live: None, cut: None, digest: None, progress: OpeningProgress::default() }
    }

    /// Bytes as they are, decompressed if need be.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where nothing of them can be decompressed.
    pub(super) fn of_bytes(name: &str, bytes: Bytes, reading: &Reading<'_>) -> Result<Self> {
        let Spooled { bytes, cut, digest } = spool::decompress(name, bytes, reading)?;
        Ok(Self { bytes, live: None, cut, digest, progress: reading.limits.progress.clone() })
    }

    /// The database in it.
    ///
    /// # Errors
    ///
    /// A fragment that says why it cannot be read.
    pub(super) fn database(&self) -> std::result::Result<Bolt, String> {
        // A file that etcd itself could not read is damaged, even if a process has locked it.
        let live = self.live.as_ref().map(|live| Bolt::of_live(Arc::clone(live))).transpose()?.flatten();
        let bolt = live.map_or_else(|| Bolt::open(self.bytes.clone()), Ok)?;
        Ok(Bolt { progress: self.progress.clone(), ..bolt })
    }
}

/// Opens `path` (`-`: standard input), whichever way it is compressed. A pipe is read to its end.
///
/// # Errors
///
/// [`Error::File`] where it cannot be read, [`Error::Format`] where nothing of it can be decompressed, or it is larger than the limits allow.
pub(super) fn open(path: &str, reading: &Reading<'_>) -> Result<Image> {
    open_with(path, reading, map)
}

/// [`open`], where few pages will be read.
///
/// # Errors
///
/// As of [`open`].
pub(super) fn look(path: &str, reading: &Reading<'_>) -> Result<Image> {
    open_with(path, reading, map_lazily)
}

/// Opens a file that its program never compresses, such as a log: what it begins with does not make another thing of it.
///
/// # Errors
///
/// As of [`open`].
pub(super) fn open_plain(path: &str, reading: &Reading<'_>) -> Result<Image> {
    let file_error = |cause| Error::File { path: path.to_owned(), cause };
    let file = File::open(path).map_err(file_error)?;
    let metadata = file.metadata().map_err(file_error)?;
    if !metadata.is_file() {
        return open(path, reading);
    }
    reading.limits.budget().add_file(metadata.len());
    Ok(Image::plain(map(path, &file).map_err(file_error)?))
}

/// Opens a file, which its program never compresses, that another program may shorten meanwhile: it is read and not mapped, unless it is far larger
/// than such files are.
///
/// # Errors
///
/// As of [`open`].
#[cfg(feature = "kine")]
pub(super) fn open_copied(path: &str, reading: &Reading<'_>) -> Result<Image> {
    const MAX_COPIED_BYTES: u64 = 256 << 20;
    let file_error = |cause| Error::File { path: path.to_owned(), cause };
    let file = File::open(path).map_err(file_error)?;
    let metadata = file.metadata().map_err(file_error)?;
    if !metadata.is_file() || metadata.len() > MAX_COPIED_BYTES {
        return open_plain(path, reading);
    }
    let mut bytes = Vec::new();
    file.take(MAX_COPIED_BYTES).read_to_end(&mut bytes).map_err(file_error)?;
    Ok(Image::plain(bytes.into()))
}

/// Opens a log that may be written at its end; of one that a running etcd has locked, a copy, as etcd shortens a log's file when it begins the next.
/// Says whether it is one.
///
/// # Errors
///
/// As of [`open`].
pub(super) fn open_written(path: &str, reading: &Reading<'_>) -> Result<(Image, bool)> {
    let file_error = |cause| Error::File { path: path.to_owned(), cause };
    let mut file = File::open(path).map_err(file_error)?;
    if !file.metadata().map_err(file_error)?.is_file() || !is_owned_by_etcd(&file) {
        return open_plain(path, reading).map(|image| (image, false));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(file_error)?;
    Ok((Image::plain(bytes.into()), true))
}

fn open_with(path: &str, reading: &Reading<'_>, map: fn(&str, &File) -> io::Result<Bytes>) -> Result<Image> {
    let file_error = |cause| Error::File { path: path.to_owned(), cause };
    if path == "-" {
        return of_file(path, standard_input(reading)?, reading);
    }
    let mut file = File::open(path).map_err(file_error)?;
    let metadata = file.metadata().map_err(file_error)?;
    if metadata.is_file() {
        reading.limits.budget().add_file(metadata.len());
    } else {
        refuse_device(path, &file)?;
        let spooled = spool::stream(path, &mut file, reading)?;
        return Image::of_bytes(path, spooled, reading);
    }
    if is_owned_by_etcd(&file) {
        let bytes = map_with_room(path, &file, GROWTH_BYTES).map_err(file_error)?;
        let live = Live::new(path, file, bytes);
        let bytes = live.image().map_err(file_error)?;
        if looks_like_bolt(&bytes) {
            return Ok(Image { live: Some(Arc::new(live)), progress: reading.limits.progress.clone(), ..Image::plain(bytes) });
        }
        return Image::of_bytes(path, bytes, reading);
    }
    of_file(path, map(path, &file).map_err(file_error)?, reading)
}

/// The bytes of a file as they are, or what comes out of them, which may have been unpacked before.
fn of_file(path: &str, bytes: Bytes, reading: &Reading<'_>) -> Result<Image> {
    let finds = &reading.limits.finds;
    let found = finds.take(path);
    let Spooled { bytes, cut, digest } = found.map_or_else(|| spool::decompress(path, bytes, reading), Ok)?;
    finds.keep(path, || Spooled { bytes: bytes.clone(), cut: cut.clone(), digest });
    Ok(Image { bytes, live: None, cut, digest, progress: reading.limits.progress.clone() })
}

/// A database that is written may grow by so much while it is read.
const GROWTH_BYTES: usize = 1 << 30;

/// The bytes of standard input as they are, read to its end when they are first asked for.
///
/// # Errors
///
/// As of [`open`].
pub(super) fn standard_input(reading: &Reading<'_>) -> Result<Bytes> {
    const STDIN_NAME: &str = "-";
    let read = &reading.limits.standard_input.0;
    if let Some(bytes) = read.get() {
        return Ok(bytes.clone());
    }
    let mut file = standard_input_file().map_err(|cause| Error::File { path: STDIN_NAME.to_owned(), cause })?;
    refuse_device(STDIN_NAME, &file)?;
    let bytes = spool::stream(STDIN_NAME, &mut file, reading)?;
    Ok(read.get_or_init(|| bytes).clone())
}

#[cfg(unix)]
fn standard_input_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(unix))]
fn standard_input_file() -> io::Result<File> {
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
pub(super) fn is_owned_by_etcd(file: &File) -> bool {
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

/// No bytes, in the place of a file that is not there.
#[cfg(feature = "kine")]
pub(super) fn none() -> Image {
    Image::plain(Bytes::new())
}

/// Whether `path` is a directory; false too where it cannot be looked at.
pub(super) fn is_directory(path: &str) -> bool {
    path != "-" && Path::new(path).is_dir()
}

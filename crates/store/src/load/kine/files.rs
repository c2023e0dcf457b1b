//! The files of a kine database and their bytes: read where they lie, copied while a running k3s has them open, never written.
//!
//! SQLite itself would make a `-shm` file next to the database to read it, and write the log back when it closes it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::super::image::{self, Image};
use super::super::mapped::map;
use super::super::options::Reading;
use super::super::problem::LoadProblem;
use super::sqlite::LogIndex;
use crate::Error;

/// A database file, and its log.
pub(in super::super) struct Files {
    pub(super) file: Bytes,
    /// The log; empty if there is none.
    pub(super) log: Bytes,
    /// SQLite's index of the log; empty if there is none.
    pub(super) index: Bytes,
    /// Where a running k3s has them open, so that the log's end is being written: the index before the database was copied, and after.
    pub(super) open: Option<[Option<LogIndex>; 2]>,
    /// What is wrong with them, each a sentence.
    pub(super) problems: Vec<String>,
}

/// Where k3s keeps its database, from the directories that people name.
const DATABASE_PATHS: [&str; 4] = ["state.db", "db/state.db", "server/db/state.db", "k3s/server/db/state.db"];

/// The database in a directory of k3s.
pub(in super::super) fn in_directory(directory: &Path) -> Option<PathBuf> {
    let is_there = |place: &PathBuf| place.is_file() || beside(&place.to_string_lossy(), "-wal").is_file();
    DATABASE_PATHS.iter().map(|place| directory.join(place)).find(is_there)
}

fn beside(path: &str, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{path}{suffix}"))
}

/// The bytes that say whether a journal is to be rolled back.
const JOURNAL_MAGIC: usize = 8;

/// What is wrong with a database next to a journal with this beginning.
fn hot_journal(beginning: &[u8]) -> Option<String> {
    let is_hot = beginning.get(..JOURNAL_MAGIC).is_some_and(|magic| magic.iter().any(|&byte| byte != 0));
    is_hot.then(|| {
        "there is a rollback journal next to it, so its last transaction is unfinished and may never have been committed; kine does not use one"
            .to_owned()
    })
}

/// The first bytes of a plain file; none where there is no such file.
fn beginning(path: &Path, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _ = file.take(length as u64).read_to_end(&mut bytes);
    }
    bytes
}

impl Files {
    pub(in super::super) fn of_pair(file: Bytes, log: Bytes) -> Self {
        Self { file, log, index: Bytes::new(), open: None, problems: Vec::new() }
    }

    /// The bytes of one file: a database, or a log alone.
    pub(in super::super) fn of_bytes(bytes: Bytes, cut: Option<String>) -> Self {
        let (file, log) = if super::sqlite::is_log(&bytes) { (Bytes::new(), bytes) } else { (bytes, Bytes::new()) };
        Self { problems: cut.into_iter().collect(), ..Self::of_pair(file, log) }
    }

    /// The bytes of a database, and those of its log, of the index of that and of a rollback journal, as far as they are there. `problems` are
    /// what is wrong with how they lie in the archive.
    pub(in super::super) fn of_archive(file: Bytes, [log, index, journal]: [Option<Bytes>; 3], mut problems: Vec<String>) -> Self {
        let files = if super::sqlite::is_log(&file) { Self::of_bytes(file, None) } else { Self::of_pair(file, log.unwrap_or_default()) };
        problems.extend(journal.as_deref().and_then(hot_journal));
        Self { index: index.unwrap_or_default(), problems, ..files }
    }

    /// The file at `path`, which was opened as `image`, and the files that belong to it.
    pub(in super::super) fn with_log(path: &str, image: Image, reading: &Reading<'_>) -> Result<Self, LoadProblem> {
        let log = beside(path, "-wal");
        if path == "-" || super::sqlite::is_log(&image.bytes) {
            return Ok(Self::of_bytes(image.bytes, image.cut));
        }
        let mut files = match File::open(path) {
            Ok(file) if is_in_use(&file) => Self::copied(path, &file, &log)?,
            _ => {
                let image = if has_grown(path, &image) { image::open(path, reading)? } else { image };
                // Before the log, which may still grow: the index must not be ahead of it.
                let index = beginning(&beside(path, "-shm"), super::sqlite::INDEX_HEADER).into();
                let has_log = fs::metadata(&log).is_ok_and(|log| log.is_file() && log.len() > 0);
                let log = if has_log { image::open_plain(&log.to_string_lossy(), reading)? } else { image::none() };
                let problems = image.cut.into_iter().collect();
                Self { index, problems, ..Self::of_pair(image.bytes, log.bytes) }
            }
        };
        files.problems.extend(hot_journal(&beginning(&beside(path, "-journal"), JOURNAL_MAGIC)));
        Ok(files)
    }

    /// Copies files that are being written. A log is begun anew only when all of it was written back into the database, and then
    /// has another header: as long as the header stays, the log that is read after the database holds whatever changed in it meanwhile. A page that
    /// changed may be torn in the copy of the database, so that only the log's counts: `open` says which.
    fn copied(path: &str, file: &File, log: &Path) -> Result<Self, LoadProblem> {
        const MAX_COPY_ATTEMPTS: usize = 20;
        let failed = |cause| LoadProblem::Known(Error::File { path: path.to_owned(), cause });
        let index = || LogIndex::read(&beginning(&beside(path, "-shm"), super::sqlite::INDEX_HEADER));
        for _ in 0..MAX_COPY_ATTEMPTS {
            let (before, index_before) = (state(file, log).map_err(failed)?, index());
            let of_file = copy(path, file).map_err(failed)?;
            let open = Some([index_before, index()]);
            let of_log = File::open(log).and_then(|log| copy(path, &log)).unwrap_or_default();
            // Without a log two writes may bear one time.
            let is_same = || Ok(!before.0.is_empty() || copy(path, file)? == of_file);
            if state(file, log).map_err(failed)? == before && is_same().map_err(failed)? {
                return Ok(Self { open, ..Self::of_pair(of_file, of_log) });
            }
        }
        Err(LoadProblem::Format("is written by a running k3s faster than it can be copied; read it again, or stop k3s".to_owned()))
    }
}

/// Whether a plain database is longer than when it was mapped: k3s wrote its log back meanwhile and closed it.
fn has_grown(path: &str, image: &Image) -> bool {
    let is_plain = || beginning(Path::new(path), super::sqlite::SQLITE_MAGIC.len()) == super::sqlite::SQLITE_MAGIC;
    fs::metadata(path).is_ok_and(|now| now.len() > image.bytes.len() as u64) && is_plain()
}

/// What stays the same as long as the log is not begun anew: its header, and without one when the database was last written.
fn state(file: &File, log: &Path) -> io::Result<(Vec<u8>, Option<std::time::SystemTime>)> {
    const LOG_HEADER_BYTES: u64 = 32;
    let mut header = Vec::new();
    match File::open(log) {
        Ok(log) => drop(log.take(LOG_HEADER_BYTES).read_to_end(&mut header)?),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(cause),
    }
    let written = if header.is_empty() { Some(file.metadata()?.modified()?) } else { None };
    Ok((header, written))
}

fn copy(name: &str, mut from: &File) -> io::Result<Bytes> {
    let mut copy = tempfile::tempfile()?;
    from.seek(SeekFrom::Start(0))?;
    io::copy(&mut from, &mut copy)?;
    map(name, &copy)
}

/// Whether another process has the database open: in the mode of its log SQLite then holds a shared lock of these bytes.
#[cfg(unix)]
fn is_in_use(file: &File) -> bool {
    /// The bytes of the shared lock: `os_unix.c` of SQLite 3.51.
    const SHARED_LOCK_RANGE: (u64, u64) = (0x4000_0002, 510);
    use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};
    let lock = Flock {
        start: SHARED_LOCK_RANGE.0,
        length: SHARED_LOCK_RANGE.1,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    // File systems without locks tell nothing.
    fcntl_getlk(file, &lock).is_ok_and(|held| held.is_some())
}

#[cfg(not(unix))]
fn is_in_use(_file: &File) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Limits;

    #[test]
    fn a_database_that_grew_and_was_closed_since_it_was_mapped_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let name = path.to_str().unwrap();
        let pages = |count: usize| [super::super::sqlite::SQLITE_MAGIC, &vec![7; count * 4096 - 16][..]].concat();
        let limits = Limits::default();
        let reading = Reading { limits: &limits, may_be_known: |_| true };
        fs::write(&path, pages(2)).unwrap();
        let image = image::open(name, &reading).unwrap();
        fs::write(&path, pages(3)).unwrap();
        let files = Files::with_log(name, image, &reading).map_err(|_| "not read").unwrap();
        assert_eq!(files.file, pages(3));
    }
}

//! A snapshot (`src/fsm.c`): databases of SQLite one after another, before dqlite 1.17 each with its log; and the file that belongs to it
//! (`src/raft/uv_snapshot.c`).

use std::ops::Range;

use super::super::kine;
use super::checksum::crc32;
use super::words::text_at;
use crate::load::little_endian::u64_at;

const SNAPSHOT_FORMAT: u64 = 1;

/// More databases are in no snapshot.
const MAX_DATABASES: u64 = 1000;

pub(super) struct Database {
    pub name: String,
    /// Where it lies.
    pub file: Range<usize>,
    /// Where its log lies; empty where it has none.
    pub log: Range<usize>,
}

pub(super) struct DqliteSnapshot {
    pub databases: Vec<Database>,
    /// What is wrong with it, a fragment.
    pub problem: Option<String>,
}

/// Whether bytes begin as a snapshot does: with the name and the sizes of a database, and the database or its log.
pub(in super::super) fn begins_so(bytes: &[u8]) -> bool {
    let count = u64_at(bytes, 8).is_some_and(|count| (1..=MAX_DATABASES).contains(&count));
    let is_one = || {
        let (name, at) = text_at(bytes, 16)?;
        let (size, log) = (u64_at(bytes, at)?, u64_at(bytes, at + 8)?);
        let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic());
        let begins = if size > 0 { kine::is_database } else { kine::begins_log };
        Some(is_name && (size > 0 || log > 0) && begins(bytes.get(at + 16..)?))
    };
    u64_at(bytes, 0) == Some(SNAPSHOT_FORMAT) && count && is_one().unwrap_or(false)
}

impl DqliteSnapshot {
    /// Reads a snapshot, as far as it goes.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut snapshot = Self { databases: Vec::new(), problem: None };
        let count = u64_at(bytes, 8).filter(|count| u64_at(bytes, 0) == Some(SNAPSHOT_FORMAT) && *count <= MAX_DATABASES);
        let Some(count) = count else {
            snapshot.problem = Some("its header is damaged".to_owned());
            return snapshot;
        };
        let mut at = 16;
        for _ in 0..count {
            let Some((database, end)) = Database::read(bytes, at) else {
                snapshot.problem = Some(format!("its databases cannot be told apart from byte {at} on"));
                return snapshot;
            };
            snapshot.databases.push(database);
            if end > bytes.len() {
                snapshot.problem = Some(format!("it is cut short: {} of {end} bytes are there", bytes.len()));
                return snapshot;
            }
            at = end;
        }
        if at < bytes.len() {
            snapshot.problem = Some(format!("it has {} bytes that its sizes do not count", bytes.len() - at));
        }
        snapshot
    }

    /// The database that Kubernetes uses, by its name (k8s-dqlite 05f2aa5, `pkg/server`), or the only one.
    ///
    /// # Errors
    ///
    /// A fragment: there is none, or it is not clear which one.
    pub(super) fn into_database(self) -> Result<Database, String> {
        let count = self.databases.len();
        let is_meant = |database: &Database| count == 1 || database.name == "k8s";
        let none = || match count {
            0 => "it holds no database".to_owned(),
            _ => format!("it holds {count} databases, none of which is called k8s"),
        };
        self.databases.into_iter().find(is_meant).ok_or_else(|| self.problem.unwrap_or_else(none))
    }
}

impl Database {
    /// Reads the header of a database at `at`; returns it, clipped to what is there, and where it ends.
    fn read(bytes: &[u8], at: usize) -> Option<(Self, usize)> {
        let (name, at) = text_at(bytes, at)?;
        let size = |at| usize::try_from(u64_at(bytes, at)?).ok();
        let start = at.checked_add(16)?;
        let middle = start.checked_add(size(at)?)?;
        let end = middle.checked_add(size(at + 8)?)?;
        let there = |place: usize| place.min(bytes.len());
        let name = String::from_utf8_lossy(name).into_owned();
        Some((Self { name, file: there(start)..there(middle), log: there(middle)..there(end) }, end))
    }
}

/// How many nodes a snapshot's `.meta` says that the cluster has.
///
/// # Errors
///
/// A fragment: what is wrong with the file.
pub(super) fn nodes_of_meta(bytes: &[u8]) -> Result<u64, &'static str> {
    const HEADER_BYTES: usize = 32;
    let length = u64_at(bytes, 24).and_then(|length| usize::try_from(length).ok()).ok_or("it is cut short")?;
    let configuration = HEADER_BYTES.checked_add(length).and_then(|end| bytes.get(HEADER_BYTES..end)).ok_or("it is cut short")?;
    if u64_at(bytes, 0) != Some(SNAPSHOT_FORMAT)
        || u64_at(bytes, 8) != Some(crc32(configuration, crc32(&bytes[16..HEADER_BYTES], 0)).into())
    {
        return Err("its checksum does not match");
    }
    nodes(configuration).ok_or("it cannot be read")
}

/// How many nodes a configuration of raft has (`src/raft/configuration.c`).
pub(super) fn nodes(configuration: &[u8]) -> Option<u64> {
    (configuration.first() == Some(&1)).then(|| u64_at(configuration, 1)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of one page, and a log, under a name.
    fn database(name: &str, file: &[u8], log: &[u8]) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize((name.len() + 1).next_multiple_of(8), 0);
        for size in [file.len(), log.len()] {
            bytes.extend((size as u64).to_le_bytes());
        }
        [&bytes[..], file, log].concat()
    }

    fn snapshot(count: u64, databases: &[Vec<u8>]) -> Vec<u8> {
        [&SNAPSHOT_FORMAT.to_le_bytes()[..], &count.to_le_bytes(), &databases.concat()].concat()
    }

    fn sqlite() -> Vec<u8> {
        let mut page = b"SQLite format 3\0".to_vec();
        page.resize(512, 0);
        page
    }

    #[test]
    fn the_database_of_kubernetes_is_found_among_others() {
        let log = [0x37, 0x7f, 0x06, 0x82, 0, 0, 0, 0];
        let bytes = snapshot(2, &[database("other", &sqlite(), b""), database("k8s", &sqlite(), &log)]);
        assert!(begins_so(&bytes));
        let read = DqliteSnapshot::read(&bytes);
        assert_eq!(read.problem, None);
        let found = read.into_database().ok().unwrap();
        assert_eq!((&found.name[..], &bytes[found.file], &bytes[found.log]), ("k8s", &sqlite()[..], &log[..]));
        assert!(begins_so(&snapshot(1, &[database("k8s", b"", &log)])));
        let others = DqliteSnapshot::read(&snapshot(2, &[database("a", &sqlite(), b""), database("b", &sqlite(), b"")]));
        assert!(others.into_database().err().unwrap().contains("none of which is called k8s"));
    }

    #[test]
    fn sizes_and_counts_are_not_believed() {
        let whole = snapshot(1, &[database("k8s", &sqlite(), b"")]);
        for end in 0..whole.len() {
            assert!(DqliteSnapshot::read(&whole[..end]).problem.is_some(), "{end}");
        }
        for (at, number) in [(8, u64::MAX), (8, 1001), (8, 2), (24, u64::MAX), (24, 1 << 40), (32, u64::MAX), (32, 1), (24, 8)] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            let read = DqliteSnapshot::read(&bytes);
            assert!(read.problem.is_some(), "{at}: {number}");
            read.databases.iter().for_each(|database| assert!(database.file.end <= bytes.len() && database.log.end <= bytes.len()));
        }
        assert!(!begins_so(&[1, 0, 0, 0, 0, 0, 0, 0]) && !begins_so(b""));
    }
}

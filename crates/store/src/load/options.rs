//! The caller's options for reading files.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::budget::{Budget, FileLimits, Spent};
use super::opening::OpeningProgress;
use super::search_results::Finds;

/// Returns the registry key of an API object, for files that hold objects and not etcd's data; `None` where it has none.
pub type KeyOf<'a> = dyn Fn(&serde_json::Value) -> Option<Vec<u8>> + 'a;

/// How much a file may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most bytes that come out of compressed files and pipes, all of them at once.
    pub unpacked: u64,
    /// What they may take besides.
    pub bounds: FileLimits,
    /// What was taken so far: those who read for one command share it.
    pub spent: Spent,
    /// Where the indexes of large databases are kept; `None`: nowhere.
    pub cache: Option<Cache>,
    /// What was found already, where files are looked into before they are opened.
    pub finds: Finds,
    /// What came through standard input: those who read for one process share it.
    pub standard_input: StandardInput,
    /// Counts what was read of databases.
    pub progress: OpeningProgress,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unpacked: 16 << 30,
            bounds: FileLimits::default(),
            spent: Spent::default(),
            cache: None,
            finds: Finds::default(),
            standard_input: StandardInput::default(),
            progress: OpeningProgress::default(),
        }
    }
}

impl Limits {
    /// What may be taken, and what was.
    pub fn budget(&self) -> Budget {
        Budget::new(self.unpacked, self.bounds, self.spent.clone())
    }
}

/// What came through standard input, which can be read once. Clones share it.
#[derive(Clone, Default)]
pub struct StandardInput(pub(super) Arc<OnceLock<Bytes>>);

impl fmt::Debug for StandardInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StandardInput").field(&self.0.get().map(Bytes::len)).finish()
    }
}

/// Where indexes are kept, and of which files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The directory; it is made if need be, for its user alone.
    pub directory: PathBuf,
    /// The smallest file, in bytes, whose index is kept: smaller ones are read as quickly.
    pub smallest: u64,
}

/// How files are read: within limits, and which streams are worth reading to their end.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub limits: &'a Limits,
    /// Whether bytes that begin so may be of any format.
    pub may_be_known: fn(&[u8]) -> bool,
}

//! How long an API server may take, and how much it may send.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The bytes of one document: a page of objects of etcd's largest size is a sixth of it, where few are so large.
    pub document: usize,
    /// The bytes of all objects that the state of one moment holds.
    pub state: usize,
    /// How many pages of a list may be empty, one after another: some are where all objects of a page were deleted, or are of other users.
    pub empty_pages: u32,
    /// The versions of all groups.
    pub versions: usize,
    /// How long a server may send nothing, or less than `least` bytes, of a document that was asked for.
    pub quiet: Duration,
    pub least: usize,
    /// After how long a request is not made again that failed for a while, and how long a server may ask to wait with that.
    pub patience: Duration,
    pub longest_wait: Duration,
    /// The bytes of a line of a watch, and of all changes that wait for other watches: those of etcd's messages and revisions.
    pub line: usize,
    pub waiting: usize,
    /// How far the revisions of watches may be ahead of the newest that a list named.
    pub ahead: i64,
    /// How often, one after another, a watch may bring what cannot be, or end at once without anything.
    pub untrue: u32,
    pub empty_watches: u32,
    /// How often, one after another, all watches may be called expired though nothing came.
    pub expired: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document: 256 << 20,
            state: 1 << 30,
            empty_pages: 100,
            versions: 2000,
            quiet: Duration::from_secs(15),
            least: 4 << 10,
            patience: Duration::from_secs(15),
            longest_wait: Duration::from_secs(10),
            line: 64 << 20,
            waiting: 128 << 20,
            ahead: 10_000,
            untrue: 5,
            empty_watches: 30,
            expired: 10,
        }
    }
}

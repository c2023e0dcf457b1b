//! How much a bucket's server may send, and how long it may take.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many objects are listed: a prefix that has more is not one of backups.
    pub objects: usize,
    /// How long an answer may begin to come, and each part of it.
    pub patience: Duration,
}

/// The bytes of one page of a list: 1,000 names of 1,024 bytes, and what is said of each, take a tenth of it.
pub(super) const LONGEST_LIST: u64 = 16 << 20;

/// The bytes of an object's tags, of which there may be ten.
pub(super) const LONGEST_TAGS: usize = 64 << 10;

/// Parts of objects up to this size are asked for to have them in memory; longer ones are written as they come.
pub(super) const LONGEST_PART: u64 = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self { objects: 200_000, patience: Duration::from_secs(60) }
    }
}

//! How far a recording has come, in numbers.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ketcd_store::Revision;
use ketcd_store::recording::Recorded;

/// How far the recording has come, for those who show it.
pub(super) struct Shared {
    revision: AtomicI64,
    changes: AtomicU64,
    bytes: AtomicU64,
    files: AtomicU64,
    /// Revisions that were compacted before they could be read.
    pub(super) missing: AtomicU64,
    /// etcd's newest revision, as far as it is known.
    pub(super) newest: AtomicI64,
    /// When something was last recorded, in seconds since 1970.
    pub(super) flushed: AtomicU64,
}

impl Shared {
    /// Begins with what a recording holds already, and etcd's newest revision.
    pub(super) fn new(recorded: Recorded, newest: Revision) -> Self {
        let shared = Self {
            revision: AtomicI64::default(),
            changes: AtomicU64::default(),
            bytes: AtomicU64::default(),
            files: AtomicU64::default(),
            missing: AtomicU64::default(),
            newest: AtomicI64::new(newest.0),
            flushed: AtomicU64::default(),
        };
        shared.set(recorded);
        shared
    }

    pub(super) fn set(&self, recorded: Recorded) {
        let Recorded { revision, changes, bytes, files } = recorded;
        if self.revision.swap(revision.0, Ordering::Relaxed) != revision.0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
            self.flushed.store(now, Ordering::Relaxed);
        }
        self.newest.fetch_max(revision.0, Ordering::Relaxed);
        self.changes.store(changes, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        self.files.store(files as u64, Ordering::Relaxed);
    }

    pub(super) fn recorded(&self) -> Recorded {
        Recorded {
            revision: Revision(self.revision.load(Ordering::Relaxed)),
            changes: self.changes.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            files: self.files.load(Ordering::Relaxed) as usize,
        }
    }

    /// How many revisions etcd is ahead.
    pub(super) fn lag(&self) -> i64 {
        self.newest.load(Ordering::Relaxed) - self.revision.load(Ordering::Relaxed)
    }
}

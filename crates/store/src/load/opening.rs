//! How far the opening of databases came, to be shown while it lasts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes of databases whose pages were read while files are opened; by default nothing is counted.
#[derive(Clone, Debug, Default)]
pub struct OpeningProgress(Option<Arc<OpeningBytes>>);

#[derive(Debug, Default)]
struct OpeningBytes {
    done: AtomicU64,
    all: AtomicU64,
}

impl OpeningProgress {
    /// Begins to count.
    pub fn counting() -> Self {
        Self(Some(Arc::default()))
    }

    /// Returns how many bytes were read and how many there are in the databases that were begun; `None` before the first.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let bytes = self.0.as_ref()?;
        let all = bytes.all.load(Ordering::Relaxed);
        // A page of a file that is being written may be read several times.
        (all > 0).then(|| (bytes.done.load(Ordering::Relaxed).min(all), all))
    }

    /// A database of this many bytes is read from now on.
    pub(super) fn begin(&self, bytes: usize) {
        if let Some(known) = &self.0 {
            known.all.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Counts bytes of it that were read.
    pub(super) fn add(&self, bytes: usize) {
        if let Some(known) = &self.0 {
            known.done.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

//! Versions that are looked at together, on all cores: so many, and so many bytes of them, are in memory at once.

use ketcd_store::KeyValue;

use crate::cores::in_order;

/// How many versions are looked at together,
const MAX_VERSIONS: usize = 512;
/// and how many bytes of them.
const MAX_BYTES: usize = 4 << 20;
/// Fewer versions are not worth a thread.
const MIN_VERSIONS_PER_THREAD: usize = 16;

/// Versions on their way.
#[derive(Default)]
pub(super) struct Batch {
    versions: Vec<KeyValue>,
    bytes: usize,
}

impl Batch {
    /// Adds a version; returns whether the batch is full.
    pub(super) fn add(&mut self, version: KeyValue) -> bool {
        self.bytes += version.value.len();
        self.versions.push(version);
        self.bytes >= MAX_BYTES || self.versions.len() >= MAX_VERSIONS
    }

    /// Takes all versions with what `look` returns for each, in order.
    pub(super) fn look<T: Send>(&mut self, look: impl Fn(&KeyValue) -> T + Sync) -> Vec<(KeyValue, T)> {
        let versions = std::mem::take(&mut self.versions);
        self.bytes = 0;
        let looked = in_order(&versions, MIN_VERSIONS_PER_THREAD, look);
        versions.into_iter().zip(looked).collect()
    }
}

//! What is looked at together, on all cores: so many versions, and so many bytes of them, are in memory at once.

use crate::cores::in_order;

/// How many versions are looked at together,
const MAX_VERSIONS: usize = 512;
/// and how many bytes of them.
const MAX_BYTES: usize = 4 << 20;
/// Fewer versions are not worth a thread.
const MIN_VERSIONS_PER_THREAD: usize = 16;

/// Versions on their way.
pub(super) struct Batch<T> {
    items: Vec<T>,
    bytes: usize,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { items: Vec::new(), bytes: 0 }
    }
}

impl<T: Sync> Batch<T> {
    /// Adds what has a value of so many bytes; returns whether the batch is full.
    pub(super) fn add(&mut self, item: T, bytes: usize) -> bool {
        self.bytes += bytes;
        self.items.push(item);
        self.bytes >= MAX_BYTES || self.items.len() >= MAX_VERSIONS
    }

    /// Takes all of them with what `look` returns for each, in order.
    pub(super) fn look<R: Send>(&mut self, look: impl Fn(&T) -> R + Sync) -> Vec<(T, R)> {
        let items = std::mem::take(&mut self.items);
        self.bytes = 0;
        let looked = on_cores(&items, look);
        items.into_iter().zip(looked).collect()
    }
}

/// Makes something of each version on all cores, in order.
pub(super) fn on_cores<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    in_order(items, MIN_VERSIONS_PER_THREAD, make)
}

//! Reads that some sources answer at less cost than by ranges and watches.

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, TryStreamExt};

use super::{At, Generations, KeyHistory, KeyRange, KeyValue, Listing, Result, Revision, Source, Until, Want, WatchItem};

/// Reads that a source may answer at less cost than by [`Source::range`] and [`Source::watch`]. A source without faster ways says so:
/// `impl NoShortcuts for X {}`.
pub trait Shortcuts {
    /// Returns the first keys of `keys` alive at `at`, no more than `most`.
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>>;

    /// Returns how many keys are alive at `at`.
    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>>;

    /// Returns every change of some ranges, as [`Source::watch`] does of one. Changes of keys between them may come with them.
    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>>;

    /// Returns what became of one key up to revision `until`, at the cost of its own versions. A source that cannot search every revision for its
    /// generations looks where `generations` says.
    fn key_history(&self, key: Vec<u8>, until: Revision, generations: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>>;
}

/// A source whose ranges and watches are as fast as it gets: its [`Shortcuts`] are made of them.
pub trait NoShortcuts: Source {}

impl<S: NoShortcuts> Shortcuts for S {
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        Box::pin(async move {
            let Listing { entries, .. } = self.range(keys, at, want).await?;
            futures_util::StreamExt::take(entries, most).try_collect().await
        })
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            let listing = self.range(keys, at, Want::Keys).await?;
            listing.entries.try_fold(0, |count, _| std::future::ready(Ok(count + 1))).await
        })
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.watch(KeyRange::hull(&ranges), from, until)
    }

    fn key_history(&self, key: Vec<u8>, until: Revision, _: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        let items = self.watch(KeyRange::key(key), Revision(1), Until::Revision(until));
        Box::pin(std::future::ready(Ok(KeyHistory { items, unsearched: None })))
    }
}

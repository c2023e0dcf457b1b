//! A source that many questions read at a time, each until nobody waits for it.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use ketcd_store::{
    At, Facts, Generations, KeyHistory, KeyRange, KeyValue, Listing, Result, Revision, RevisionSpan, Shortcuts, Source, SourceStatus,
    Until, Want, WatchItem,
};

/// Whether nobody waits for an answer any more.
#[derive(Clone, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Nobody waits from now on.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn until<'a, T: Send + 'a>(&self, stream: BoxStream<'a, T>) -> BoxStream<'a, T> {
        let abandoned = self.0.clone();
        stream.take_while(move |_| ready(!abandoned.load(Ordering::Relaxed))).boxed()
    }
}

/// A source of one question.
pub(crate) struct Shared {
    inner: Arc<dyn Source>,
    abandoned: Abandoned,
}

impl Shared {
    /// Reads `inner` as long as somebody waits.
    pub(crate) fn new(inner: Arc<dyn Source>, abandoned: Abandoned) -> Self {
        Self { inner, abandoned }
    }
}

impl Source for Shared {
    fn facts(&self) -> Facts<'_> {
        self.inner.facts()
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        self.inner.status()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        self.inner.span()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        Box::pin(async move {
            let Listing { revision, entries } = self.inner.range(keys, at, want).await?;
            Ok(Listing { revision, entries: self.abandoned.until(entries) })
        })
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.abandoned.until(self.inner.watch(keys, from, until))
    }
}

impl Shortcuts for Shared {
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        self.inner.first(keys, at, want, most)
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        self.inner.count(keys, at)
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.abandoned.until(self.inner.watch_ranges(ranges, from, until))
    }

    fn key_history(&self, key: Vec<u8>, until: Revision, generations: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        Box::pin(async move {
            let KeyHistory { items, unsearched } = self.inner.key_history(key, until, generations).await?;
            Ok(KeyHistory { items: self.abandoned.until(items), unsearched })
        })
    }
}

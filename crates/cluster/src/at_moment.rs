//! The same cluster at another moment: over the source it was opened with, and with what is known of its times and its logs.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tokio::sync::OnceCell;

use ketcd_store::{
    At, Facts, Generations, KeyHistory, KeyRange, KeyValue, Listing, Result, Revision, RevisionSpan, Shortcuts, Source, SourceStatus,
    Until, Want, WatchItem,
};

use crate::clock::dates::Dates;
use crate::cluster::Cluster;
use crate::notice::Notices;
use crate::options::Options;

/// The source of a cluster, which is looked at elsewhere too.
struct Shared(Arc<Cluster>);

impl Cluster {
    /// Returns the cluster as it is at a revision: every question is answered as of then. Notices about its answers go nowhere.
    #[must_use]
    pub fn at_moment(self: &Arc<Self>, at: At) -> Self {
        self.again(at, Arc::clone(&self.dates))
    }

    /// The same where the source has gone on since its times were read: they are read again.
    #[must_use]
    pub fn anew(self: &Arc<Self>, at: At) -> Self {
        self.again(at, Arc::default())
    }

    fn again(self: &Arc<Self>, at: At, dates: Arc<Dates>) -> Self {
        let options = Options { at, moment: None, since: None, notices: Notices::default(), ..self.options.clone() };
        let mut cluster = Self::new(Box::new(Shared(Arc::clone(self))), options);
        cluster.release_evidence = self.release_evidence.clone();
        cluster.decoder = self.decoder.clone();
        cluster.reporting_decoder = self.decoder.clone().with_observer(Some(cluster.problems.clone()));
        cluster.prefix = OnceCell::new_with(self.prefix.get().cloned());
        cluster.audit = Arc::clone(&self.audit);
        cluster.dates = dates;
        cluster
    }
}

impl Source for Shared {
    fn facts(&self) -> Facts<'_> {
        self.0.source.facts()
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        self.0.source.status()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        self.0.source.span()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        self.0.source.range(keys, at, want)
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.0.source.watch(keys, from, until)
    }
}

impl Shortcuts for Shared {
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        self.0.source.first(keys, at, want, most)
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        self.0.source.count(keys, at)
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.0.source.watch_ranges(ranges, from, until)
    }

    fn key_history(&self, key: Vec<u8>, until: Revision, generations: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        self.0.source.key_history(key, until, generations)
    }
}

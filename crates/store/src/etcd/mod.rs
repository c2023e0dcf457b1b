//! A live etcd, read over gRPC. Only the six calls of `calls` are ever made: KV.Range, KV.RangeStream, Watch.Watch, Maintenance.Status,
//! Maintenance.HashKV (whether members hold the same data, which no other read shows) and, where a user is given, Auth.Authenticate; nothing here can
//! write.

mod answer;
mod arrivals;
mod assemble;
mod calls;
mod client;
mod config;
mod connector;
mod endpoint;
mod errors;
mod fetch;
mod hashes;
mod head;
mod identity;
mod key_history;
mod member;
mod member_status;
mod pacer;
mod page;
mod parts;
mod probe;
mod range;
mod read_ahead;
mod rights;
mod span;
mod status;
mod tls;
mod tls_errors;
mod trouble;
mod watch;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tokio::time::Instant;

use crate::{
    At, EarlierRevisions, Facts, Generations, HistoryKind, KeyHistory, KeyRange, KeyValue, Listing, LiveEtcd, MemberHashes, Result,
    Revision, RevisionSpan, Shortcuts, Source, SourceStatus, Until, Want, WatchItem, Withheld,
};
use client::Cluster;

pub use assemble::LARGEST_REVISION;
pub use client::Reporter;
pub use config::{EtcdConfig, LARGEST_MESSAGE, Password, ReadConsistency};
pub use endpoint::refuse_credentials;
pub use pacer::REQUESTS_A_SECOND;
pub use rights::grant_command;

/// A running etcd cluster behind [`Source`].
pub struct EtcdSource {
    cluster: Arc<Cluster>,
}

impl EtcdSource {
    /// Reads the certificates and endpoints of `config`; the first connection is made by the first question. Must be called on a tokio
    /// runtime. `notice` receives one sentence for each thing the user should know while a request is still running.
    ///
    /// # Errors
    /// An endpoint is invalid, or a certificate or key cannot be used.
    pub fn new(config: EtcdConfig, notice: Reporter) -> Result<Self> {
        Ok(Self { cluster: Arc::new(Cluster::new(config, notice)?) })
    }
}

impl Source for EtcdSource {
    fn facts(&self) -> Facts<'_> {
        Facts {
            history: HistoryKind::Changes,
            earlier: EarlierRevisions::Compacted,
            withheld: Withheld::default(),
            has_all_keys: true,
            damage: &[],
            left_out: &[],
            companions: &[],
            late_damage: None,
            before: None,
            arrivals: None,
            log: None,
            live: Some(self),
        }
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        Box::pin(status::status(&self.cluster))
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        Box::pin(span::span(&self.cluster))
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        Box::pin(async move { range::range(&self.cluster, keys, at, want).await })
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        watch::watch(Arc::clone(&self.cluster), keys, from, until)
    }
}

impl Shortcuts for EtcdSource {
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        Box::pin(async move { range::first(&self.cluster, &keys, at, want, most).await })
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move { range::count(&self.cluster, &keys, at).await })
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        watch::watch_ranges(Arc::clone(&self.cluster), ranges, from, until)
    }

    fn key_history(&self, key: Vec<u8>, until: Revision, generations: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        Box::pin(async move { key_history::key_history(&self.cluster, key, until, generations).await })
    }
}

impl LiveEtcd for EtcdSource {
    fn member(&self) -> Option<String> {
        Some(self.cluster.preferred().endpoint.url())
    }

    fn latest_delay(&self, revision: Revision) -> Option<Duration> {
        self.cluster.arrivals.latest_delay(revision, Instant::now())
    }

    fn hashes<'s>(&'s self, status: &'s SourceStatus) -> BoxFuture<'s, Option<MemberHashes>> {
        Box::pin(hashes::hashes(&self.cluster, status))
    }

    fn bounded_watch_reads(&self, keys: KeyRange) -> BoxFuture<'_, Result<KeyRange>> {
        Box::pin(async move { self.cluster.bounded_watch_reads(keys).await })
    }

    fn serves_watches(&self) -> BoxFuture<'_, bool> {
        Box::pin(self.cluster.serves_watches())
    }

    fn will_read(&self, keys: &KeyRange) {
        self.cluster.will_read(keys);
    }
}

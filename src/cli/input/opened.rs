//! A source that is open already, for many questions: a server opens what the flags name once.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use jiff::Timestamp;

use ketcd_cluster::LogNotes;
use ketcd_store::load::AuditLogs;
use ketcd_store::{
    At, Facts, Generations, KeyHistory, KeyRange, KeyValue, Listing, Result, Revision, RevisionSpan, Shortcuts, Source, SourceStatus,
    Until, Want, WatchItem,
};

/// The source, with what was found when it was opened.
#[derive(Clone)]
pub(in crate::cli) struct OpenedSource(Arc<OpenedInput>);

struct OpenedInput {
    source: Box<dyn Source>,
    newest_stamp: Option<Timestamp>,
    logs: (AuditLogs, Option<LogNotes>),
}

impl fmt::Debug for OpenedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenedSource")
    }
}

impl OpenedSource {
    /// Keeps a source open.
    pub(in crate::cli) fn new(source: Box<dyn Source>, newest_stamp: Option<Timestamp>, logs: (AuditLogs, Option<LogNotes>)) -> Self {
        Self(Arc::new(OpenedInput { source, newest_stamp, logs }))
    }

    /// How many hold it.
    #[cfg(test)]
    pub(in crate::cli) fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// The newest time in files of objects.
    pub(in crate::cli) fn newest_stamp(&self) -> Option<Timestamp> {
        self.0.newest_stamp
    }

    /// The audit logs, and what they leave out where the source is made of them.
    pub(in crate::cli) fn logs(&self) -> (AuditLogs, Option<LogNotes>) {
        self.0.logs.clone()
    }
}

impl Source for OpenedSource {
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

impl Shortcuts for OpenedSource {
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

//! An interruptible source: what is read of it is counted, and Ctrl-C ends the reading.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use tokio::sync::Notify;

use ketcd_store::{
    At, Error, Facts, Generations, KeyHistory, KeyRange, KeyValue, Listing, Result, Revision, RevisionSpan, Shortcuts, Source,
    SourceStatus, Until, Want, WatchItem,
};

use crate::cli::output::progress;
use crate::cli::system::{closed, interrupts};

/// Ctrl-C, seen by all who read.
#[derive(Clone, Default)]
pub(in crate::cli) struct Interrupt(Arc<InterruptedSource>);

#[derive(Default)]
struct InterruptedSource {
    is_set: AtomicBool,
    /// Whether nobody reads what is printed any more.
    is_closed: AtomicBool,
    notify: Notify,
}

impl Interrupt {
    /// Waits for Ctrl-C from now on: the first ends the reading, and what was found is shown; the next ends the process. Must be called on a
    /// tokio runtime.
    pub(in crate::cli) fn listen(&self) {
        interrupts::take_over();
        let interrupt = self.clone();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                progress::end();
                if interrupt.0.is_set.swap(true, Ordering::SeqCst) {
                    std::process::exit(130);
                }
                interrupt.0.notify.notify_waiters();
            }
        });
    }

    /// Ends the reading too when the pipe is closed that standard output is, from now on. Must be called on a tokio runtime.
    pub(in crate::cli) fn end_with_pipe(&self) {
        let interrupt = self.clone();
        tokio::spawn(async move {
            closed::standard_output().await;
            interrupt.0.is_closed.store(true, Ordering::SeqCst);
            interrupt.end();
        });
    }

    /// Ends the reading, as Ctrl-C would: nobody waits for it any more.
    pub(in crate::cli) fn end(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// Whether nobody reads what is printed any more.
    pub(in crate::cli) fn is_closed(&self) -> bool {
        self.0.is_closed.load(Ordering::SeqCst)
    }

    pub(in crate::cli) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::SeqCst)
    }

    async fn wait(&self) {
        let notified = self.0.notify.notified();
        if !self.is_set() {
            notified.await;
        }
    }

    async fn or_end<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.wait() => Err(Error::Interrupted),
        }
    }

    fn until<'a, T: Send + 'a>(&self, stream: BoxStream<'a, T>) -> BoxStream<'a, T> {
        let (interrupt, flag) = (self.clone(), self.clone());
        // A stream that never waits does not see who wakes it.
        let stream = stream.take_while(move |_| std::future::ready(!flag.is_set()));
        stream.take_until(Box::pin(async move { interrupt.wait().await })).boxed()
    }
}

pub(in crate::cli) struct Interruptible {
    inner: Box<dyn Source>,
    interrupt: Interrupt,
}

impl Interruptible {
    /// Reads `inner` until an interrupt comes.
    pub(in crate::cli) fn new(inner: Box<dyn Source>, interrupt: Interrupt) -> Self {
        Self { inner, interrupt }
    }

    fn counted<'a>(&self, items: BoxStream<'a, Result<WatchItem>>) -> BoxStream<'a, Result<WatchItem>> {
        let items = items.inspect_ok(|item| {
            if let WatchItem::Event(event) = item {
                progress::count(event.key_value.value.len(), Some(event.revision));
            }
        });
        self.interrupt.until(items.boxed())
    }
}

/// Says where a walk ends that ends somewhere.
fn begin_walk(from: Revision, until: Until) {
    if let Until::Revision(to) = until {
        progress::walk(from, to);
    }
}

impl Source for Interruptible {
    fn facts(&self) -> Facts<'_> {
        self.inner.facts()
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        Box::pin(self.interrupt.or_end(self.inner.status()))
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        Box::pin(self.interrupt.or_end(self.inner.span()))
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        Box::pin(async move {
            let Listing { revision, entries } = self.interrupt.or_end(self.inner.range(keys, at, want)).await?;
            let entries = entries.inspect_ok(|entry| progress::count(entry.value.len(), None)).boxed();
            Ok(Listing { revision, entries: self.interrupt.until(entries) })
        })
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        begin_walk(from, until);
        self.counted(self.inner.watch(keys, from, until))
    }
}

impl Shortcuts for Interruptible {
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        Box::pin(self.interrupt.or_end(self.inner.first(keys, at, want, most)))
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.interrupt.or_end(self.inner.count(keys, at)))
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        begin_walk(from, until);
        self.counted(self.inner.watch_ranges(ranges, from, until))
    }

    fn key_history(&self, key: Vec<u8>, until: Revision, generations: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        Box::pin(async move {
            let KeyHistory { items, unsearched } = self.interrupt.or_end(self.inner.key_history(key, until, generations)).await?;
            Ok(KeyHistory { items: self.counted(items), unsearched })
        })
    }
}

#[cfg(test)]
mod tests {
    use ketcd_store::etcd::{EtcdConfig, EtcdSource};

    use super::*;

    #[tokio::test]
    async fn an_interruptible_etcd_is_still_a_live_one() {
        let config = EtcdConfig { endpoints: vec!["http://127.0.0.1:1".to_owned()], ..EtcdConfig::default() };
        let etcd = EtcdSource::new(config, std::sync::Arc::new(|_| ())).unwrap();
        let interruptible: Box<dyn Source> = Box::new(Interruptible::new(Box::new(etcd), Interrupt::default()));
        assert!(interruptible.is_shared() && interruptible.member().is_some());
    }
}

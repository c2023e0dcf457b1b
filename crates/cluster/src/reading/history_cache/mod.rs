//! A live etcd whose history is read once: what one pass over it brought answers every later read of the same revisions.
//!
//! The clock of a short history reads all of its changes. A question that goes through the history again, or asks for a state of the past, is answered
//! from what that pass brought; so is one for the newest revision, which stays the last of the pass. A pass that was refused, that a compaction
//! interrupted, or that brought too many bytes is not kept: then each question reads for itself.

mod history;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_stream::try_stream;
use futures_util::future::{BoxFuture, FutureExt, ready};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};

use ketcd_store::{
    At, Facts, Generations, KeyHistory, KeyRange, KeyValue, Listing, Result, Revision, RevisionSpan, Shortcuts, Source, SourceStatus,
    Until, Want, WatchItem,
};

use history::{CachedHistory, CachedState, WatchedItems};

pub use history::MAX_KEPT_BYTES;

/// The one pass over a live history. Nothing is kept until a question wants that.
#[derive(Clone, Default)]
pub(crate) struct HistoryPass(Arc<Mutex<PassState>>);

/// How far the pass has come.
#[derive(Default)]
enum PassState {
    /// Each question reads for itself.
    #[default]
    Unwanted,
    /// The next pass is kept, with the state before it as soon as that was read.
    Wanted(Option<CachedState>),
    Kept(Arc<CachedHistory>),
}

impl HistoryPass {
    /// Keeps the next pass over the whole history.
    pub(crate) fn want(&self) {
        let mut pass = self.pass();
        if matches!(*pass, PassState::Unwanted) {
            *pass = PassState::Wanted(None);
        }
    }

    /// Whether the whole history was read: every key may be read then.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept().is_some()
    }

    fn pass(&self) -> MutexGuard<'_, PassState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> Option<Arc<CachedHistory>> {
        if let PassState::Kept(kept) = &*self.pass() { Some(Arc::clone(kept)) } else { None }
    }

    /// Whether the next pass over the whole history is kept.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(*self.pass(), PassState::Wanted(_))
    }

    fn keep_state(&self, state: CachedState) {
        if let PassState::Wanted(before) = &mut *self.pass() {
            *before = Some(state);
        }
    }

    fn keep(&self, gathered: WatchedItems, newest: Revision) {
        let mut pass = self.pass();
        if let PassState::Wanted(before) = &mut *pass
            && let Some(kept) = CachedHistory::new(gathered, newest, before.take())
        {
            *pass = PassState::Kept(Arc::new(kept));
        }
    }

    /// Keeps nothing any more: from now on the newest revision moves on.
    fn end(&self) {
        *self.pass() = PassState::Unwanted;
    }
}

/// A live etcd and what is kept of it.
pub(crate) struct HistoryCache {
    etcd: Box<dyn Source>,
    pass: HistoryPass,
}

impl HistoryCache {
    /// Returns a source with a pass in front of it, where it is a live etcd alone; any other as it is.
    pub(crate) fn before(source: Box<dyn Source>, pass: &HistoryPass) -> Box<dyn Source> {
        let facts = source.facts();
        // Files that are read together with an etcd have damage, and versions that no state shows.
        match facts.live.is_some() && facts.late_damage.is_none() {
            true => Box::new(Self { etcd: source, pass: pass.clone() }),
            false => source,
        }
    }

    /// The keys alive at a revision, and that revision, where the pass brought them.
    fn state(&self, keys: &KeyRange, at: At, want: Want) -> Option<(Revision, Vec<KeyValue>)> {
        self.pass.kept()?.state(keys, at, want)
    }

    /// The changes up to a revision, where the pass brought them.
    fn changes(&self, ranges: &[KeyRange], from: Revision, until: Until) -> Option<BoxStream<'static, Result<WatchItem>>> {
        let Until::Revision(to) = until else { return None };
        let items = self.pass.kept()?.changes(ranges, from, to)?;
        Some(stream::iter(items.into_iter().map(Ok)).boxed())
    }

    /// A watch of etcd; its items are kept if it is the pass.
    fn watched<'a>(
        &'a self,
        ranges: &[KeyRange],
        from: Revision,
        until: Until,
        items: impl FnOnce(&'a dyn Source) -> BoxStream<'a, Result<WatchItem>>,
    ) -> BoxStream<'a, Result<WatchItem>> {
        if until == Until::Forever {
            self.pass.end();
        }
        if let Some(kept) = self.changes(ranges, from, until) {
            return kept;
        }
        let items = items(&*self.etcd);
        match until {
            Until::Revision(newest) if from <= Revision(1) && *ranges == [KeyRange::all()] && self.pass.is_wanted() => {
                self.keeping(items, newest)
            }
            _ => items,
        }
    }

    fn keeping<'a>(&'a self, mut items: BoxStream<'a, Result<WatchItem>>, newest: Revision) -> BoxStream<'a, Result<WatchItem>> {
        let mut gathered = WatchedItems::default();
        Box::pin(try_stream! {
            while let Some(item) = items.try_next().await? {
                gathered.add(&item);
                yield item;
            }
            self.pass.keep(gathered, newest);
        })
    }

    fn keeping_state<'a>(&'a self, mut entries: BoxStream<'a, Result<KeyValue>>, at: Revision) -> BoxStream<'a, Result<KeyValue>> {
        let mut state = CachedState::at(at);
        Box::pin(try_stream! {
            while let Some(entry) = entries.try_next().await? {
                state.add(&entry);
                yield entry;
            }
            self.pass.keep_state(state);
        })
    }
}

impl Source for HistoryCache {
    fn facts(&self) -> Facts<'_> {
        self.etcd.facts()
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        self.etcd.status()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        match self.pass.kept() {
            Some(kept) => ready(Ok(kept.span())).boxed(),
            None => self.etcd.span(),
        }
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        if let Some((revision, entries)) = self.state(&keys, at, want) {
            return ready(Ok(Listing { revision, entries: stream::iter(entries.into_iter().map(Ok)).boxed() })).boxed();
        }
        match at {
            At::Revision(revision) if want == Want::Values && keys == KeyRange::all() && self.pass.is_wanted() => Box::pin(async move {
                let listing = self.etcd.range(keys, at, want).await?;
                Ok(Listing { entries: self.keeping_state(listing.entries, revision), ..listing })
            }),
            _ => self.etcd.range(keys, at, want),
        }
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.watched(std::slice::from_ref(&keys), from, until, |etcd| etcd.watch(keys.clone(), from, until))
    }
}

impl Shortcuts for HistoryCache {
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        match self.state(&keys, at, want) {
            Some((_, mut entries)) => {
                entries.truncate(most);
                ready(Ok(entries)).boxed()
            }
            None => self.etcd.first(keys, at, want, most),
        }
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        match self.state(&keys, at, Want::Keys) {
            Some((_, entries)) => ready(Ok(entries.len() as u64)).boxed(),
            None => self.etcd.count(keys, at),
        }
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.watched(&ranges.clone(), from, until, move |etcd| etcd.watch_ranges(ranges, from, until))
    }

    fn key_history(&self, key: Vec<u8>, until: Revision, generations: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        match self.changes(&[KeyRange::key(&key[..])], Revision(1), Until::Revision(until)) {
            Some(items) => ready(Ok(KeyHistory::of(items))).boxed(),
            None => self.etcd.key_history(key, until, generations),
        }
    }
}

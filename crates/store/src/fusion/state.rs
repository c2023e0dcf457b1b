//! The keys alive at a revision, from the source that knows them best.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_stream::try_stream;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::Fused;
use super::lineage::events;
use super::part::PartState;
use crate::{At, EarlierRevisions, Error, EventKind, KeyRange, KeyValue, Listing, Origin, Result, Revision, Source, SourceKind, Want};

/// Where a state is read.
enum StatePlace<'a> {
    Live(&'a dyn Source),
    /// A file, and its number.
    File(usize, Arc<dyn Source>, Revision),
}

impl Fused {
    pub(super) async fn state(&self, keys: KeyRange, at: At, want: Want) -> Result<Listing<'_>> {
        match self.place(at).await? {
            StatePlace::Live(live) => live.range(keys, at, want).await,
            StatePlace::File(number, source, revision) if self.parts[number].is_damaged() => {
                let entries = self.mended(number, source, keys, revision, want).await?;
                Ok(Listing { revision, entries: stream::iter(entries.into_iter().map(Ok)).boxed() })
            }
            StatePlace::File(_, source, revision) => Ok(Listing { revision, entries: owned_range(source, keys, revision, want) }),
        }
    }

    pub(super) async fn first_of_state(&self, keys: KeyRange, at: At, want: Want, most: usize) -> Result<Vec<KeyValue>> {
        match self.place(at).await? {
            StatePlace::Live(live) => live.first(keys, at, want, most).await,
            StatePlace::File(..) => self.state(keys, at, want).await?.entries.take(most).try_collect().await,
        }
    }

    pub(super) async fn count_of_state(&self, keys: KeyRange, at: At) -> Result<u64> {
        match self.place(at).await? {
            StatePlace::Live(live) => live.count(keys, at).await,
            StatePlace::File(..) => {
                self.state(keys, at, Want::Keys).await?.entries.try_fold(0, |count, _| async move { Ok(count + 1) }).await
            }
        }
    }

    async fn place(&self, at: At) -> Result<StatePlace<'_>> {
        let newest = self.span_of_files().newest;
        let live = match &self.live {
            Some(live) => Some(live.checked(self).await?),
            None => None,
        };
        match (at, live) {
            (At::Newest, Some(live)) => return Ok(StatePlace::Live(live)),
            (At::Revision(asked), Some(live)) if asked > newest && live.span().await?.oldest <= asked => return Ok(StatePlace::Live(live)),
            _ => {}
        }
        let asked = match at {
            At::Newest => newest,
            At::Revision(asked) => asked,
        };
        if let Some((number, source)) = self.file_at(asked).await? {
            return Ok(StatePlace::File(number, source, asked));
        }
        match live {
            Some(live) if live.span().await?.oldest <= asked => Ok(StatePlace::Live(live)),
            _ => Err(self.unreadable(asked, live).await?),
        }
    }

    /// The file to read a revision from: a sound one, if there is one, and of several one that is open.
    async fn file_at(&self, asked: Revision) -> Result<Option<(usize, Arc<dyn Source>)>> {
        let opened: Vec<usize> = self.pool.opened().into_iter().map(|(number, _)| number).collect();
        let cost = |number: usize| match self.parts[number].held {
            PartState::Open(_) => 0,
            PartState::Closed { .. } if opened.contains(&number) => 0,
            PartState::Closed { bytes, .. } => bytes,
        };
        let has_it = |&number: &usize| (self.parts[number].span.oldest..=self.parts[number].span.newest).contains(&asked);
        let mut places: Vec<usize> = (0..self.parts.len()).filter(has_it).collect();
        places.sort_by_key(|&number| (self.parts[number].is_damaged(), !self.parts[number].has_all_keys(), cost(number), number));
        let mut damaged = None;
        for number in places {
            let source = self.source(number)?;
            if matches!(self.parts[number].kind, SourceKind::Recording | SourceKind::Bundle) && !has_state(&*source, asked).await? {
                continue;
            }
            if !self.parts[number].is_damaged() {
                return Ok(Some((number, source)));
            }
            damaged = damaged.or(Some((number, source)));
        }
        Ok(damaged)
    }

    /// Says which revisions next to one that cannot be read are readable.
    async fn unreadable(&self, asked: Revision, live: Option<&dyn Source>) -> Result<Error> {
        let mut spans: Vec<(&str, Revision, Revision)> =
            self.parts.iter().map(|part| (&*part.name, part.span.oldest, part.span.newest)).collect();
        if let (Some(live), Some(part)) = (live, &self.live) {
            let span = live.span().await?;
            spans.push((&part.name, span.oldest, span.newest));
        }
        let before = spans.iter().filter(|span| span.2 < asked).max_by_key(|span| span.2);
        let after = spans.iter().filter(|span| span.1 > asked).min_by_key(|span| span.1);
        Ok(match (before, after) {
            (Some(&(ends, _, before)), Some(&(begins, after, _))) => {
                Error::Between { asked, before, ends: ends.to_owned(), after, begins: begins.to_owned() }
            }
            (None, Some(&(_, oldest, _))) => Error::Compacted { asked, oldest, earlier: self.earlier() },
            (newest, None) => {
                let newest = newest.map_or(self.span_of_files().newest, |span| span.2);
                // A recording may lack the state although it reaches that far.
                if asked > newest {
                    Error::Future { asked, newest }
                } else {
                    Error::Compacted { asked, oldest: newest, earlier: EarlierRevisions::NotRecorded }
                }
            }
        })
    }

    /// What a damaged file has of a state, with the changes that it has lost and others have.
    async fn mended(&self, number: usize, source: Arc<dyn Source>, keys: KeyRange, at: Revision, want: Want) -> Result<Vec<KeyValue>> {
        let listing = source.range(keys.clone(), At::Revision(at), want).await?;
        let mut alive: BTreeMap<Bytes, KeyValue> = listing.entries.map_ok(|entry| (entry.key.clone(), entry)).try_collect().await?;
        let absent = self.absent(number, self.parts[number].complete_after() + 1, at.0).await?;
        for (from, to) in absent {
            for (other, part) in self.parts.iter().enumerate().filter(|(other, _)| *other != number) {
                if part.newest() < from || part.complete_after() >= to {
                    continue;
                }
                let of_other = self.source(other)?;
                for event in events(&*of_other, keys.clone(), Revision(from), Revision(to)).await? {
                    let key = KeyRange::key(&event.key_value.key[..]);
                    if event.origin == Origin::FreePage || !events(&*source, key, event.revision.after(), at).await?.is_empty() {
                        continue;
                    }
                    let value = if want == Want::Keys { Bytes::new() } else { event.key_value.value.clone() };
                    match event.kind {
                        EventKind::Put => drop(alive.insert(event.key_value.key.clone(), KeyValue { value, ..event.key_value })),
                        EventKind::Delete => drop(alive.remove(&event.key_value.key)),
                    }
                }
            }
        }
        Ok(alive.into_values().collect())
    }
}

/// Whether a recording has the whole state at a revision within its span.
async fn has_state(source: &dyn Source, at: Revision) -> Result<bool> {
    let nothing = KeyRange { start: vec![0], end: Some(vec![0]) };
    match source.first(nothing, At::Revision(at), Want::Keys, 1).await {
        Err(Error::Compacted { .. }) => Ok(false),
        found => found.map(|_| true),
    }
}

/// A listing that keeps its source.
fn owned_range(source: Arc<dyn Source>, keys: KeyRange, at: Revision, want: Want) -> BoxStream<'static, Result<KeyValue>> {
    try_stream! {
        let mut entries = source.range(keys, At::Revision(at), want).await?.entries;
        while let Some(entry) = entries.next().await.transpose()? {
            yield entry;
        }
    }
    .boxed()
}

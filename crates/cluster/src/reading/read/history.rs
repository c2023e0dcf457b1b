//! The history of some keys: every change that can be read, each with its time and its author.

use std::future::ready;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};

use ketcd_history::clock::Clock;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{AttributedChange, EventPair, Follower, PrevVersion, TextChange};
use ketcd_kube::{Body, Decoder, Opaque, UnknownField};
use ketcd_store::{At, Event, EventKind, KeyValue, Revision, Until};

use super::changes::{Read, events, follow, follower};
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::{Error, Result};
use crate::kinds::KeySubject;

/// The history of some keys, of which nothing is decoded yet.
pub struct History<'c> {
    cluster: &'c Cluster,
    events: BoxStream<'c, Result<Read<Event>>>,
    clock: Arc<Clock>,
}

/// What became of each change, with the object's key; `None` for a change before [`Cluster::since`], which does not count.
pub type Counted<'c, T> = BoxStream<'c, Result<Read<(Bytes, Option<T>)>>>;

impl Cluster {
    /// Returns every readable change of what an address names (`pod/shop/web-0`, `pods`, a raw key) up to the revision looked at, oldest first, with
    /// its time and its author. Revisions that cannot be read are gaps.
    pub fn changes(&self, address: &str) -> BoxStream<'_, Result<Read<AttributedChange>>> {
        let words = [address.to_owned()];
        let begun = async move {
            let keys = Keys::of(self, &words).await?;
            Ok::<_, Error>(self.history(keys, self.revision().await?).await?.changes())
        };
        stream::once(begun).try_flatten().boxed()
    }

    /// Returns the history of keys up to a revision. Of single objects all events are read first, so that a long history is dated where they changed.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn history(&self, keys: Keys, until: Revision) -> Result<History<'_>> {
        let keys = Keys { to_newest: self.at == At::Newest, ..keys };
        if !keys.are_whole() {
            let clock = self.clock_of_writers(&[], &[], &[]).await?;
            return Ok(History { cluster: self, events: events(self, keys, Until::Revision(until)).boxed(), clock });
        }
        let read: Vec<Read<Event>> = events(self, keys, Until::Revision(until)).try_collect().await?;
        let events = || read.iter().filter_map(|read| if let Read::Item(event) = read { Some(event) } else { None });
        let revisions: Vec<Revision> = events().map(|event| event.revision).collect();
        let versions: Vec<KeyValue> = events().filter(|event| event.kind == EventKind::Put).map(|event| event.key_value.clone()).collect();
        let clock = self.clock_of_writers(&revisions, &versions, &events().collect::<Vec<_>>()).await?;
        Ok(History { cluster: self, events: stream::iter(read.into_iter().map(Ok)).boxed(), clock })
    }
}

impl<'c> History<'c> {
    /// The history up to a revision of those keys alone that `is_wanted`, dated by a clock that is known already; the others are not decoded.
    pub(crate) fn of_wanted(
        cluster: &'c Cluster,
        (keys, until): (Keys, Revision),
        clock: Arc<Clock>,
        is_wanted: impl Fn(&[u8]) -> bool + Send + 'c,
    ) -> Self {
        let is_wanted = move |read: &Read<Event>| !matches!(read, Read::Item(event) if !is_wanted(&event.key_value.key));
        let events = events(cluster, keys, Until::Revision(until)).try_filter(move |read| ready(is_wanted(read))).boxed();
        Self { cluster, events, clock }
    }

    /// When revisions were written, and who was alive.
    pub fn clock(&self) -> Arc<Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns every change, oldest first, and the gaps between them.
    pub fn changes(self) -> BoxStream<'c, Result<Read<AttributedChange>>> {
        let Self { cluster, events, clock } = self;
        let mut follower = follower(cluster);
        let change = move |read| follow(&mut follower, read, |follower, event| AttributedChange::new(follower.change(event), &clock));
        events.map_ok(change).boxed()
    }

    /// Returns the changes and gaps that count. Nothing is decoded of the others.
    pub fn counted(self) -> Counted<'c, AttributedChange> {
        let Self { cluster, events, clock } = self;
        let (after, mut follower) = (cluster.counted_after(), follower(cluster));
        let change = move |read| {
            follow(&mut follower, read, |follower, event: Event| {
                let key = event.key_value.key.clone();
                if event.revision <= after {
                    follower.pair(event);
                    return (key, None);
                }
                (key, Some(AttributedChange::new(follower.change(event), &clock)))
            })
        };
        events.map_ok(change).try_filter(move |read| ready(read.counts(after))).boxed()
    }

    /// Makes something of each change that counts on all cores, in their order. With `texts`, no more is decoded than the change needs and the object's
    /// JSON after it, which `make` gets too.
    pub fn on_cores<T: Send + 'static>(
        self,
        texts: Option<ManagedFields>,
        make: impl Fn(AttributedChange, &KeySubject, Option<&[u8]>) -> T + Send + Sync + 'static,
    ) -> Counted<'c, T> {
        let Self { cluster, events, clock } = self;
        let (after, mut follower) = (cluster.counted_after(), follower(cluster));
        let pairs = events.map_ok(move |read| follow(&mut follower, read, Follower::pair));
        let named = pairs.try_filter(move |read| ready(read.counts(after))).and_then(move |read| async move {
            Ok::<_, Error>(match read {
                Read::Item(pair) if pair.event.revision > after => {
                    let subject = cluster.subject_of(&pair.event.key_value.key).await?;
                    Read::Item((pair, Some(subject)))
                }
                read => read.map(|pair| (pair, None)),
            })
        });
        let decoder = cluster.decoder.clone();
        let made = move |read: Read<(EventPair, Option<KeySubject>)>| {
            read.map(|(pair, subject)| {
                let key = pair.event.key_value.key.clone();
                let Some(subject) = subject else { return (key, None, Vec::new()) };
                let (change, text, found) = decoded(pair, &decoder, texts);
                (key, Some(make(AttributedChange::new(change, &clock), &subject, text.as_deref())), found)
            })
        };
        let reported = move |read: Read<(Bytes, Option<T>, Vec<Found>)>| {
            read.map(|(key, made, found)| {
                found.iter().for_each(|(revision, found)| cluster.reporting_decoder.report(&key, *revision, found));
                (key, made)
            })
        };
        cores::in_order_ahead(named, stored_bytes, made).map_ok(reported).boxed()
    }
}

/// What is to be reported of a value that was decoded on another core.
pub(super) type Found = (i64, Result<Vec<UnknownField>, Opaque>);

/// Decodes a change, as a text where that is enough, without reporting anything.
pub(super) fn decoded(
    pair: EventPair,
    decoder: &Decoder,
    texts: Option<ManagedFields>,
) -> (ketcd_history::Change, Option<Vec<u8>>, Vec<Found>) {
    if let Some(TextChange { change, text, .. }) = texts.and_then(|managed_fields| pair.decode_as_text(decoder, managed_fields)) {
        return (change, text, Vec::new());
    }
    let mut found = Vec::new();
    let change = pair.decode(|KeyValue { key, value, mod_revision, .. }| {
        let decoded = decoder.decode(key, value, mod_revision.0);
        let problems = match &decoded.body {
            Body::Object(_) => Ok(decoded.unknown_fields),
            Body::Opaque(opaque) => Err(opaque.clone()),
        };
        found.push((mod_revision.0, problems));
        decoded.body.into()
    });
    (change, None, found)
}

/// How many stored bytes a change holds on its way.
pub(super) fn stored_bytes<S>(read: &Read<(EventPair, S)>) -> usize {
    let Read::Item((pair, _)) = read else { return 0 };
    let before = if let PrevVersion::Version(last) = &pair.prev { last.value.len() } else { 0 };
    before + pair.event.key_value.value.len()
}

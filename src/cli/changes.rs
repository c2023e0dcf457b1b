//! Reads a source's events and changes: all that is readable of some keys, oldest first, with their gaps.

use std::collections::HashSet;

use async_stream::try_stream;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};

use ketcd_history::{Change, Follower};
use ketcd_kube::{Address, Body};
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, Until, Want, WatchItem};

use super::session::Session;
use super::{Error, Result};

/// The keys that a command is about.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Each key or prefix asked for.
    pub ranges: Vec<KeyRange>,
    /// Whether they can be of several objects.
    pub many: bool,
    /// What was asked for; empty where it is everything.
    pub addresses: Vec<Address>,
}

impl Keys {
    /// Every key.
    pub(super) fn all() -> Self {
        Self { ranges: vec![KeyRange::all()], many: true, addresses: Vec::new() }
    }

    /// The keys that addresses name.
    ///
    /// # Errors
    /// An address that cannot be read.
    pub(super) async fn of(session: &Session, addresses: &[String]) -> Result<Self> {
        let prefix = session.prefix().await?;
        let mut ranges = Vec::new();
        let mut many = false;
        let mut asked = Vec::new();
        for address in session.addresses(addresses).await? {
            let (key, whole) = address.key(prefix);
            many |= !whole;
            ranges.push(if whole { KeyRange::key(key) } else { KeyRange::prefix(key) });
            asked.push(address);
        }
        many |= ranges.len() > 1;
        Ok(Self { ranges, many, addresses: asked })
    }

    /// One range that holds them all.
    pub(super) fn hull(&self) -> KeyRange {
        let start = self.ranges.iter().map(|range| range.start.clone()).min().unwrap_or_else(|| vec![0]);
        let end = if self.ranges.iter().any(|range| range.end.is_none()) {
            None
        } else {
            self.ranges.iter().filter_map(|range| range.end.clone()).max()
        };
        KeyRange { start, end }
    }

    /// Whether a key is among them.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.ranges.iter().any(|range| range.contains(key))
    }
}

/// What a reading of events brings.
pub(super) enum Read<T> {
    /// An event, or the change it made.
    Item(T),
    /// Revisions of which nothing can be read, both ends included.
    Gap {
        /// The first.
        from: Revision,
        /// The last.
        to: Revision,
    },
}

/// Every readable event of `keys` up to `until`, oldest first. Where the source's own history begins after a compaction, the versions
/// that survived it come first, as they are the oldest that can be read.
pub(super) fn events<'a>(source: &'a dyn Source, keys: Keys, until: Until) -> impl Stream<Item = Result<Read<Event>>> + Send + 'a {
    try_stream! {
        let span = source.span().await?;
        let mut items = source.watch(keys.hull(), Revision(1), until);
        let mut begun = false;
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Event(event) if keys.contains(&event.key_value.key) => {
                    begun = true;
                    yield Read::Item(event);
                }
                WatchItem::Gap { from, to } => {
                    if !begun && to.after() >= span.oldest {
                        for entry in alive(source, &keys, span.oldest).await?.into_iter().filter(|entry| entry.mod_revision <= to) {
                            yield Read::Item(Event { revision: entry.mod_revision, sub_revision: 0, kind: EventKind::Put, key_value: entry, origin: Origin::Live });
                        }
                    }
                    yield Read::Gap { from, to };
                }
                WatchItem::Event(_) | WatchItem::Progress(_) => {}
            }
        }
    }
}

/// The keys alive at a revision, in order of their last writes.
async fn alive(source: &dyn Source, keys: &Keys, at: Revision) -> Result<Vec<KeyValue>> {
    let listing = source.range(keys.hull(), At::Revision(at), Want::Values).await?;
    let mut entries: Vec<KeyValue> =
        listing.entries.try_filter(|entry| std::future::ready(keys.contains(&entry.key))).try_collect().await?;
    entries.sort_by_key(|entry| entry.mod_revision);
    Ok(entries)
}

/// The names of the keys alive at a revision: what is not among them is gone, whether or not its deletion can be read.
pub(super) async fn alive_names(session: &Session, keys: &Keys, at: Revision) -> Result<HashSet<Bytes>> {
    let listing = session.source.range(keys.hull(), At::Revision(at), Want::Keys).await?;
    let names = listing.entries.try_filter_map(|entry| std::future::ready(Ok(keys.contains(&entry.key).then_some(entry.key))));
    Ok(names.try_collect().await?)
}

/// Every readable change of `keys` up to `until`, oldest first.
pub(super) fn changes<'a>(session: &'a Session, keys: Keys, until: Until) -> BoxStream<'a, Result<Read<Change>>> {
    let mut follower = Follower::new(decoding(session));
    let read = events(session.source.as_ref(), keys, until);
    read.map_ok(move |read| follow(&mut follower, read)).boxed()
}

/// Every change of `keys` from revision `from` on; what was alive before it is known, so that the first changes have their patches too.
pub(super) async fn changes_from<'a>(
    session: &'a Session,
    keys: Keys,
    from: Revision,
    until: Until,
) -> Result<BoxStream<'a, Result<Read<Change>>>> {
    let mut follower = Follower::new(decoding(session));
    let span = session.source.span().await?;
    if from > span.oldest && from <= span.newest.after() {
        for entry in alive(session.source.as_ref(), &keys, from.before()).await? {
            follower.seed(entry, Origin::Live);
        }
    }
    let items = session.source.watch(keys.hull(), from, until).map_err(Error::from).try_filter_map(move |item| {
        let read = match item {
            WatchItem::Event(event) if keys.contains(&event.key_value.key) => Some(Read::Item(event)),
            WatchItem::Gap { from, to } => Some(Read::Gap { from, to }),
            WatchItem::Event(_) | WatchItem::Progress(_) => None,
        };
        std::future::ready(Ok(read))
    });
    Ok(items.map_ok(move |read| follow(&mut follower, read)).boxed())
}

fn follow<D: Fn(&KeyValue) -> Body>(follower: &mut Follower<D>, read: Read<Event>) -> Read<Change> {
    match read {
        Read::Item(event) => Read::Item(follower.change(event)),
        Read::Gap { from, to } => {
            follower.gap(to);
            Read::Gap { from, to }
        }
    }
}

fn decoding(session: &Session) -> impl Fn(&KeyValue) -> Body + Send + '_ {
    |entry| session.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body
}

//! Reads a source's events: all that is readable of some keys, oldest first, with their gaps, and each with the version before it.

use std::future::ready;
use std::pin::pin;

use async_stream::try_stream;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};

use ketcd_history::{EventPair, Follower};
use ketcd_kube::Body;
use ketcd_store::{Event, KeyValue, Origin, Revision, Until, Want, WatchItem};

use super::alive::alive;
use super::keys::{Keys, is_in};
use super::one_by_one::items;
use super::walk_back::version_replaced;
use crate::cluster::Cluster;
use crate::error::{Error, Result};

/// What a reading of events brings.
pub enum Read<T> {
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

impl<T> Read<T> {
    /// Makes something of an item.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Read<U> {
        match self {
            Self::Item(item) => Read::Item(make(item)),
            Self::Gap { from, to } => Read::Gap { from, to },
        }
    }

    /// Whether it is an item, or a gap that does not end before what counts.
    pub(super) fn counts(&self, after: Revision) -> bool {
        !matches!(self, Self::Gap { to, .. } if *to <= after)
    }
}

/// Every readable event of `keys` up to `until`, oldest first. Where the source's own history begins after a compaction, the versions
/// that survived it come first, as they are the oldest that can be read; those that survived a later one come with its gap.
pub fn events<'a>(cluster: &'a Cluster, keys: Keys, until: Until) -> impl Stream<Item = Result<Read<Event>>> + Send + 'a {
    let source = cluster.source.as_ref();
    try_stream! {
        let mut span = source.span().await?;
        let mut items = items(cluster, &keys, until, span).await?;
        let (apart, mut begun) = (keys.apart(), false);
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Event(event) if is_in(&apart, &event.key_value.key) => {
                    begun = true;
                    yield Read::Item(event);
                }
                WatchItem::Gap { from, mut to } => {
                    let mut last = to;
                    let is_overtaken = keys.to_newest && matches!(until, Until::Revision(end) if to >= end);
                    if (!begun || source.is_shared()) && (is_overtaken || to.after() >= span.oldest) {
                        // A compaction since then has moved the beginning of what is readable.
                        span = source.span().await?;
                        let (at, survivors) = alive(source, &keys, span.oldest, Want::Values).await?;
                        if is_overtaken {
                            to = to.max(at.before());
                            last = last.max(at);
                        }
                        for entry in survivors.into_iter().filter(|entry| entry.mod_revision >= from && entry.mod_revision <= last) {
                            yield Read::Item(Event::put(entry, Origin::Live));
                        }
                    }
                    yield Read::Gap { from, to };
                }
                WatchItem::Event(_) | WatchItem::Progress(_) => {}
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            }
        }
    }
}

/// Every event of `keys` from revision `from` on.
pub(crate) fn events_from<'a>(cluster: &'a Cluster, keys: Keys, from: Revision, until: Until) -> BoxStream<'a, Result<Read<Event>>> {
    let apart = keys.apart();
    let items = cluster.source.watch_ranges(apart.clone(), from, until).map_err(Error::from);
    let read = move |item| match item {
        WatchItem::Event(event) => is_in(&apart, &event.key_value.key).then_some(Read::Item(event)),
        WatchItem::Gap { from, to } => Some(Read::Gap { from, to }),
        WatchItem::Progress(_) => None,
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    items.try_filter_map(move |item| ready(Ok(read(item)))).boxed()
}

/// Whether the versions that were there before revision `from` can be read, one by one, where events begin with it.
pub(crate) async fn knows_before(cluster: &Cluster, from: Revision) -> Result<bool> {
    let span = cluster.source.span().await?;
    Ok(!cluster.source.reads_before() && from > span.oldest && from <= span.newest.after())
}

/// An event on its way to the change that it made.
pub(crate) enum Followed {
    /// With the version before it.
    Pair(Box<EventPair>),
    /// Its change is not wanted.
    LeftOut(Event),
}

/// Each event with the version before it, both as they are stored; nothing is read for those that `leaves_out`. Where the source `knows_before` the first
/// event what was there, the version before the first event of a key is read when it comes.
pub(crate) fn pairs<'a>(
    cluster: &'a Cluster,
    events: impl Stream<Item = Result<Read<Event>>> + Send + 'a,
    knows_before: bool,
    leaves_out: impl Fn(&Event) -> bool + Send + 'a,
) -> BoxStream<'a, Result<Read<Followed>>> {
    let mut follower = follower(cluster);
    try_stream! {
        let mut events = pin!(events);
        while let Some(read) = events.try_next().await? {
            match read {
                Read::Gap { from, to } => {
                    follower.gap(to);
                    yield Read::Gap { from, to };
                }
                Read::Item(event) if leaves_out(&event) => {
                    follower.pass_over(&event);
                    yield Read::Item(Followed::LeftOut(event));
                }
                Read::Item(event) => {
                    // Keys may be many: only of those that change the version before is read.
                    if knows_before && event.key_value.version != 1 && !follower.knows(&event.key_value.key) {
                        let replaced = version_replaced(cluster.source.as_ref(), &event.key_value).await?;
                        replaced.into_iter().for_each(|before| follower.pass_over(&Event::put(before, Origin::Live)));
                    }
                    yield Read::Item(Followed::Pair(Box::new(follower.pair(event))));
                }
            }
        }
    }
    .boxed()
}

/// A follower that holds no versions which the source can give again.
fn follower(cluster: &Cluster) -> Follower<'_, impl Fn(&KeyValue) -> Body + Send> {
    let decoder = cluster.reporting_decoder.clone();
    let follower = Follower::new(move |entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    if cluster.source.reads_before() { follower.asking(|version| cluster.source.read_before(version)) } else { follower }
}

//! Reads a source's events and changes: all that is readable of some keys, oldest first, with their gaps.

use async_stream::try_stream;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};

use ketcd_history::{Change, EventPair, Follower};
use ketcd_kube::{Body, Decoder};
use ketcd_store::{Event, KeyValue, Origin, Revision, Until, Want, WatchItem};

use super::alive::alive;
use super::keys::Keys;
use super::one_by_one::items;
use super::walk_back::version_replaced;
use crate::cluster::Cluster;
use crate::error::Result;

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
        let mut begun = false;
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Event(event) if keys.contains(&event.key_value.key) => {
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

/// Every readable change of `keys` up to `until`, oldest first.
pub fn changes<'a>(cluster: &'a Cluster, keys: Keys, until: Until) -> BoxStream<'a, Result<Read<Change>>> {
    let mut follower = follower(cluster);
    events(cluster, keys, until).map_ok(move |read| follow(&mut follower, read, Follower::change)).boxed()
}

/// Every change of `keys` from revision `from` on, decoded by `decoder`; what was alive before it is known, so that the first changes have their patches
/// too.
pub(crate) async fn changes_from<'a>(
    cluster: &'a Cluster,
    keys: Keys,
    (from, until): (Revision, Until),
    decoder: Decoder,
) -> Result<BoxStream<'a, Result<Read<Change>>>> {
    read_from(cluster, follower_by(cluster, decoder), keys, (from, until), |_| true, Follower::change).await
}

/// [`changes_from`], of those events alone that `is_wanted`, both versions as they are stored. It must want all events of a source that cannot read the
/// version before another one.
pub(crate) async fn pairs_from_where<'a>(
    cluster: &'a Cluster,
    keys: Keys,
    from: Revision,
    until: Until,
    is_wanted: impl FnMut(&Event) -> bool + Send + 'a,
) -> Result<BoxStream<'a, Result<Read<EventPair>>>> {
    read_from(cluster, follower(cluster), keys, (from, until), is_wanted, Follower::pair).await
}

async fn read_from<'a, T: Send + 'a, D: Fn(&KeyValue) -> Body + Send + 'a>(
    cluster: &'a Cluster,
    mut follower: Follower<'a, D>,
    keys: Keys,
    (from, until): (Revision, Until),
    mut is_wanted: impl FnMut(&Event) -> bool + Send + 'a,
    make: fn(&mut Follower<'a, D>, Event) -> T,
) -> Result<BoxStream<'a, Result<Read<T>>>> {
    let source = cluster.source.as_ref();
    let span = source.span().await?;
    let is_readable = from > span.oldest && from <= span.newest.after();
    Ok(Box::pin(try_stream! {
        let mut items = source.watch_ranges(keys.apart(), from, until);
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Event(event) if keys.contains(&event.key_value.key) && is_wanted(&event) => {
                    // Keys may be many: only of those that change the version before is read.
                    if is_readable && !source.reads_before() && event.key_value.version != 1 && !follower.knows(&event.key_value.key) {
                        let replaced = version_replaced(source, &event.key_value).await?;
                        replaced.into_iter().for_each(|before| drop(follower.seed(before, Origin::Live)));
                    }
                    yield follow(&mut follower, Read::Item(event), make);
                }
                WatchItem::Gap { from, to } => yield follow(&mut follower, Read::Gap { from, to }, make),
                WatchItem::Event(_) | WatchItem::Progress(_) => {}
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            }
        }
    }))
}

/// What `item` makes of an event.
pub(super) fn follow<'p, D: Fn(&KeyValue) -> Body, T>(
    follower: &mut Follower<'p, D>,
    read: Read<Event>,
    item: impl FnOnce(&mut Follower<'p, D>, Event) -> T,
) -> Read<T> {
    if let Read::Gap { to, .. } = read {
        follower.gap(to);
    }
    read.map(|event| item(follower, event))
}

/// A follower that holds no versions which the source can give again.
pub fn follower(cluster: &Cluster) -> Follower<'_, impl Fn(&KeyValue) -> Body + Send> {
    follower_by(cluster, cluster.reporting_decoder.clone())
}

fn follower_by(cluster: &Cluster, decoder: Decoder) -> Follower<'_, impl Fn(&KeyValue) -> Body + Send> {
    let follower = Follower::new(move |entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    if cluster.source.reads_before() { follower.asking(|version| cluster.source.read_before(version)) } else { follower }
}

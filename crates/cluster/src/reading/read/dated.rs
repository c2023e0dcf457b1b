//! Changes with the clock that dates them.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_history::clock::Clock;
use ketcd_history::{Change, EventPair, Follower};
use ketcd_store::{At, Event, EventKind, KeyValue, Revision, Until};

use super::changes::{Read, events, follow, follower};
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::error::Result;

/// Every readable event of `keys` up to `until`, oldest first, with the clock that dates them. Of single objects all is read beforehand, so that a long
/// history is dated where they changed.
async fn dated_events(cluster: &Cluster, keys: Keys, until: Revision) -> Result<(BoxStream<'_, Result<Read<Event>>>, Arc<Clock>)> {
    let keys = Keys { to_newest: cluster.at == At::Newest, ..keys };
    if !keys.are_whole() {
        let clock = cluster.clock_of_writers(&[], &[], &[]).await?;
        return Ok((events(cluster, keys, Until::Revision(until)).boxed(), clock));
    }
    let read: Vec<Read<Event>> = events(cluster, keys, Until::Revision(until)).try_collect().await?;
    let events = || read.iter().filter_map(|read| if let Read::Item(event) = read { Some(event) } else { None });
    let revisions: Vec<Revision> = events().map(|event| event.revision).collect();
    let versions: Vec<KeyValue> = events().filter(|event| event.kind == EventKind::Put).map(|event| event.key_value.clone()).collect();
    let clock = cluster.clock_of_writers(&revisions, &versions, &events().collect::<Vec<_>>()).await?;
    Ok((futures_util::stream::iter(read.into_iter().map(Ok)).boxed(), clock))
}

/// Every readable change of `keys` up to `until`, oldest first, with the clock that dates them.
pub async fn dated_changes(cluster: &Cluster, keys: Keys, until: Revision) -> Result<(BoxStream<'_, Result<Read<Change>>>, Arc<Clock>)> {
    let (events, clock) = dated_events(cluster, keys, until).await?;
    let mut follower = follower(cluster);
    Ok((events.map_ok(move |read| follow(&mut follower, read, Follower::change)).boxed(), clock))
}

/// The same as they are stored.
pub async fn dated_steps(cluster: &Cluster, keys: Keys, until: Revision) -> Result<(BoxStream<'_, Result<Read<EventPair>>>, Arc<Clock>)> {
    let (events, clock) = dated_events(cluster, keys, until).await?;
    let mut follower = follower(cluster);
    Ok((events.map_ok(move |read| follow(&mut follower, read, Follower::pair)).boxed(), clock))
}

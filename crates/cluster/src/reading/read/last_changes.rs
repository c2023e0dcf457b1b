//! The last changes of one object, read backwards by its own key: each version names the revision before which the one before it is found.

use std::future::ready;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};

use super::changes::Read;
use super::history::History;
use super::walk_back::walk_back;
use crate::cluster::Cluster;
use crate::error::Result;
use ketcd_history::{AttributedChange, EventPair, Follower};
use ketcd_store::{Event, KeyValue, Origin, Revision};

/// The last changes of an object, and what came before them.
pub struct LastChanges {
    /// Oldest first.
    pub changes: Vec<AttributedChange>,
    /// Whether the object had versions before them.
    pub has_earlier: bool,
}

/// Reads at most this many changes, up to the one that wrote `newest`. They are dated by the history: each as closely as the data allow, or
/// all by what was read of it for the first of them.
///
/// # Errors
/// The source cannot be read.
pub async fn last_changes(cluster: &Cluster, newest: &KeyValue, most: usize, closely: bool) -> Result<LastChanges> {
    // One more shows what the first change changed.
    let mut versions: Vec<KeyValue> = walk_back(cluster.source.as_ref(), newest.clone()).take(most + 1).try_collect().await?;
    versions.reverse();
    let has_earlier = (versions[0].version != 1 || versions.len() > most) && !cluster.source.is_one_moment();
    let mut follower = Follower::new(|entry: &KeyValue| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    let origin = if cluster.source.is_one_moment() { Origin::Objects } else { Origin::Live };
    let pairs: Vec<EventPair> = versions.iter().map(|version| follower.pair(Event::put(version.clone(), origin))).collect();
    let revisions: Vec<Revision> = versions.iter().map(|version| version.mod_revision).collect();
    let clock =
        if closely { cluster.clock_of_writers(&revisions, &versions, &[]).await? } else { Arc::clone(cluster.first_clock().await?) };
    let surplus = pairs.len().saturating_sub(most);
    // What cannot be decoded of the past is not a fault of what is shown.
    let changes = History::of_pairs(cluster, pairs, clock).decoded_by(cluster.decoder.clone()).changes();
    let changes = changes.skip(surplus).try_filter_map(|read| ready(Ok(if let Read::Item(change) = read { Some(change) } else { None })));
    Ok(LastChanges { changes: changes.try_collect().await?, has_earlier })
}

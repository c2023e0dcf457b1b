//! The last changes of one object, read backwards by its own key: each version names the revision before which the one before it is found.

use futures_util::{StreamExt, TryStreamExt};

use super::walk_back::walk_back;
use crate::cluster::Cluster;
use crate::error::Result;
use ketcd_history::{AttributedChange, Change, Follower};
use ketcd_store::{KeyValue, Origin, Revision};

/// The last changes of an object, and what came before them.
pub struct LastChanges {
    /// Oldest first.
    pub changes: Vec<AttributedChange>,
    /// Whether the object had versions before them.
    pub has_earlier: bool,
}

/// Reads at most so many changes, up to the one that wrote `newest`. They are dated by the history: each as closely as the data allow, or
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
    let changes: Vec<Change> = versions.iter().map(|version| follower.seed(version.clone(), origin)).collect();
    let revisions: Vec<Revision> = versions.iter().map(|version| version.mod_revision).collect();
    let around = if closely { Some(cluster.clock_of_writers(&revisions, &versions, &[]).await?) } else { None };
    let clock = match &around {
        Some(clock) => clock,
        None => cluster.clock().await?,
    };
    let surplus = changes.len().saturating_sub(most);
    let changes = changes.into_iter().skip(surplus).map(|change| AttributedChange::new(change, clock)).collect();
    Ok(LastChanges { changes, has_earlier })
}

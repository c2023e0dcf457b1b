//! What is there at a revision, and which Events were there about an object.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, Source, Want};

use super::keys::Keys;
use crate::cluster::Cluster;
use crate::error::Result;

/// The Events about an object of a long history, and revisions at which they were there.
///
/// # Errors
/// The source cannot be read.
pub async fn event_keys(cluster: &Cluster, namespace: &str, name: &str, newest: Revision) -> Result<BTreeMap<Vec<u8>, Vec<Revision>>> {
    let below = KeyRange::prefix(format!("{}/events/{namespace}/{name}.", cluster.prefix().await?));
    let mut found: BTreeMap<Vec<u8>, Vec<Revision>> = BTreeMap::new();
    for look in looks(cluster.source.span().await?.oldest, newest) {
        let entries = match all(cluster.source.as_ref(), below.clone(), look, Want::Keys).await {
            Err(error) if error.is_denied() => {
                cluster.refused.miss(&below);
                break;
            }
            // A compaction came between.
            Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => continue,
            entries => entries?,
        };
        for entry in entries {
            found.entry(entry.key.to_vec()).or_default().push(look);
        }
    }
    Ok(found)
}

/// Revisions of a long history, the newest first, at which is looked for what is not there any more.
pub fn looks(oldest: Revision, newest: Revision) -> Vec<Revision> {
    const LOOKS: i64 = 5;
    let step = (newest.0 - oldest.0) / (LOOKS - 1);
    (0..LOOKS).map(|look| Revision((newest.0 - look * step).max(oldest.0))).collect()
}

/// All entries of a range at a revision.
///
/// # Errors
/// The source cannot be read, or the revision not any more.
pub async fn all(source: &dyn Source, keys: KeyRange, at: Revision, want: Want) -> Result<Vec<KeyValue>, StoreError> {
    source.range(keys, At::Revision(at), want).await?.entries.try_collect().await
}

/// The entries alive at a revision, in order of their last writes; where compactions come between, at the oldest that is left.
pub(super) async fn alive(source: &dyn Source, keys: &Keys, at: Revision, want: Want) -> Result<(Revision, Vec<KeyValue>)> {
    let (at, mut entries) = listed(source, keys, at, want, Some).await?;
    entries.sort_by_key(|entry| entry.mod_revision);
    Ok((at, entries))
}

/// So often is a listing begun again that a compaction overtook.
const MOST_OVERTAKEN: usize = 100;

/// What `take` makes of the entries alive at a revision; where compactions come between, at the oldest that is left.
async fn listed<T>(
    source: &dyn Source,
    keys: &Keys,
    mut at: Revision,
    want: Want,
    take: impl Fn(KeyValue) -> Option<T>,
) -> Result<(Revision, Vec<T>)> {
    let ranges = keys.apart();
    let mut tries = 0..MOST_OVERTAKEN;
    'again: loop {
        let mut taken = Vec::new();
        for range in &ranges {
            match list(source, range.clone(), at, want, &take, &mut taken).await {
                Err(StoreError::Compacted { oldest, .. } | StoreError::Between { after: oldest, .. })
                    if oldest > at && tries.next().is_some() =>
                {
                    at = oldest;
                    continue 'again;
                }
                listed => listed?,
            }
        }
        return Ok((at, taken));
    }
}

async fn list<T>(
    source: &dyn Source,
    keys: KeyRange,
    at: Revision,
    want: Want,
    take: impl Fn(KeyValue) -> Option<T>,
    taken: &mut Vec<T>,
) -> Result<(), StoreError> {
    let mut entries = source.range(keys, At::Revision(at), want).await?.entries;
    while let Some(entry) = entries.try_next().await? {
        taken.extend(take(entry));
    }
    Ok(())
}

/// The names of the keys alive at a revision that `is_wanted`: what is not among them is gone, whether or not its deletion can be read.
pub async fn alive_names(cluster: &Cluster, keys: &Keys, at: Revision, is_wanted: impl Fn(&[u8]) -> bool) -> Result<HashSet<Bytes>> {
    let (_, names) = listed(cluster.source.as_ref(), keys, at, Want::Keys, |entry| is_wanted(&entry.key).then_some(entry.key)).await?;
    Ok(names.into_iter().collect())
}

//! Writes by versions: a key's version counts them, so that the keys at both ends of the span say how often each was written between.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_store::{At, Error as StoreError, KeyRange, Revision, Want};

use super::usage_data::UsageData;
use crate::cluster::Cluster;
use crate::error::Result;

/// A key's creation and version.
type KnownKeys = HashMap<Bytes, (Revision, i64)>;

/// Adds the keys that are there, and what was written in the span as far as versions tell: a key that was deleted and made again counts one deletion and
/// the writes since. `may_move` says whether the span may begin later, where a compaction takes its beginning meanwhile.
pub(super) async fn versions(cluster: &Cluster, gathered: &mut UsageData, may_move: bool) -> Result<()> {
    let mut before = begin(cluster, gathered, may_move).await?;
    gathered.before = (before.len() as u64, None);
    let mut entries = cluster.source.range(KeyRange::all(), At::Revision(gathered.span.1), Want::Keys).await?.entries;
    while let Some(entry) = entries.next().await.transpose()? {
        let known = before.remove(&entry.key);
        if !gathered.counts(&entry.key) {
            continue;
        }
        gathered.usage.live(&entry.key, 0);
        let writes = match known {
            Some((created, version)) if created == entry.create_revision => entry.version - version,
            Some(_) => {
                gathered.usage.deleted(&entry.key);
                entry.version
            }
            None => entry.version,
        };
        if writes > 0 {
            gathered.usage.written(&entry.key, u64::try_from(writes).unwrap_or(0), 0);
        }
    }
    before.keys().for_each(|key| gathered.usage.deleted(key));
    Ok(())
}

/// The keys at the beginning of the span.
async fn begin(cluster: &Cluster, gathered: &mut UsageData, may_move: bool) -> Result<KnownKeys> {
    // So often may a compaction overtake it.
    let mut tries = 0..100;
    loop {
        let from = gathered.span.0;
        match keys_at(cluster, gathered, from).await {
            Err(StoreError::Compacted { oldest, .. }) if may_move && oldest > from && tries.next().is_some() => {
                gathered.span.0 = oldest.min(gathered.span.1);
            }
            known => return Ok(known?),
        }
    }
}

async fn keys_at(cluster: &Cluster, gathered: &UsageData, at: Revision) -> ketcd_store::Result<KnownKeys> {
    let entries = cluster.source.range(KeyRange::all(), At::Revision(at), Want::Keys).await?.entries;
    let counted = entries.try_filter(|entry| std::future::ready(gathered.counts(&entry.key)));
    counted.map_ok(|entry| (entry.key, (entry.create_revision, entry.version))).try_collect().await
}

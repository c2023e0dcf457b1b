//! The revision to which a cluster was compacted.

use std::sync::atomic::Ordering;

use super::connection::{cut_off, open};
use crate::etcd::answer::{Untrue, plausible};
use crate::etcd::client::Cluster;
use crate::etcd::head::{newest, revision_of};
use crate::etcd::trouble::Class;
use crate::etcd::wire::nonempty;
use crate::{KeyRange, Result, Revision};

/// Finds the revision at which the history begins, given the newest: etcd names it to a watch that starts before it. A learner serves no
/// watch; there the revisions are tried.
///
/// etcd takes up to 100 ms to answer such a watch (server/storage/mvcc/watchable_store.go, `syncWatchersLoop`). A compaction that is known is the last
/// one while its revision can be read.
pub(in crate::etcd) async fn compacted_revision(cluster: &Cluster, keys: &KeyRange) -> Result<Revision> {
    let known = cluster.compacted.load(Ordering::Relaxed);
    if known > 0 && is_readable(cluster, &nonempty(&keys.start), known).await? {
        return Ok(Revision(known));
    }
    let answer = cluster
        .ask(|client, _| async move {
            let (mut stream, mut response, mut expected) = open(client, keys, Revision(1)).await?;
            loop {
                if response.compact_revision != 0 {
                    return Ok(plausible(response.compact_revision)?);
                }
                let Some(next) = stream.message().await? else { break };
                expected.check(&next)?;
                response = next;
            }
            Err(cut_off().into())
        })
        .await;
    let compacted = match answer {
        Ok(compacted) => compacted,
        Err(troubles) if troubles.iter().any(|trouble| trouble.class == Class::Learner) => search_compacted(cluster, keys).await?,
        Err(troubles) => return Err(cluster.error_reading(keys, troubles)),
    };
    let newest = newest(cluster).await?;
    if compacted > newest {
        return Err(cluster.untrue(&Untrue::new(format!("says that revision {compacted} was compacted, where the newest is {newest}"))));
    }
    cluster.compacted.fetch_max(compacted.0, Ordering::Relaxed);
    Ok(compacted)
}

/// The first revision that can be read, found by halves.
async fn search_compacted(cluster: &Cluster, keys: &KeyRange) -> Result<Revision> {
    let key = nonempty(&keys.start);
    let (mut compacted, mut readable) = (1, newest(cluster).await?.0);
    while readable - compacted > 1 {
        let middle = compacted + (readable - compacted) / 2;
        match is_readable(cluster, &key, middle).await? {
            true => readable = middle,
            false => compacted = middle,
        }
    }
    Ok(Revision(readable))
}

/// Whether a revision is not compacted.
async fn is_readable(cluster: &Cluster, key: &[u8], revision: i64) -> Result<bool> {
    match revision_of(cluster, key, revision).await {
        Ok(_) => Ok(true),
        Err(troubles) if troubles.iter().any(|trouble| trouble.class == Class::Compacted) => Ok(false),
        Err(troubles) => Err(cluster.error(troubles)),
    }
}

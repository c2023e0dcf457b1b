//! Leases, which show who was alive: read with a short history; for a long one, read alone or at the revisions that matter.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;

use futures_util::TryStreamExt;

use ketcd_history::Leases;
use ketcd_history::clock::StampCollector;
use ketcd_kube::FieldSet;
use ketcd_store::{At, Error as StoreError, Event, EventKind, KeyRange, KeyValue, Revision, Until, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{Keys, Read, events};

/// How many leases of a live etcd are read for the deletions of single pods.
const MAX_LIVE_LEASES: usize = 48;

/// Confirms the leases that are there at a revision: before it there is a gap.
pub(super) async fn confirm(cluster: &Cluster, leases: &mut Leases, at: Revision) -> Result<()> {
    for range in ranges(cluster).await? {
        match cluster.source.range(range, At::Revision(at), Want::Keys).await {
            Err(error) if error.is_denied() => {}
            Err(StoreError::Compacted { .. } | StoreError::Between { .. } | StoreError::Future { .. }) => {}
            listing => {
                let mut entries = listing?.entries;
                while let Some(entry) = entries.try_next().await? {
                    leases.confirm(&entry, at);
                }
            }
        }
    }
    Ok(())
}

/// Reads every version of the leases of a long history that costs nobody else.
pub(super) async fn whole(cluster: &Cluster, newest: Revision) -> Result<Leases> {
    let mut leases = Leases::default();
    let keys = Keys::many(ranges(cluster).await?);
    let mut events = pin!(events(cluster, keys, Until::Revision(newest)));
    while let Some(read) = events.try_next().await? {
        match read {
            Read::Gap { to, .. } => {
                leases.gap(to);
                confirm(cluster, &mut leases, to.after()).await?;
            }
            Read::Item(Event { kind, key_value: entry, .. }) => {
                let decode = || cluster.decoder.only(StampCollector::looked_at()).decode(&entry.key, &entry.value, entry.mod_revision.0);
                let decoded = (kind == EventKind::Put).then(decode);
                leases.observe(&entry, decoded.as_ref().and_then(|decoded| decoded.object()));
            }
        }
    }
    leases.complete(newest);
    Ok(leases)
}

async fn ranges(cluster: &Cluster) -> Result<Vec<KeyRange>> {
    let prefix = cluster.prefix().await?;
    Ok(Leases::places().iter().map(|place| KeyRange::prefix(format!("{prefix}/{place}"))).collect())
}

/// Reads the leases of the nodes of pods as they were when these events happened, of a live etcd only when pods were deleted: what leaves no trace of
/// who wrote it is then not taken for a dead kubelet's.
pub(super) async fn of_events(cluster: &Cluster, events: &[&Event]) -> Result<Leases> {
    let (prefix, node_name, is_shared) = (cluster.prefix().await?, FieldSet::of(["spec.nodeName"]), cluster.source.is_shared());
    let mut nodes: HashMap<&[u8], String> = HashMap::new();
    let mut wanted: BTreeSet<(Revision, String)> = BTreeSet::new();
    for event in events {
        let KeyValue { key, value, mod_revision, .. } = &event.key_value;
        if !key[..].starts_with(format!("{prefix}/pods/").as_bytes()) {
            continue;
        }
        if event.kind == EventKind::Put {
            let decoded = cluster.decoder.only(&node_name).decode(key, value, mod_revision.0);
            let node = decoded.object().and_then(|pod| pod["spec"]["nodeName"].as_str());
            nodes.extend(node.map(|node| (&key[..], node.to_owned())));
        }
        let node = nodes.get(&key[..]).filter(|_| event.kind == EventKind::Delete || !is_shared);
        wanted.extend(node.map(|node| (event.revision, node.clone())));
    }
    let mut leases = Leases::default();
    let surplus = wanted.len().saturating_sub(if is_shared { MAX_LIVE_LEASES } else { usize::MAX });
    for (revision, node) in wanted.into_iter().skip(surplus) {
        let key = KeyRange::key(format!("{prefix}/{}", Leases::place_of_node(&node)));
        let found = match cluster.source.first(key, At::Revision(revision), Want::Values, 1).await {
            Err(error) if error.is_denied() => return Ok(leases),
            Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => continue,
            found => found?,
        };
        for entry in found {
            let decoded = cluster.decoder.only(StampCollector::looked_at()).decode(&entry.key, &entry.value, entry.mod_revision.0);
            leases.observe(&entry, decoded.object());
            leases.confirm(&entry, revision);
        }
    }
    Ok(leases)
}

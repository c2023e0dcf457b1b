//! Creation times: an object says for ever when it was created, and etcd at which revision.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use ketcd_kube::FieldSet;
use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, RevisionSpan, Want};

use super::samples::Samples;
use crate::cluster::Cluster;
use crate::error::Result;

/// How much is read for creation times.
struct Budget {
    /// The history is cut into so many parts; of each an object is read that was created in it.
    parts: i64,
    /// In so many namespaces objects are looked for.
    namespaces: usize,
    /// How many keys of a kind are read in each.
    keys: usize,
}

/// The budget for a live etcd.
const LIVE_BUDGET: Budget = Budget { parts: 96, namespaces: 24, keys: 200 };
/// The budget for a file, whose keys cost little.
const FILE_BUDGET: Budget = Budget { parts: 4096, namespaces: 4096, keys: usize::MAX };
/// Kinds whose objects come and go all the time.
const FREQUENT_KINDS: [&str; 2] = ["events", "pods"];

/// Reads when objects were created whose creations are spread over the span.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn read(cluster: &Cluster, span: RevisionSpan, samples: &mut Samples) -> Result<()> {
    let (prefix, budget) = (cluster.prefix().await?, if cluster.source.is_shared() { LIVE_BUDGET } else { FILE_BUDGET });
    let width = (span.newest.0 - span.oldest.0) / budget.parts + 1;
    let mut parts: BTreeMap<i64, KeyValue> = BTreeMap::new();
    let namespaces = namespaces(cluster, span.newest, budget.namespaces).await?;
    let mut places: Vec<String> = namespaces.iter().map(|namespace| format!("{namespace}/")).collect();
    if places.is_empty() {
        // They may not be read: then what comes first of a kind, or of the namespace asked about.
        places.extend([String::new(), format!("{}/", cluster.namespace())]);
    }
    for place in places {
        for kind in FREQUENT_KINDS {
            let below = format!("{prefix}/{kind}/{place}");
            for entry in keys(cluster, below, span.newest, budget.keys).await? {
                if entry.create_revision > span.oldest {
                    parts.entry((entry.create_revision.0 - span.oldest.0) / width).or_insert(entry);
                }
            }
        }
    }
    for entry in parts.into_values() {
        if let Some(created) = created(cluster, &entry).await? {
            samples.add_creation(entry.key, entry.create_revision, created);
        }
    }
    Ok(())
}

/// Some namespaces, spread over all.
async fn namespaces(cluster: &Cluster, at: Revision, most: usize) -> Result<Vec<String>> {
    let below = format!("{}/namespaces/", cluster.prefix().await?);
    let entries = keys(cluster, below.clone(), at, usize::MAX).await?;
    let name = |key: &Bytes| String::from_utf8_lossy(key.strip_prefix(below.as_bytes()).unwrap_or_default()).into_owned();
    Ok(entries.iter().step_by(entries.len().div_ceil(most).max(1)).map(|entry| name(&entry.key)).collect())
}

/// The keys below a prefix, up to so many; none where the user may not read them.
async fn keys(cluster: &Cluster, below: String, at: Revision, most: usize) -> Result<Vec<KeyValue>> {
    match cluster.source.first(KeyRange::prefix(below), At::Revision(at), Want::Keys, most).await {
        Err(error) if error.is_denied() => Ok(Vec::new()),
        // A compaction came between: other evidence dates what is left.
        Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => Ok(Vec::new()),
        found => Ok(found?),
    }
}

async fn created(cluster: &Cluster, entry: &KeyValue) -> Result<Option<Timestamp>> {
    let key = KeyRange::key(entry.key.to_vec());
    let found = match cluster.source.first(key, At::Revision(entry.mod_revision), Want::Values, 1).await {
        Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => return Ok(None),
        found => found?,
    };
    let Some(version) = found.first() else { return Ok(None) };
    let wanted = FieldSet::of(["metadata.creationTimestamp"]);
    let decoded = cluster.decoder.decode_only(&version.key, &version.value, version.mod_revision.0, &wanted);
    let time = decoded.object().and_then(|object| object.pointer("/metadata/creationTimestamp")).and_then(Value::as_str);
    Ok(time.and_then(|time| time.parse().ok()))
}

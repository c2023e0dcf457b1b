//! Creation times: an object says for ever when it was created, and etcd at which revision.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use ketcd_kube::{Decoder, FieldSet};
use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, RevisionSpan, Want};

use super::samples::Samples;
use crate::cluster::Cluster;
use crate::cores::in_order;
use crate::error::Result;

struct Budget {
    /// The history is cut into so many parts; of each an object is read that was created in it.
    parts: i64,
    /// In so many namespaces objects are looked for.
    namespaces: usize,
    /// How many keys of a kind are read in each.
    keys: usize,
}

const LIVE_BUDGET: Budget = Budget { parts: 96, namespaces: 24, keys: 200 };
/// The budget for a file, whose keys cost little.
const FILE_BUDGET: Budget = Budget { parts: 4096, namespaces: 4096, keys: usize::MAX };
/// Fewer versions are not worth a thread.
const MIN_VERSIONS_PER_THREAD: usize = 64;
/// Kinds whose objects come and go all the time.
const FREQUENT_KINDS: [&str; 2] = ["events", "pods"];

/// Reads when objects were created whose creations are spread over the span.
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
    let mut versions = Vec::new();
    for entry in parts.into_values() {
        versions.extend(version(cluster, &entry).await?.map(|version| (entry, version)));
    }
    let (decoder, wanted) = (&cluster.decoder, FieldSet::of(["metadata.creationTimestamp"]));
    let created = in_order(&versions, MIN_VERSIONS_PER_THREAD, |(_, version)| created(decoder, version, &wanted));
    for ((entry, _), created) in versions.into_iter().zip(created) {
        if let Some(created) = created {
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

/// What is stored of a key, in the version that was listed; `None` where it cannot be read any more.
async fn version(cluster: &Cluster, entry: &KeyValue) -> Result<Option<KeyValue>> {
    let key = KeyRange::key(entry.key.to_vec());
    match cluster.source.first(key, At::Revision(entry.mod_revision), Want::Values, 1).await {
        Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => Ok(None),
        found => Ok(found?.into_iter().next()),
    }
}

fn created(decoder: &Decoder, version: &KeyValue, wanted: &FieldSet) -> Option<Timestamp> {
    let decoded = decoder.only(wanted).decode(&version.key, &version.value, version.mod_revision.0);
    decoded.object()?.pointer("/metadata/creationTimestamp").and_then(Value::as_str)?.parse().ok()
}

//! The largest objects, and which field makes each large.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bytes::Bytes;

use ketcd_history::usage::largest_field;
use ketcd_kube::is_secret_key;
use ketcd_store::{KeyRange, KeyValue, Want};

use super::usage_data::{Large, NamedKey};
use crate::cluster::Cluster;
use crate::error::Result;

/// How many are kept.
const MAX_LARGEST_KEPT: usize = 50;

/// Keeps the largest of what it sees.
#[derive(Default)]
pub(super) struct Largest(BinaryHeap<Reverse<(usize, Bytes)>>);

impl Largest {
    pub(super) fn see(&mut self, entry: &KeyValue) {
        let size = entry.value.len();
        if self.0.len() < MAX_LARGEST_KEPT || self.0.peek().is_some_and(|least| least.0.0 < size) {
            self.0.push(Reverse((size, entry.key.clone())));
            if self.0.len() > MAX_LARGEST_KEPT {
                self.0.pop();
            }
        }
    }

    /// The largest first. Lengths of a Secret's fields are part of its secret: only --show-secrets names one.
    pub(super) async fn finish(self, cluster: &Cluster) -> Result<Vec<Large>> {
        let mut found = Vec::new();
        for Reverse((bytes, key)) in self.0.into_sorted_vec() {
            let may_name = cluster.options.show_secrets || !is_secret_key(&key);
            let field = if may_name { field(cluster, &key).await? } else { None };
            found.push(Large { key: NamedKey::of(cluster, key).await?, bytes: bytes as u64, field });
        }
        Ok(found)
    }
}

async fn field(cluster: &Cluster, key: &Bytes) -> Result<Option<ketcd_history::usage::LargestField>> {
    let entry = cluster.source.first(KeyRange::key(&key[..]), cluster.at, Want::Values, 1).await?.pop();
    let decoded = entry.map(|entry| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0));
    Ok(decoded.as_ref().and_then(|decoded| decoded.object()).and_then(largest_field))
}

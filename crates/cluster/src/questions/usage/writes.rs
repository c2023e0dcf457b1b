//! Writes by reading each of them: bytes, field managers, and which changed nothing but timestamps and managedFields.

use std::collections::HashMap;

use futures_util::TryStreamExt;

use ketcd_history::usage::{self, Sum};
use ketcd_kube::Body;
use ketcd_store::{EventKind, KeyRange, KeyValue, Until, WatchItem};

use super::usage_data::UsageData;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::version_replaced;

/// Beyond this many writes, only some are compared with what they replaced; on a live etcd each comparison is a request.
const MAX_WRITES_COMPARED: u64 = 30_000;
const COMPARED_LIVE: u64 = 2_000;

/// Adds every write and deletion of the span.
pub(super) async fn all(cluster: &Cluster, gathered: &mut UsageData) -> Result<()> {
    let (from, to) = gathered.span;
    let source = cluster.source.as_ref();
    let every =
        u64::try_from(to.0 - from.0).unwrap_or(0).div_ceil(if source.is_shared() { COMPARED_LIVE } else { MAX_WRITES_COMPARED }).max(1);
    gathered.compared_every = every;
    let mut managers: HashMap<String, Sum> = HashMap::new();
    let mut updates = 0;
    let mut items = source.watch(KeyRange::all(), from.after(), Until::Revision(to));
    while let Some(item) = items.try_next().await? {
        let WatchItem::Event(event) = item else { continue };
        let (key, bytes) = (&event.key_value.key, event.key_value.value.len() as u64);
        if !gathered.counts(key) {
            continue;
        }
        if event.kind == EventKind::Delete {
            gathered.usage.deleted(key);
            continue;
        }
        gathered.usage.written(key, 1, bytes);
        let manager = cluster.decoder.last_manager(key, &event.key_value.value).unwrap_or_default();
        let mut sum = Sum { writes: 1, written_bytes: bytes, ..Sum::default() };
        if event.key_value.version != 1 {
            updates += 1;
            if updates % every == 0
                && let Some(is_idle) = is_idle(cluster, &event.key_value).await?
            {
                gathered.usage.compared(key, is_idle);
                (sum.compared, sum.idle) = (1, u64::from(is_idle));
            }
        }
        managers.entry(manager).or_default().add(sum);
    }
    let mut managers: Vec<(String, Sum)> = managers.into_iter().collect();
    managers.sort_by(|a, b| b.1.writes.cmp(&a.1.writes).then_with(|| a.0.cmp(&b.0)));
    gathered.managers = Some(managers);
    Ok(())
}

/// Whether a version changed nothing but timestamps and managedFields; `None` where that cannot be told.
async fn is_idle(cluster: &Cluster, now: &KeyValue) -> Result<Option<bool>> {
    let before = version_replaced(cluster.source.as_ref(), now).await?;
    let Some(before) = before.filter(|before| now.follows(before)) else { return Ok(None) };
    if before.value == now.value {
        return Ok(Some(true));
    }
    let decoded = |entry: &KeyValue| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body;
    let (Body::Object(before), Body::Object(now)) = (decoded(&before), decoded(now)) else { return Ok(None) };
    Ok(Some(usage::is_idle(&before, &now)))
}

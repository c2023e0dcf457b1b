//! Writes by reading each of them: bytes, field managers, and which changed nothing but timestamps and managedFields.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, LazyLock};

use async_stream::try_stream;
use futures_util::{Stream, TryStreamExt};

use ketcd_history::usage::{self, Sum};
use ketcd_kube::{Apart, Body, Decoder, FieldSet, StoredVersion};
use ketcd_store::{Event, EventKind, KeyRange, KeyValue, Revision, Source, Until, WatchItem};

use super::usage_data::{UsageData, UsageScope};
use crate::cluster::Cluster;
use crate::cores::in_order_ahead;
use crate::error::Result;
use crate::read::version_replaced;
use crate::writers::LastManagers;

/// Beyond this many writes, only some are compared with what they replaced; on a live etcd each comparison is a request.
const MAX_WRITES_COMPARED: u64 = 30_000;
const COMPARED_LIVE: u64 = 2_000;

/// What is made of both versions besides what differs: of managedFields, which do not count, no more than this.
static MADE_OF_BOTH: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of(["metadata.managedFields.manager"]));

/// Adds every write and deletion of the span.
pub(super) async fn all(cluster: &Cluster, gathered: &mut UsageData) -> Result<()> {
    let (from, to) = gathered.span;
    let source = cluster.source.as_ref();
    let every =
        u64::try_from(to.0 - from.0).unwrap_or(0).div_ceil(if source.is_shared() { COMPARED_LIVE } else { MAX_WRITES_COMPARED }).max(1);
    gathered.compared_every = every;
    let scope = Arc::clone(&gathered.scope);
    let events = counted_events(source, scope, (from, to), every);
    let (decoder, last_managers) = (cluster.decoder.clone(), LastManagers::of(cluster));
    let look = move |(event, before): (Event, Option<KeyValue>)| {
        let KeyValue { key, value, .. } = &event.key_value;
        let manager = if event.kind == EventKind::Put { last_managers.manager(key, value) } else { None };
        let is_idle = before.and_then(|before| is_idle(&decoder, &before, &event.key_value));
        (event, manager.unwrap_or_default(), is_idle)
    };
    let bytes =
        |(event, before): &(Event, Option<KeyValue>)| event.key_value.value.len() + before.as_ref().map_or(0, |before| before.value.len());
    let mut looked = pin!(in_order_ahead(events, bytes, look));
    let mut managers: HashMap<String, Sum> = HashMap::new();
    while let Some((event, manager, is_idle)) = looked.try_next().await? {
        let (key, bytes) = (&event.key_value.key, event.key_value.value.len() as u64);
        if event.kind == EventKind::Delete {
            gathered.usage.deleted(key);
            continue;
        }
        gathered.usage.written(key, 1, bytes);
        let mut sum = Sum { writes: 1, written_bytes: bytes, ..Sum::default() };
        if let Some(is_idle) = is_idle {
            gathered.usage.compared(key, is_idle);
            (sum.compared, sum.idle) = (1, u64::from(is_idle));
        }
        managers.entry(manager).or_default().add(sum);
    }
    let mut managers: Vec<(String, Sum)> = managers.into_iter().collect();
    managers.sort_by(|a, b| b.1.writes.cmp(&a.1.writes).then_with(|| a.0.cmp(&b.0)));
    gathered.managers = Some(managers);
    Ok(())
}

/// The events that count, one update in `every` with the version that it replaced.
fn counted_events<'s>(
    source: &'s dyn Source,
    scope: Arc<UsageScope>,
    (from, to): (Revision, Revision),
    every: u64,
) -> impl Stream<Item = Result<(Event, Option<KeyValue>)>> + Send + 's {
    try_stream! {
        let mut updates = 0;
        let mut items = source.watch(KeyRange::all(), from.after(), Until::Revision(to));
        while let Some(item) = items.try_next().await? {
            let WatchItem::Event(event) = item else { continue };
            if !scope.counts(&event.key_value.key) {
                continue;
            }
            let is_update = event.kind == EventKind::Put && event.key_value.version != 1;
            updates += u64::from(is_update);
            let mut before = None;
            if is_update && updates % every == 0 {
                before = version_replaced(source, &event.key_value).await?.filter(|before| event.key_value.follows(before));
            }
            yield (event, before);
        }
    }
}

/// Whether a version changed nothing but timestamps and managedFields; `None` where that cannot be told.
fn is_idle(decoder: &Decoder, before: &KeyValue, now: &KeyValue) -> Option<bool> {
    if before.value == now.value {
        return Some(true);
    }
    // What is stored the same says the same: it need not be made of either.
    let apart = Apart::of(decoder, &now.key, Some(stored(before)), stored(now), &MADE_OF_BOTH, true);
    if let Some(Apart { before, after, .. }) = apart {
        return Some(usage::is_idle(&before, &after));
    }
    let decoded = |entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body;
    let (Body::Object(before), Body::Object(now)) = (decoded(before), decoded(now)) else { return None };
    Some(usage::is_idle(&before, &now))
}

fn stored(version: &KeyValue) -> StoredVersion<'_> {
    StoredVersion { value: &version.value, mod_revision: version.mod_revision.0 }
}

//! The clock of a history that is short enough to be read whole.

use std::collections::HashMap;
use std::pin::pin;

use bytes::Bytes;
use futures_util::TryStreamExt;

use super::leases;
use ketcd_history::Leases;
use ketcd_history::clock::{Clock, StampCollector};
use ketcd_store::{EventKind, KeyValue, Revision, Until};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{Keys, Read, events};

/// Reads every change up to `newest` for its times.
pub(super) async fn clock(cluster: &Cluster, newest: Revision) -> Result<Clock> {
    let (mut evidence, mut alive) = (StampCollector::default(), Leases::default());
    let mut nodes: HashMap<Bytes, KeyValue> = HashMap::new();
    let mut events = pin!(events(cluster, Keys::all(), Until::Revision(newest)));
    while let Some(read) = events.try_next().await? {
        let event = match read {
            Read::Item(event) => event,
            Read::Gap { to, .. } => {
                alive.gap(to);
                leases::confirm(cluster, &mut alive, to.after()).await?;
                continue;
            }
        };
        let entry = &event.key_value;
        let decode = || cluster.decoder.only(StampCollector::looked_at()).decode(&entry.key, &entry.value, entry.mod_revision.0);
        let decoded = (event.kind == EventKind::Put).then(decode);
        let object = decoded.as_ref().and_then(|decoded| decoded.object());
        // Several write a node, each its own times: where changes are missing, the next version holds what these set.
        let is_node = object.is_some_and(|object| object["kind"] == "Node");
        if is_node && nodes.insert(entry.key.clone(), entry.clone()).is_some_and(|before| !entry.follows(&before)) {
            evidence.forget(&entry.key);
        }
        evidence.observe(event.revision, &entry.key, entry.version == 1, object);
        alive.observe(entry, object);
    }
    alive.complete(newest);
    let are_dates = cluster.source.arrivals_are_dates();
    for arrival in &cluster.source.arrivals(Revision(1), newest) {
        match are_dates {
            true => evidence.observe_date(arrival),
            false => evidence.observe_arrival(arrival),
        }
    }
    Ok(evidence.finish().with_leases(alive))
}

//! When another kube-scheduler process took over, as its lease tells: its cache and its queue begin anew.

use std::collections::VecDeque;
use std::pin::pin;

use futures_util::TryStreamExt;
use ketcd_store::{Event, EventKind, KeyRange, Revision, Until};

use super::feed::Feed;
use crate::error::{Error, Result};
use crate::read::{Keys, Read, events};

/// The lease that kube-scheduler is elected by where its configuration names no other.
const LEASE: &str = "leases/kube-system/kube-scheduler";

impl Feed<'_> {
    /// The revisions up to `until` that gave the lease to another holder. The lease is not read in a long history, nor where the user may not read it.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn restarts(&self, until: Revision) -> Result<VecDeque<i64>> {
        let mut found = VecDeque::new();
        if self.cluster.is_long().await? {
            return Ok(found);
        }
        let keys = Keys::many(vec![KeyRange::key(format!("{}{LEASE}", self.prefix))]);
        let mut holder = None;
        let mut events = pin!(events(self.cluster, keys, Until::Revision(until)));
        loop {
            let event = match events.try_next().await {
                Ok(Some(Read::Item(event))) => event,
                Ok(Some(Read::Gap { .. })) => continue,
                Ok(None) => return Ok(found),
                Err(Error::Source(error)) if error.is_denied() => return Ok(found),
                Err(error) => return Err(error),
            };
            let next = self.holder(&event);
            if next.is_some() && holder.is_some() && next != holder {
                found.push_back(event.revision.0);
            }
            holder = next.or(holder);
        }
    }

    /// Who holds the lease in one of its versions.
    fn holder(&self, event: &Event) -> Option<String> {
        let entry = &event.key_value;
        let put = event.kind == EventKind::Put;
        let decoded = put.then(|| self.cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0))?;
        let holder = decoded.object()?["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
        Some(holder.to_owned())
    }
}

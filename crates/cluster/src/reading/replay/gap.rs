//! Revisions that none of several sources has: what was there before them and is not there after them was deleted meanwhile.

use std::collections::HashSet;

use bytes::Bytes;
use futures_util::TryStreamExt;

use super::feed::Feed;
use crate::error::Result;
use ketcd_store::{At, Error as StoreError, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Sources, Want};

/// Revisions between two sources, and what they took away.
pub(super) struct Between {
    /// The first revision that can be read again.
    pub next: Revision,
    /// The deletions, as if they had been made at the first missing revision.
    pub deletions: Vec<Event>,
}

impl Feed<'_> {
    /// Looks around a revision that cannot be read; `None` where it is missing for another reason than that no source has it.
    pub(super) async fn between(&self, ranges: &[KeyRange], missing: Revision) -> Result<Option<Between>> {
        let nothing = KeyRange { start: vec![0], end: Some(vec![0]) };
        let asked = self.cluster.source.range(nothing, At::Revision(missing), Want::Keys).await.map(drop);
        let Err(StoreError::Between { before, after: next, .. }) = asked else { return Ok(None) };
        let mut deletions = Vec::new();
        for keys in ranges {
            let left: HashSet<Bytes> = self.keys_alive(keys, next).await?.into_iter().collect();
            let gone = self.keys_alive(keys, before).await?.into_iter().filter(|key| !left.contains(key));
            deletions.extend(gone.map(|key| deletion(key, missing)));
        }
        Ok(Some(Between { next, deletions }))
    }

    async fn keys_alive(&self, keys: &KeyRange, at: Revision) -> Result<Vec<Bytes>> {
        let listing = self.cluster.source.range(keys.clone(), At::Revision(at), Want::Keys).await?;
        Ok(listing.entries.map_ok(|entry| entry.key).try_collect().await?)
    }
}

fn deletion(key: Bytes, revision: Revision) -> Event {
    let key_value = KeyValue {
        key,
        value: Bytes::new(),
        create_revision: Revision(0),
        mod_revision: revision,
        version: 0,
        replaced: Revision(0),
        lease: 0,
    };
    Event { revision, sub_revision: 0, kind: EventKind::Delete, key_value, origin: Origin::Db, sources: Sources::default() }
}

//! What a sound database shows without being walked: its span, single revisions, and what was written last. Some pages are read for it.

use std::ops::ControlFlow;

use bytes::Bytes;

use super::bolt::{Bolt, Bucket, BucketPair, Order, Visited, Walk};
use super::buckets::MetaBucket;
use super::image::Image;
use super::mvcc::{KeyValuePlaces, RevisionKey};
use crate::{Event, EventKind, KeyValue, Origin, Revision, RevisionSpan, Sources};

/// A database file that was looked into.
pub(crate) struct Peek {
    bolt: Bolt,
    keys: Bucket,
    span: RevisionSpan,
}

impl Peek {
    /// Looks into a file. `None` where its meta pages or the way to its ends are damaged, or etcd writes it.
    pub(super) fn at(image: &Image) -> Option<Self> {
        if image.live.is_some() || image.cut.is_some() {
            return None;
        }
        let bolt = Bolt::open(image.bytes.clone()).ok().filter(|bolt| bolt.problems.is_empty())?;
        let keys = bolt.bucket_named(b"key")?;
        let mut walk = Walk::going_on(&bolt, Visited::new(bolt.room()), Vec::new());
        let meta = MetaBucket::read(&bolt, &mut walk, &bolt.bucket_named(b"meta")?);
        if !walk.damage.is_empty() || !meta.problems.is_empty() {
            return None;
        }
        let mut last = None;
        bolt.pairs_beside(&keys, &[0xff; 18], Order::Descending, &mut |pair| {
            last = RevisionKey::read(&bolt.image[pair.key]);
            ControlFlow::Break(())
        })?;
        let compacted = meta.compacted();
        let newest = Revision(last.map_or(1, |key| key.main)).max(compacted.unwrap_or(Revision(1)));
        let span = RevisionSpan { oldest: compacted.unwrap_or(Revision(1)), newest, compacted };
        Some(Self { bolt, keys, span })
    }

    pub(crate) fn span(&self) -> RevisionSpan {
        self.span
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bolt.image.len() as u64
    }

    /// The changes of one revision. `None`: a page on the way is damaged.
    pub(crate) fn changes(&self, revision: Revision) -> Option<Vec<Event>> {
        let mut found = Some(Vec::new());
        self.bolt.pairs_beside(&self.keys, &revision.0.to_be_bytes(), Order::Ascending, &mut |pair| {
            let Some(key) = RevisionKey::read(&self.bolt.image[pair.key.clone()]).filter(|key| key.main <= revision.0) else {
                return ControlFlow::Break(());
            };
            // A restore leaves a marker, which is not a change.
            if pair.value.is_empty() && !key.tombstone {
                return ControlFlow::Continue(());
            }
            match (self.event(key, &pair), &mut found) {
                (Some(event), Some(events)) => events.push(event),
                _ => found = None,
            }
            ControlFlow::Continue(())
        })?;
        found
    }

    /// The changes that were written last up to a revision, the newest first, no more than `most`. `None`: a page on the way is damaged.
    pub(crate) fn written_upto(&self, revision: Revision, most: usize) -> Option<Vec<Event>> {
        let mut found = Vec::new();
        self.bolt.pairs_beside(&self.keys, &revision.after().0.to_be_bytes(), Order::Descending, &mut |pair| {
            let key = RevisionKey::read(&self.bolt.image[pair.key.clone()]).filter(|key| key.main <= revision.0);
            found.extend(key.and_then(|key| self.event(key, &pair)));
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Some(found)
    }

    fn event(&self, key: RevisionKey, pair: &BucketPair) -> Option<Event> {
        let message: Bytes = self.bolt.image.slice(pair.value.clone());
        let read = KeyValuePlaces::read(&message).filter(|read| !read.key.is_empty())?;
        let kind = if key.tombstone { EventKind::Delete } else { EventKind::Put };
        let key_value = KeyValue {
            key: message.slice(read.key),
            value: message.slice(read.value),
            create_revision: Revision(read.create_revision),
            mod_revision: Revision(key.main),
            version: read.version,
            replaced: Revision(0),
            lease: read.lease,
        };
        let revision = Revision(key.main);
        Some(Event { revision, sub_revision: key.sub, kind, key_value, origin: Origin::Db, sources: Sources::default() })
    }
}

//! The hash that etcd's HashKV computes of a store, so that a file is compared with a running member by a number.
//!
//! Source: etcd v3.7.3, `server/storage/mvcc/hash.go` (`unsafeHashByRev`), `index.go` and `key_index.go` (`Keep`), `kvstore.go` (`hashByRev`). It is the
//! CRC-32C of the bucket's name and of each pair of it, as bytes. A revision up to the last compaction counts
//! only if a compaction at the revision of the hash would keep it, and never where it is the deletion at the compacted revision itself: releases before
//! 3.4.34 and 3.5.16 removed that one, later ones keep it, and all are to have one hash.

use std::collections::HashSet;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt};
use prost::Message;

use super::proto::mvccpb;
use super::{At, Call, Event, EventKind, KeyRange, KeyValue, MemberLog, Origin, Result, Revision, Source, Until, Want, WatchItem};

const KEY_BUCKET: &[u8] = b"key";

/// etcd's hash of a store at a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HashKv {
    /// The hash.
    pub hash: u32,
    /// The revision.
    pub revision: Revision,
    /// The revision to which the store is compacted; hashes of others are not comparable with it. `None` where it never was.
    pub compacted: Option<Revision>,
}

impl HashKv {
    /// Computes the hash of what an etcd's file holds at a revision; `None` where that lacks changes.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub async fn of(source: &dyn Source, revision: Revision) -> Result<Option<Self>> {
        let mut hasher = KeyValueHasher::at(source, revision).await?;
        let mut items = source.watch(KeyRange::all(), Revision(1), Until::Revision(revision));
        while let Some(item) = items.next().await.transpose()? {
            hasher.add(&item);
        }
        Ok(hasher.finish())
    }
}

/// Computes the hash of the changes that a watch of all keys brings, from the first.
pub struct KeyValueHasher {
    crc: u32,
    revision: i64,
    compacted: i64,
    /// What of the compacted time is still alive, where anything is: everything else of it was removed or is about to be.
    kept: HashSet<(i64, Bytes)>,
    /// Whether any key is alive: where none is, etcd leaves nothing out.
    has_kept: bool,
    /// Whether a change of the compacted time was seen. A compaction leaves the newest version of each key, so where there is none they were not read.
    has_compacted: bool,
    /// Revisions whose record a restore left without a value; descending.
    markers: Vec<i64>,
    is_whole: bool,
    buffer: BytesMut,
}

impl KeyValueHasher {
    /// A hasher of the changes up to a revision, of which the source can be asked for the state.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub async fn at(source: &dyn Source, revision: Revision) -> Result<Self> {
        // The log may still hold what the member compacted.
        let logged = source.facts().log.and_then(|log| newest_compaction(log, revision));
        let compacted = source.span().await?.compacted.max(logged).map_or(-1, |compacted| compacted.0);
        let mut alive = source.range(KeyRange::all(), At::Revision(revision), Want::Keys).await?.entries;
        let (mut kept, mut has_kept) = (HashSet::new(), false);
        while let Some(KeyValue { key, mod_revision, .. }) = alive.try_next().await? {
            has_kept = true;
            if mod_revision.0 <= compacted {
                kept.insert((mod_revision.0, key));
            }
        }
        let skipped = source.facts().before.map(|index| index.skipped()).unwrap_or_default();
        let mut markers: Vec<i64> = skipped.into_iter().map(|(_, marker)| marker.0).filter(|marker| *marker <= revision.0).collect();
        markers.sort_unstable_by(|one, other| other.cmp(one));
        // The marker is the newest version of the key "", which is alive for ever.
        has_kept |= !markers.is_empty();
        let crc = crc32c::crc32c(KEY_BUCKET);
        Ok(Self {
            crc,
            revision: revision.0,
            compacted,
            kept,
            has_kept,
            has_compacted: compacted < 0,
            markers,
            is_whole: true,
            buffer: BytesMut::new(),
        })
    }

    /// Takes what a watch brings next.
    pub fn add(&mut self, item: &WatchItem) {
        match item {
            WatchItem::Event(event) => self.event(event),
            WatchItem::Gap { to, .. } => self.is_whole &= to.0 <= self.compacted,
            WatchItem::Progress(_) => {}
        }
    }

    /// Returns the hash; `None` where changes are missing, or were found where etcd does not look for them.
    pub fn finish(mut self) -> Option<HashKv> {
        self.markers_before(i64::MAX);
        let compacted = (self.compacted >= 0).then_some(Revision(self.compacted));
        (self.is_whole && (self.has_compacted || !self.has_kept)).then_some(HashKv {
            hash: self.crc,
            revision: Revision(self.revision),
            compacted,
        })
    }

    fn event(&mut self, event: &Event) {
        let main = event.revision.0;
        if main > self.revision {
            return;
        }
        self.markers_before(main);
        self.has_compacted |= main <= self.compacted;
        // What the tree has lost is damage, and the log goes on behind it.
        let is_known = matches!(event.origin, Origin::Db | Origin::Wal);
        if main > self.compacted {
            self.is_whole &= is_known;
        } else if !is_known || !self.counts(event) {
            return;
        }
        self.buffer.clear();
        append_revision(&mut self.buffer, main, event.sub_revision, event.kind == EventKind::Delete);
        let message = message(event);
        self.is_whole &= message.encode(&mut self.buffer).is_ok();
        self.crc = crc32c::crc32c_append(self.crc, &self.buffer);
    }

    /// Whether a change of the compacted time counts.
    fn counts(&self, event: &Event) -> bool {
        let is_deletion = event.kind == EventKind::Delete;
        if is_deletion && event.revision.0 == self.compacted {
            return false;
        }
        !self.has_kept || !is_deletion && self.kept.contains(&(event.revision.0, event.key_value.key.clone()))
    }

    /// Adds the records without a value that come before a revision. Up to the last compaction the newest of them alone is kept.
    fn markers_before(&mut self, main: i64) {
        while let Some(marker) = self.markers.pop_if(|marker| *marker < main) {
            let is_replaced = !self.markers.is_empty();
            self.has_compacted |= marker <= self.compacted;
            if marker > self.compacted || !is_replaced {
                self.buffer.clear();
                append_revision(&mut self.buffer, marker, 0, false);
                self.crc = crc32c::crc32c_append(self.crc, &self.buffer);
            }
        }
    }
}

/// The newest compaction up to a revision that a member's log asked for and knows to be committed.
fn newest_compaction(log: &dyn MemberLog, revision: Revision) -> Option<Revision> {
    let compactions = log.calls().filter(|logged| logged.is_committed).filter_map(|logged| match logged.call {
        Call::Compaction(compacted) => Some(compacted),
        _ => None,
    });
    compactions.filter(|compacted| *compacted <= revision).max()
}

/// Appends a key of the bucket: the revision, and a mark where it is a deletion (etcd v3.7.3, `server/storage/mvcc/revision.go`).
fn append_revision(out: &mut BytesMut, main: i64, sub: i64, is_deletion: bool) {
    out.put_i64(main);
    out.put_u8(b'_');
    out.put_i64(sub);
    if is_deletion {
        out.put_u8(b't');
    }
}

/// The value of the bucket as etcd writes it.
fn message(event: &Event) -> mvccpb::KeyValue {
    let KeyValue { key, value, create_revision, mod_revision, version, lease, .. } = event.key_value.clone();
    match event.kind {
        EventKind::Delete => mvccpb::KeyValue { key, ..mvccpb::KeyValue::default() },
        EventKind::Put => mvccpb::KeyValue { key, create_revision: create_revision.0, mod_revision: mod_revision.0, version, value, lease },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_bucket_are_etcds() {
        let key = |is_deletion| {
            let mut out = BytesMut::new();
            append_revision(&mut out, 0x1267, 3, is_deletion);
            out.to_vec()
        };
        let put = [0, 0, 0, 0, 0, 0, 0x12, 0x67, b'_', 0, 0, 0, 0, 0, 0, 0, 3];
        assert_eq!(key(false), put);
        assert_eq!(key(true), [&put[..], b"t"].concat());
    }
}

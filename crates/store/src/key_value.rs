//! Keys, values and the changes they go through.

use std::sync::Arc;

use bytes::Bytes;

use super::Revision;

/// One key as it stood at some revision. `Bytes` lets a value be a slice of a mapped file or of a received message without a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The whole key, prefix included.
    pub key: Bytes,
    /// The stored bytes; empty where only keys were requested, and for a deletion.
    pub value: Bytes,
    /// The revision that created the key (again, after its last deletion); 0 where it is not known.
    pub create_revision: Revision,
    /// The revision of this version.
    pub mod_revision: Revision,
    /// 1 at creation, one more with each put; 0 where it is not known (a put known only from a log that begins later).
    pub version: i64,
    /// The revision of the version that this one replaced, where the source knows it and counts no versions (kine, an API server); 0 elsewhere.
    pub replaced: Revision,
    /// The lease that the key is attached to; 0 for none. In kine, a lease's number is the key's time to live in seconds.
    pub lease: i64,
}

impl KeyValue {
    /// Whether this version, which was written and not deleted, is the next one of its key after `before`.
    pub fn follows(&self, before: &Self) -> bool {
        if self.replaced > Revision(0) {
            let is_known = self.create_revision > Revision(0) && before.create_revision > Revision(0);
            return self.replaced == before.mod_revision && (!is_known || self.create_revision == before.create_revision);
        }
        before.version + 1 == self.version && self.create_revision == before.create_revision
    }
}

/// Whether a change wrote a value or removed the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum EventKind {
    /// The key was written.
    Put,
    /// The key was deleted; the key-value holds only key and mod revision.
    Delete,
}

/// Where a change was read from, best first: a change held by several sources is named after the least of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Origin {
    /// A running etcd.
    Live,
    /// The reachable tree of a database file.
    Db,
    /// A write-ahead log.
    Wal,
    /// A recording of a running etcd.
    Recording,
    /// An API server, or a recording made through one: the value is the object as the server returns it, not the bytes in etcd.
    ApiServer,
    /// A later change of a kine database, which records the value that it replaced.
    OldValue,
    /// Pages of a database file that no tree reaches any more.
    FreePage,
    /// A file of API objects: the state of one moment, which does not show what this write changed.
    Objects,
    /// A body in an audit log.
    AuditLog,
    /// Worked out from an audit log that names the revision and does not hold the body.
    Derived,
    /// From an audit log that does not name the revision: the change has a free one of its time, which need not be etcd's.
    Placed,
}

impl Origin {
    /// Whether the revision is only about the one that etcd has.
    pub fn is_placed(self) -> bool {
        self == Self::Placed
    }
}

/// One change in etcd's history, still bytes. (A Kubernetes Event is an object, not this.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The transaction's revision.
    pub revision: Revision,
    /// The change's place among those of its revision, from 0.
    pub sub_revision: i64,
    /// Put or delete.
    pub kind: EventKind,
    /// The key after the change; for a deletion only its key and mod revision.
    pub key_value: KeyValue,
    /// Where it was read.
    pub origin: Origin,
    /// Which of several sources it was read from.
    pub sources: Sources,
}

impl Event {
    /// The write of a version that was read by itself.
    pub fn put(key_value: KeyValue, origin: Origin) -> Self {
        Self { revision: key_value.mod_revision, sub_revision: 0, kind: EventKind::Put, key_value, origin, sources: Sources::default() }
    }

    /// Whether it is the first version of an object.
    pub fn is_creation(&self) -> bool {
        self.kind == EventKind::Put && self.key_value.version == 1
    }
}

/// The names of those among several sources that a change was read from, in the order in which the sources were given; none where one
/// source was given. A change is the same whichever sources hold it, so all of them are equal.
#[derive(Clone, Debug, Default)]
pub struct Sources(Option<Arc<[Arc<str>]>>);

impl Sources {
    pub(crate) fn new(names: Arc<[Arc<str>]>) -> Self {
        Self(Some(names))
    }

    /// The names.
    pub fn names(&self) -> &[Arc<str>] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl PartialEq for Sources {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Sources {}

/// A half-open range of keys, as etcd's Range RPC takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key.
    pub start: Vec<u8>,
    /// The first key beyond the range; `None` means no upper end.
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every key of the store.
    pub fn all() -> Self {
        Self { start: vec![0], end: None }
    }

    /// Exactly one key.
    pub fn key(key: impl Into<Vec<u8>>) -> Self {
        let start = key.into();
        let mut end = start.clone();
        end.push(0);
        Self { start, end: Some(end) }
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let start = prefix.into();
        let mut end = start.clone();
        while let Some(last) = end.pop() {
            if last < 0xff {
                end.push(last + 1);
                return Self { start, end: Some(end) };
            }
        }
        Self { start, end: None }
    }

    /// The smallest range that holds all of `ranges`; every key if there are none.
    pub fn hull(ranges: &[Self]) -> Self {
        let Some(start) = ranges.iter().map(|range| range.start.clone()).min() else { return Self::all() };
        let is_open = ranges.iter().any(|range| range.end.is_none());
        Self { start, end: if is_open { None } else { ranges.iter().filter_map(|range| range.end.clone()).max() } }
    }

    /// Whether all keys of `other` lie in the range.
    pub fn covers(&self, other: &Self) -> bool {
        let ends_before = |end: &Vec<u8>| other.end.as_ref().is_some_and(|last| last <= end);
        // No key is empty: the first possible one is `\0`.
        (self.start <= other.start || self.start == [0]) && self.end.as_ref().is_none_or(ends_before)
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && self.end.as_deref().is_none_or(|end| key < end)
    }
}

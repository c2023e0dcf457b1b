//! What a scheduler watches, read from a source: objects and Events as the replay takes them.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use futures_util::StreamExt;

use ketcd_scheduler::cluster::{ClusterState, ObjectKey, ObjectReader, Preparsed, RawObject, prefetch};
use ketcd_scheduler::{Attempt, LeaderLock, Replay};
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Revision, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::{Notice, RestartsUnknown};

/// A scheduler's configuration, as far as it says what its process is elected by and which pods it decides about.
#[derive(Clone, Debug)]
pub(super) struct ConfiguredLock {
    /// The lock; `None` where no leader is elected.
    pub lock: Option<LeaderLock>,
    /// The names of its profiles.
    pub profiles: BTreeSet<String>,
}

/// Reads what a scheduler watches.
pub struct Feed<'s> {
    pub(super) cluster: &'s Cluster,
    pub(super) prefix: String,
    reader: ObjectReader,
    pub(super) configured: Option<ConfiguredLock>,
    pub(super) noted: Mutex<Vec<RestartsUnknown>>,
}

impl<'s> Feed<'s> {
    /// A feed from a cluster's source.
    ///
    /// # Errors
    /// The prefix cannot be found.
    pub async fn new(cluster: &'s Cluster) -> Result<Self> {
        let prefix = format!("{}/", cluster.prefix().await?);
        Ok(Self { cluster, prefix, reader: ObjectReader::new(&cluster.reporting_decoder), configured: None, noted: Mutex::default() })
    }

    /// Hands on the objects below a path at a revision.
    pub(super) async fn load(&self, below: &str, at: Revision, put: &mut dyn FnMut(WatchedVersion)) -> Result<()> {
        let range = KeyRange::prefix(format!("{}{below}", self.prefix));
        let mut chunks = self.cluster.source.range(range, At::Revision(at), Want::Values).await?.entries.ready_chunks(CHUNK_ENTRIES);
        while let Some(chunk) = chunks.next().await {
            let entries = chunk.into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
            take_all(&entries, |entry| self.read(entry), &mut *put);
        }
        Ok(())
    }

    /// What a change makes of an object, if it concerns a scheduler.
    pub(super) fn read_event<'e>(&'e self, event: &'e Event) -> Option<WatchedVersion<'e>> {
        let entry = &event.key_value;
        if event.kind == EventKind::Put {
            return self.read(entry);
        }
        Some(WatchedVersion { what: FeedItem::Watched(self.key(&entry.key)?, None), revision: event.revision.0 })
    }

    /// An object that concerns a scheduler, read as far as that needs no state.
    pub(super) fn read<'e>(&'e self, entry: &'e KeyValue) -> Option<WatchedVersion<'e>> {
        let stored = RawObject::Stored { reader: &self.reader, key: &entry.key, value: &entry.value, mod_revision: entry.mod_revision.0 };
        let what = match self.key(&entry.key) {
            Some(key) => {
                let object = stored.parsed(key.kind);
                FeedItem::Watched(key, Some(object))
            }
            None if self.is_event(&entry.key) => FeedItem::Event(stored),
            None => return None,
        };
        Some(WatchedVersion { what, revision: entry.mod_revision.0 })
    }

    /// Notes what is not known of the scheduler's restarts, once.
    pub(super) fn note_unknown(&self, unknown: RestartsUnknown) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if !noted.contains(&unknown) {
            noted.push(unknown.clone());
            self.cluster.note(Notice::RestartsUnknown(unknown));
        }
    }

    /// Whether anything is not known of the scheduler's restarts.
    pub(super) fn is_any_unknown(&self) -> bool {
        !self.noted.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn is_event(&self, key: &[u8]) -> bool {
        key.strip_prefix(self.prefix.as_bytes()).is_some_and(|path| path.starts_with(b"events/"))
    }

    fn key(&self, key: &[u8]) -> Option<ObjectKey> {
        ObjectKey::parse(std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?)
    }
}

/// A version of an object that concerns a scheduler.
pub(super) struct WatchedVersion<'e> {
    what: FeedItem<'e>,
    revision: i64,
}

enum FeedItem<'e> {
    /// An object that a scheduler watches, `None` where it was deleted.
    Watched(ObjectKey, Option<Preparsed<'e>>),
    Event(RawObject<'e>),
}

impl WatchedVersion<'_> {
    pub(super) fn revision(&self) -> i64 {
        self.revision
    }

    /// The object's key; `None`: it is an Event.
    pub(super) fn key(&self) -> Option<&ObjectKey> {
        if let FeedItem::Watched(key, _) = &self.what { Some(key) } else { None }
    }

    pub(super) fn put(self, state: &mut ClusterState) {
        if let FeedItem::Watched(key, object) = self.what {
            state.apply(&key, object, self.revision);
        }
    }

    pub(super) fn seed(self, replay: &mut Replay) {
        if let FeedItem::Watched(key, Some(object)) = self.what {
            replay.seed(&key, object, self.revision);
        }
    }

    pub(super) fn advance(self, replay: &mut Replay) -> Vec<Attempt> {
        match self.what {
            FeedItem::Watched(key, object) => replay.advance(&key, object, self.revision),
            FeedItem::Event(object) => replay.observe_event(object, self.revision).into_iter().collect(),
        }
    }
}

/// How many entries are taken from the source at once, if that many are at hand.
pub(super) const CHUNK_ENTRIES: usize = 16_384;

/// [`prefetch`] of what cannot fail.
pub(super) fn take_all<'e>(
    entries: &'e [KeyValue],
    read: impl Fn(&'e KeyValue) -> Option<WatchedVersion<'e>> + Sync,
    mut take: impl FnMut(WatchedVersion<'e>),
) {
    let taken: std::result::Result<(), Infallible> = prefetch(entries, read, |version| {
        take(version);
        Ok(())
    });
    let Ok(()) = taken;
}

//! Versions that two changes need: each is decoded once, by whichever thread needs it first.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::change::{Change, ObjectVersion};
use super::event_pair::{EventPair, PrevVersion};
use ketcd_kube::{Body, Opaque, UnknownField};
use ketcd_store::{EventKind, KeyValue, Revision};

/// The most stored bytes of which versions are kept. Decoded objects take several times as much memory.
const MAX_RECENT_BYTES: usize = 2 << 20;

/// What a decoder has to report of a value: the fields that it does not know, or why it cannot be decoded.
pub type Problems = Result<Vec<UnknownField>, Opaque>;

/// A version on its way to the one or two changes that need it.
#[derive(Debug)]
pub struct SharedVersion {
    revision: Revision,
    decoded: OnceLock<(ObjectVersion, Problems)>,
}

/// The last versions of keys, to be decoded or decoded already: those of at most 2 MiB of stored bytes.
#[derive(Debug, Default)]
pub struct Recent {
    versions: HashMap<Bytes, Arc<SharedVersion>>,
    /// Stored bytes of all versions put there since it was empty.
    bytes: usize,
}

impl Recent {
    /// Returns the versions before and after an event, as far as they are shared with other changes.
    pub fn of(&mut self, EventPair { event, prev, .. }: &EventPair) -> [Option<Arc<SharedVersion>>; 2] {
        let stored = &event.key_value;
        let last = self.versions.remove(&stored.key);
        let before = last.filter(|last| matches!(prev, PrevVersion::Version(prev) if prev.mod_revision == last.revision));
        if event.kind == EventKind::Delete {
            return [before, None];
        }
        self.bytes += stored.value.len();
        if self.bytes > MAX_RECENT_BYTES {
            self.versions.clear();
            self.bytes = stored.value.len();
        }
        let after = Arc::new(SharedVersion { revision: stored.mod_revision, decoded: OnceLock::new() });
        self.versions.insert(stored.key.clone(), Arc::clone(&after));
        [before, Some(after)]
    }
}

impl EventPair {
    /// Decodes both versions as [`EventPair::decode`] does, the shared ones once for all changes. Returns what is to be reported of them, too, each with its
    /// revision.
    pub fn decode_shared(
        self,
        shared: &[Option<Arc<SharedVersion>>; 2],
        decode: impl Fn(&KeyValue) -> (Body, Vec<UnknownField>),
    ) -> (Change, Vec<(i64, Problems)>) {
        let mut found = Vec::new();
        let change = self.decode(|version| {
            let decode = || match decode(version) {
                (Body::Opaque(opaque), _) => (ObjectVersion::Opaque(opaque.clone()), Err(opaque)),
                (body, unknown) => (body.into(), Ok(unknown)),
            };
            let (object, problems) = match shared.iter().flatten().find(|shared| shared.revision == version.mod_revision) {
                Some(shared) => shared.decoded.get_or_init(decode).clone(),
                None => decode(),
            };
            if !problems.as_ref().is_ok_and(Vec::is_empty) {
                found.push((version.mod_revision.0, problems));
            }
            object
        });
        (change, found)
    }
}

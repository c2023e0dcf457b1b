//! Decodes changes: each version once, by whichever thread needs it first, although two changes need it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use ketcd_history::diff::ManagedFields;
use ketcd_history::{Change, EventPair, ObjectVersion, PrevVersion, TextChange};
use ketcd_kube::{Body, Decoded, Decoder, Opaque, UnknownField};
use ketcd_store::{EventKind, KeyValue, Revision};

/// The most stored bytes of which decoded versions are kept for the changes that replace them.
const MAX_RECENT_BYTES: usize = 2 << 20;

/// How far the objects of a change are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Whole.
    Whole,
    /// Whole, but of a creation only what shows what was made and by whom.
    BriefCreation,
    /// As far as the change needs, and the JSON of the object after it.
    Text(ManagedFields),
}

/// What is to be reported of a value that was decoded on another core.
type Problems = Result<Vec<UnknownField>, Opaque>;

/// A revision, and what is to be reported of the version that it wrote.
pub(super) type Found = (i64, Problems);

/// A version on its way to the one or two changes that need it.
pub(super) struct Version {
    revision: Revision,
    decoded: OnceLock<(ObjectVersion, Problems)>,
}

/// The last versions of keys, to be decoded or decoded already.
#[derive(Default)]
pub(super) struct Recent {
    versions: HashMap<Bytes, Arc<Version>>,
    /// Stored bytes of all versions put there since it was empty.
    bytes: usize,
}

impl Recent {
    /// Returns the versions before and after an event, as far as they are shared with other changes.
    pub(super) fn of(&mut self, EventPair { event, prev, .. }: &EventPair) -> [Option<Arc<Version>>; 2] {
        let last = self.versions.remove(&event.key_value.key);
        let before = last.filter(|last| matches!(prev, PrevVersion::Version(prev) if prev.mod_revision == last.revision));
        let after = (event.kind == EventKind::Put).then(|| {
            self.bytes += event.key_value.value.len();
            if self.bytes > MAX_RECENT_BYTES {
                self.versions.clear();
                self.bytes = event.key_value.value.len();
            }
            let version = Arc::new(Version { revision: event.key_value.mod_revision, decoded: OnceLock::new() });
            self.versions.insert(event.key_value.key.clone(), Arc::clone(&version));
            version
        });
        [before, after]
    }
}

/// Decodes a change, without reporting anything. Returns its object as text, too, where that was enough, and what is to be reported.
pub(super) fn decoded(
    pair: EventPair,
    shared: &[Option<Arc<Version>>],
    decoder: &Decoder,
    depth: Depth,
) -> (Change, Option<Vec<u8>>, Vec<Found>) {
    if let Depth::Text(managed_fields) = depth
        && let Some(TextChange { change, text, .. }) = pair.decode_as_text(decoder, managed_fields)
    {
        return (change, text, Vec::new());
    }
    let found = RefCell::new(Vec::new());
    let note = |version: &KeyValue, problems: Problems| {
        if !problems.as_ref().is_ok_and(Vec::is_empty) {
            found.borrow_mut().push((version.mod_revision.0, problems));
        }
    };
    let whole = |version: &KeyValue| decoder.decode(&version.key, &version.value, version.mod_revision.0);
    let noted = |version: &KeyValue, Decoded { body, unknown_fields, .. }: Decoded| {
        note(version, problems(&body, unknown_fields));
        body
    };
    let change = match depth {
        Depth::BriefCreation => pair.decode_with_brief_creation(
            |version| noted(version, whole(version)),
            |version, fields| noted(version, decoder.decode_only(&version.key, &version.value, version.mod_revision.0, fields)),
        ),
        Depth::Whole | Depth::Text(_) => pair.decode(|version| {
            let Some(shared) = shared.iter().flatten().find(|shared| shared.revision == version.mod_revision) else {
                return noted(version, whole(version)).into();
            };
            let (object, problems) = shared.decoded.get_or_init(|| {
                let Decoded { body, unknown_fields, .. } = whole(version);
                let problems = problems(&body, unknown_fields);
                (body.into(), problems)
            });
            note(version, problems.clone());
            object.clone()
        }),
    };
    (change, None, found.into_inner())
}

fn problems(body: &Body, unknown_fields: Vec<UnknownField>) -> Problems {
    match body {
        Body::Object(_) => Ok(unknown_fields),
        Body::Opaque(opaque) => Err(opaque.clone()),
    }
}

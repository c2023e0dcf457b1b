//! An event with the version before it, both as they are stored: decoded whole, or no further than the change needs to be told.

use std::sync::Arc;

use super::actor::{LOOKED_AT, LOOKED_AT_OF_DELETED, LOOKED_AT_WITH_FIELD_SETS, reads_containers, reads_field_sets};
use super::change::{Change, ChangeKind, ObjectVersion};
use super::diff::ManagedFields;
use ketcd_kube::{Apart, Body, Decoder, FieldSet, Object, StoredVersion};
use ketcd_store::{Event, EventKind, KeyValue};

/// An event with the version before it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The event.
    pub event: Event,
    /// The version before it.
    pub before: Before,
    /// For a deleted pod, the version before `before`, if it can be read.
    pub earlier: Option<KeyValue>,
}

/// The version before an event, as it is stored.
#[derive(Clone, Debug)]
pub enum Before {
    /// There was none: the key did not exist.
    Absent,
    /// There was one, but it cannot be read any more: a gap.
    Unreadable,
    /// This one.
    Version(KeyValue),
}

/// A change of whose objects only some members were made.
#[derive(Debug)]
pub struct TextChange {
    /// The change. Its actor and its patch are those of the whole change; in its objects all else may be missing.
    pub change: Change,
    /// The JSON of the object after the change; `None` where it was deleted.
    pub text: Option<Vec<u8>>,
}

impl Step {
    /// What the event did to its key.
    pub fn kind(&self) -> ChangeKind {
        match self.event.kind {
            EventKind::Delete => ChangeKind::Deleted,
            EventKind::Put if self.event.is_creation() => ChangeKind::Added,
            EventKind::Put => ChangeKind::Modified,
        }
    }

    /// Decodes both versions, the one before first.
    pub fn decode(self, mut decode: impl FnMut(&KeyValue) -> ObjectVersion) -> Change {
        let before = match &self.before {
            Before::Absent => ObjectVersion::Absent,
            Before::Unreadable => ObjectVersion::Unreadable,
            Before::Version(last) => decode(last),
        };
        let after = match self.event.kind {
            EventKind::Delete => ObjectVersion::Absent,
            EventKind::Put => decode(&self.event.key_value),
        };
        let earlier = self.earlier.as_ref().and_then(|earlier| decode(earlier).whole().cloned());
        Change { earlier, ..self.change(before, after) }
    }

    /// Decodes as much as is needed to tell the change with the JSON of its object. Reports nothing. `None` where less than whole objects does not do,
    /// or something is to be reported: then [`Self::decode`] does it.
    pub fn decode_as_text(&self, decoder: &Decoder, managed_fields: ManagedFields) -> Option<TextChange> {
        if self.event.kind == EventKind::Delete {
            let before = match &self.before {
                Before::Version(last) => decode_seen(last, decoder)?,
                Before::Absent => ObjectVersion::Absent,
                Before::Unreadable => ObjectVersion::Unreadable,
            };
            let earlier = match &self.earlier {
                Some(earlier) => decode_seen(earlier, decoder)?.whole().cloned(),
                None => None,
            };
            let change = Change { earlier, ..self.clone().change(before, ObjectVersion::Absent) };
            return Some(TextChange { change, text: None });
        }
        let shows_managers = managed_fields == ManagedFields::Shown;
        let mut apart = self.apart(decoder, if shows_managers { &LOOKED_AT_WITH_FIELD_SETS } else { &LOOKED_AT }, !shows_managers)?;
        if reads_containers(&apart.before, &apart.after) && matches!(self.before, Before::Version(_)) {
            return None;
        }
        if !shows_managers && matches!(self.before, Before::Version(_)) && reads_field_sets(&apart.before, &apart.after) {
            apart = self.apart(decoder, &LOOKED_AT_WITH_FIELD_SETS, true)?;
        }
        let Apart { text, before, after } = apart;
        let shared = |object: Object| ObjectVersion::Object(Arc::new(object));
        let before = match self.before {
            Before::Absent => ObjectVersion::Absent,
            Before::Unreadable => ObjectVersion::Unreadable,
            Before::Version(_) => shared(before),
        };
        Some(TextChange { change: self.clone().change(before, shared(after)), text: Some(text) })
    }

    fn apart(&self, decoder: &Decoder, kept: &FieldSet, lean: bool) -> Option<Apart> {
        fn stored(version: &KeyValue) -> StoredVersion<'_> {
            StoredVersion { value: &version.value, mod_revision: version.mod_revision.0 }
        }
        let before = if let Before::Version(last) = &self.before { Some(last) } else { None };
        let now = &self.event.key_value;
        decoder.decode_apart(&now.key, before.map(stored), stored(now), kept, lean)
    }

    fn change(self, before: ObjectVersion, after: ObjectVersion) -> Change {
        let kind = self.kind();
        let Event { revision, sub_revision, key_value, origin, sources, .. } = self.event;
        Change { revision, sub_revision, kind, key: key_value.key, origin, sources, before, after, earlier: None }
    }
}

/// A version as far as it shows who deleted it; `None` where less than the whole does not do.
fn decode_seen(version: &KeyValue, decoder: &Decoder) -> Option<ObjectVersion> {
    let decoded = decoder.decode_only(&version.key, &version.value, version.mod_revision.0, &LOOKED_AT_OF_DELETED);
    match decoded.body {
        Body::Object(object) if decoded.unknown_fields.is_empty() => Some(object.into()),
        _ => None,
    }
}

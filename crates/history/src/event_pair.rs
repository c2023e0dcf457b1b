//! An event with the version before it, both as they are stored: decoded whole, or only as far as the change needs.

use std::sync::Arc;

use super::actor::{LOOKED_AT, LOOKED_AT_OF_DELETED, LOOKED_AT_WITH_FIELD_SETS, reads_containers, reads_field_sets};
use super::change::{Change, ChangeKind, ObjectVersion};
use super::diff::ManagedFields;
use ketcd_kube::{Apart, Body, Decoder, FieldSet, Object, StoredVersion};
use ketcd_store::{Event, EventKind, KeyValue, Revision};

/// An event with the version before it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventPair {
    /// The event.
    pub event: Event,
    /// The version before it.
    pub prev: PrevVersion,
    /// For a deleted pod, the version before `prev`, if it can be read.
    pub earlier: Option<KeyValue>,
}

/// The version before an event, as it is stored (etcd: `prev_kv`).
#[derive(Clone, Debug)]
pub enum PrevVersion {
    /// There was none: the key did not exist.
    Absent,
    /// There was one, but it cannot be read any more: a gap.
    Unreadable,
    /// This one.
    Version(KeyValue),
}

/// A change whose objects are decoded only in part.
#[derive(Debug)]
pub struct TextChange {
    /// The change. Its actor and its patch are those of the whole change; other members of its objects may be missing.
    pub change: Change,
    /// The JSON of the object after the change; `None` where it was deleted.
    pub text: Option<Vec<u8>>,
}

impl EventPair {
    /// What the event did to its key.
    pub fn kind(&self) -> ChangeKind {
        match self.event.kind {
            EventKind::Delete => ChangeKind::Deleted,
            EventKind::Put if self.event.is_creation() => ChangeKind::Added,
            EventKind::Put => ChangeKind::Modified,
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }

    /// Returns the fields that show what a creation made and who made it; `None` for other changes.
    pub fn fields_of_creation(&self) -> Option<&'static FieldSet> {
        (self.kind() == ChangeKind::Added).then(|| &*LOOKED_AT)
    }

    /// Decodes both versions, the one before first.
    pub fn decode(self, mut decode: impl FnMut(&KeyValue) -> ObjectVersion) -> Change {
        let before = match &self.prev {
            PrevVersion::Absent => ObjectVersion::Absent,
            PrevVersion::Unreadable => ObjectVersion::Unreadable,
            PrevVersion::Version(last) => decode(last),
        };
        let after = match self.event.kind {
            EventKind::Delete => ObjectVersion::Absent,
            EventKind::Put => decode(&self.event.key_value),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        let earlier = self.earlier.as_ref().and_then(|earlier| decode(earlier).whole().cloned());
        Change { earlier, ..self.change(before, after) }
    }

    /// Decodes only what the change and the JSON of its object need, without reporting anything. Returns `None` if whole objects are needed or
    /// there is something to report: use [`Self::decode`] then.
    pub fn decode_as_text(&self, decoder: &Decoder, managed_fields: ManagedFields) -> Option<TextChange> {
        if self.event.kind == EventKind::Delete {
            let before = match &self.prev {
                PrevVersion::Version(last) => decode_seen(last, decoder)?,
                PrevVersion::Absent => ObjectVersion::Absent,
                PrevVersion::Unreadable => ObjectVersion::Unreadable,
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
        if reads_containers(&apart.before, &apart.after) && matches!(self.prev, PrevVersion::Version(_)) {
            return None;
        }
        if !shows_managers && matches!(self.prev, PrevVersion::Version(_)) && reads_field_sets(&apart.before, &apart.after) {
            apart = self.apart(decoder, &LOOKED_AT_WITH_FIELD_SETS, true)?;
        }
        let Apart { text, before, after } = apart;
        let shared = |object: Object| ObjectVersion::Object(Arc::new(object));
        let before = match self.prev {
            PrevVersion::Absent => ObjectVersion::Absent,
            PrevVersion::Unreadable => ObjectVersion::Unreadable,
            PrevVersion::Version(_) => shared(before),
        };
        Some(TextChange { change: self.clone().change(before, shared(after)), text: Some(text) })
    }

    fn apart(&self, decoder: &Decoder, kept: &FieldSet, lean: bool) -> Option<Apart> {
        fn stored(version: &KeyValue) -> StoredVersion<'_> {
            StoredVersion { value: &version.value, mod_revision: version.mod_revision.0 }
        }
        let before = if let PrevVersion::Version(last) = &self.prev { Some(last) } else { None };
        let now = &self.event.key_value;
        Apart::of(decoder, &now.key, before.map(stored), stored(now), kept, lean)
    }

    fn change(self, before: ObjectVersion, after: ObjectVersion) -> Change {
        let kind = self.kind();
        let Event { revision, sub_revision, key_value, origin, sources, .. } = self.event;
        let is_unknown = key_value.version <= 0 && key_value.create_revision <= Revision(0);
        let may_be_creation = kind == ChangeKind::Modified && matches!(self.prev, PrevVersion::Unreadable) && is_unknown;
        Change { revision, sub_revision, kind, key: key_value.key, origin, sources, before, after, may_be_creation, earlier: None }
    }
}

/// Decodes what shows who deleted a version; `None` if the whole version is needed.
fn decode_seen(version: &KeyValue, decoder: &Decoder) -> Option<ObjectVersion> {
    let decoded = decoder.only(&LOOKED_AT_OF_DELETED).decode(&version.key, &version.value, version.mod_revision.0);
    match decoded.body {
        Body::Object(object) if decoded.unknown_fields.is_empty() => Some(object.into()),
        _ => None,
    }
}

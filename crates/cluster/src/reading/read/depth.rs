//! How far the objects of a change are decoded.

use std::sync::Arc;

use ketcd_history::diff::ManagedFields;
use ketcd_history::{Change, EventPair, Problems, SharedVersion, TextChange};
use ketcd_kube::{Decoded, Decoder};
use ketcd_store::KeyValue;

/// How far the objects of a change are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Whole.
    Whole,
    /// Whole, and the object is named.
    Named,
    /// Whole, but of a creation only what shows what was made and by whom.
    BriefCreation,
    /// As far as the change needs, and the JSON of the object after it. The object is named.
    Text(ManagedFields),
}

/// A change, its object as text where that was enough, and what is to be reported of its versions, each with its revision.
pub(super) type DecodedChange = (Change, Option<Vec<u8>>, Vec<(i64, Problems)>);

impl Depth {
    /// Whether the object of a change is named.
    pub(super) fn names(self) -> bool {
        matches!(self, Self::Named | Self::Text(_))
    }

    /// Whether changes share the versions that two of them need.
    pub(super) fn shares(self) -> bool {
        matches!(self, Self::Whole | Self::Named)
    }

    /// Decodes a change so far, without reporting anything.
    pub(super) fn decoded(self, pair: EventPair, shared: &[Option<Arc<SharedVersion>>; 2], decoder: &Decoder) -> DecodedChange {
        if let Self::Text(managed_fields) = self
            && let Some(TextChange { change, text, .. }) = pair.decode_as_text(decoder, managed_fields)
        {
            return (change, text, Vec::new());
        }
        let fields = if self == Self::BriefCreation { pair.fields_of_creation() } else { None };
        let (change, found) = pair.decode_shared(shared, |KeyValue { key, value, mod_revision, .. }| {
            let Decoded { body, unknown_fields, .. } = match fields {
                Some(fields) => decoder.only(fields).decode(key, value, mod_revision.0),
                None => decoder.decode(key, value, mod_revision.0),
            };
            (body, unknown_fields)
        });
        (change, None, found)
    }
}

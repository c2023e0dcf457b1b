//! What a stored object's JSON has that its bytes have not, and at which places of the object.

use super::values::JsonValue;
use crate::proto::table::Row;

/// What a stored object's JSON has that its bytes have not, or the other way round.
#[derive(Clone, Copy)]
pub(super) struct Identity<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    /// `metadata.resourceVersion`; 0 leaves the stored one.
    pub mod_revision: i64,
    /// Whether `metadata.managedFields` is left out.
    pub is_lean: bool,
}

/// Where a message lies in its object.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// It is the object.
    Root(&'a Identity<'a>),
    /// It is the object's metadata.
    Metadata(&'a Identity<'a>),
    Elsewhere,
}

impl Place<'_> {
    /// The place of a member of a message that lies here.
    #[inline]
    pub(super) fn of_member(self, name: &str) -> Self {
        match self {
            Self::Root(identity) if name == "metadata" => Self::Metadata(identity),
            _ => Self::Elsewhere,
        }
    }

    /// What is shown for a row of a message that lies here, whatever is stored.
    #[inline]
    pub(super) fn stand_in(self, row: &Row) -> Option<JsonValue<'static>> {
        let Self::Metadata(identity) = self else { return None };
        match row.name {
            "resourceVersion" if identity.mod_revision > 0 => Some(JsonValue::Revision(identity.mod_revision)),
            "managedFields" if identity.is_lean => Some(JsonValue::Hidden),
            _ => None,
        }
    }
}

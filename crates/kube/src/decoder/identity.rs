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
    Root(&'a Identity<'a>),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::kubernetes::MESSAGES;

    /// What stands for a row of the metadata that lies at `path` in the object.
    fn stand_in(name: &str, identity: &Identity<'_>, path: &[&str]) -> Option<JsonValue<'static>> {
        let metadata = MESSAGES.iter().find(|message| message.name.ends_with(".meta.v1.ObjectMeta")).expect("all objects have it");
        let row = metadata.rows.iter().find(|row| row.name == name).expect("metadata has the row");
        path.iter().fold(Place::Root(identity), |place, member| place.of_member(member)).stand_in(row)
    }

    #[test]
    fn only_the_metadata_of_the_object_itself_shows_its_revision_and_hides_managers() {
        let lean = Identity { api_version: "v1", kind: "Pod", mod_revision: 7, is_lean: true };
        let stored = Identity { mod_revision: 0, is_lean: false, ..lean };
        assert!(matches!(stand_in("resourceVersion", &lean, &["metadata"]), Some(JsonValue::Revision(7))));
        assert!(matches!(stand_in("managedFields", &lean, &["metadata"]), Some(JsonValue::Hidden)));
        for name in ["resourceVersion", "managedFields"] {
            assert!(stand_in(name, &lean, &["spec"]).is_none() && stand_in(name, &lean, &["template", "metadata"]).is_none());
            assert!(stand_in(name, &stored, &["metadata"]).is_none(), "{name}");
        }
        assert!(stand_in("name", &lean, &["metadata"]).is_none());
    }
}

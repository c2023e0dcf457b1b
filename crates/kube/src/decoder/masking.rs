//! Masks the values of Secrets between decoding and the caller.

use super::fault::Result;
use super::stored::Stored;
use super::{Decoder, WithUnknown, secret};
use crate::field_set::FieldSet;
use crate::object::{Object, UnknownField};

impl Decoder {
    pub(super) fn masks(&self, key: &[u8], value: &[u8]) -> bool {
        !self.shows_secrets && secret::may_be_in(key, value)
    }

    /// The object in a value, its secrets masked, and the fields it does not show.
    pub(super) fn object(
        &self,
        key: &[u8],
        stored: Stored,
        value: &[u8],
        mod_revision: i64,
        wanted: Option<&FieldSet>,
    ) -> Result<WithUnknown<Object>> {
        if matches!(&stored, Stored::Protobuf(wire) if wire.is_plain) || !self.masks(key, value) {
            let (object, unknown) = self.value(stored, value, mod_revision, wanted)?;
            return Ok((object.into(), unknown));
        }
        // What is to be masked depends on the whole object.
        let (object, mut unknown) = self.value(stored, value, mod_revision, None)?;
        let mut object = secret::mask(key, object);
        wanted.into_iter().for_each(|wanted| object.keep(wanted));
        unknown.iter_mut().for_each(UnknownField::mask);
        Ok((object, unknown))
    }
}

//! Masks the values of Secrets between decoding and the caller.

use super::fault::Result;
use super::stored::Stored;
use super::{Decoder, secret};
use crate::object::{Object, UnknownField};

impl Decoder {
    /// Whether there may be something in the value to mask.
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
        lean: bool,
    ) -> Result<(Object, Vec<UnknownField>)> {
        let (object, mut unknown) = self.value(stored, value, mod_revision, lean)?;
        if !self.masks(key, value) {
            return Ok((object.into(), unknown));
        }
        let object = secret::mask(key, object);
        unknown.iter_mut().for_each(UnknownField::mask);
        Ok((object, unknown))
    }
}

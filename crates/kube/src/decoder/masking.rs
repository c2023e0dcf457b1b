//! Masks the values of Secrets between decoding and the caller.

use super::fault::Result;
use super::stored::Stored;
use super::{Decoder, Part, secret};
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
        part: Part<'_>,
    ) -> Result<(Object, Vec<UnknownField>)> {
        if matches!(&stored, Stored::Protobuf(wire) if wire.is_plain) || !self.masks(key, value) {
            let (object, unknown) = self.value(stored, value, mod_revision, part)?;
            return Ok((object.into(), unknown));
        }
        // What is to be masked depends on the whole object.
        let (object, mut unknown) = self.value(stored, value, mod_revision, Part { wanted: None, ..part })?;
        let mut object = secret::mask(key, object);
        part.wanted.into_iter().for_each(|wanted| object.keep(wanted));
        unknown.iter_mut().for_each(UnknownField::mask);
        Ok((object, unknown))
    }
}

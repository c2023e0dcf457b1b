//! Some members of objects, in place of whole ones.

use serde::Deserialize;

use super::{Decoder, WithUnknown};
use crate::field_set::FieldSet;
use crate::object::{Decoded, Opaque};

/// A decoder that makes some members of an object. The others are passed over: faults in them still count as faults of the object, and their unknown fields
/// are noted.
#[derive(Clone, Copy, Debug)]
pub struct Partial<'d> {
    pub(super) decoder: &'d Decoder,
    pub(super) wanted: &'d FieldSet,
}

impl Decoder {
    /// Makes these members of an object alone.
    pub fn only<'d>(&'d self, wanted: &'d FieldSet) -> Partial<'d> {
        Partial { decoder: self, wanted }
    }
}

impl Partial<'_> {
    /// As [`Decoder::decode`], with these members alone.
    pub fn decode(self, key: &[u8], value: &[u8], mod_revision: i64) -> Decoded {
        self.decoder.decode_part(key, value, mod_revision, Some(self.wanted))
    }

    /// As [`Decoder::decode_as`], with these members alone.
    ///
    /// # Errors
    /// The value is opaque, or an object the type does not fit.
    pub fn decode_as<'v, T: Deserialize<'v>>(self, key: &[u8], value: &'v [u8], mod_revision: i64) -> Result<WithUnknown<T>, Opaque> {
        self.decoder.decode_part_as(key, value, mod_revision, Some(self.wanted))
    }
}

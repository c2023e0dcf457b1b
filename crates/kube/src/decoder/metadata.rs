//! The JSON of an object's metadata alone, which API servers return by itself and in each row of a table.

use serde::Deserialize;

use super::fault::Fault;
use super::stored::Stored;
use super::{Decoder, Partial, WithUnknown, broken, go_text, text};
use crate::object::{Body, Decoded, Object, Opaque};

impl Decoder {
    /// Appends the JSON of the object's `metadata` as [`Decoder::decode_text`] does of the object. The rest is not looked at, and nothing is reported.
    ///
    /// # Errors
    /// The value is opaque, as far as that shows; nothing is appended.
    #[doc(hidden)]
    pub fn decode_metadata_text(&self, key: &[u8], value: &[u8], mod_revision: i64, out: &mut Vec<u8>) -> Result<(), Opaque> {
        let start = out.len();
        let written = self.read(key, value, |stored, value| match stored {
            Stored::Protobuf(wire) if wire.is_plain => {
                let mut context = wire.context(self, value);
                text::append_metadata(&mut context, wire.message, wire.object, &wire.identity(mod_revision), out)
            }
            stored => self.object(key, stored, value, mod_revision, None).map(|(object, _)| append_metadata(&object, out)),
        });
        if written.is_err() {
            out.truncate(start);
        }
        written
    }
}

impl Partial<'_> {
    /// As [`Partial::decode_as`], and appends the JSON of `metadata` to `out`, as [`Decoder::decode_metadata_text`] does, but checks `metadata` only once.
    /// Reports what [`Decoder::decode`] does. Appends nothing if the value is opaque.
    ///
    /// # Errors
    /// The value is opaque, or an object the type does not fit.
    #[doc(hidden)]
    pub fn decode_row<'v, T: Deserialize<'v>>(
        self,
        key: &[u8],
        value: &'v [u8],
        mod_revision: i64,
        out: &mut Vec<u8>,
    ) -> Result<WithUnknown<T>, Opaque> {
        let Self { decoder, wanted } = self;
        let start = out.len();
        if let Some(wire) = decoder.plain(key, value) {
            let mut context = wire.context(decoder, value);
            if text::append_metadata(&mut context, wire.message, wire.object, &wire.identity(mod_revision), out).is_ok() {
                context.has_sound_metadata = context.unknown.is_empty();
                context.unknown.clear();
                if let Ok(row) = T::deserialize(wire.deserializer(&mut context, mod_revision, Some(wanted))) {
                    decoder.report_unknown(key, &context.unknown);
                    return Ok((row, context.unknown));
                }
            }
            out.truncate(start);
        }
        let Decoded { body, unknown_fields } = decoder.decode(key, value, mod_revision);
        let mut object = match body {
            Body::Object(object) => object,
            Body::Opaque(opaque) => return Err(opaque),
        };
        append_metadata(&object, out);
        object.keep(wanted);
        let row = T::deserialize(object.into_value()).map_err(|error| {
            out.truncate(start);
            broken(&Fault::unfit(&error.to_string()), value)
        })?;
        Ok((row, unknown_fields))
    }
}

/// Appends the JSON of an object's `metadata`.
fn append_metadata(object: &Object, out: &mut Vec<u8>) {
    match object.get("metadata") {
        Some(metadata) => go_text::append_value(out, metadata),
        None => out.extend_from_slice(b"{}"),
    }
}

//! JSON of many values at once: made on all cores, handed over and reported in their order.

use std::sync::Arc;

use super::body::{ReadBody, decoder_of, kind_of};
use crate::cores::in_order;
use ketcd_kube::{Decoder, Kind, ObjectPath, Opaque, UnknownField};
use ketcd_store::KeyValue;

/// A value that is asked for, and what its key says.
pub(super) type Picked<'e> = (&'e KeyValue, Option<ObjectPath<'e>>);

/// Fewer values are not worth a thread.
const LEAST: usize = 32;

/// A value's JSON that nobody was told about yet.
pub(super) struct Text {
    json: Vec<u8>,
    written: Result<Vec<UnknownField>, Opaque>,
}

impl Text {
    fn of(decoder: &Decoder, kind: Option<&Arc<Kind>>, entry: &KeyValue) -> Self {
        let mut json = Vec::with_capacity(entry.value.len() * 2);
        let written = decoder_of(decoder, kind).decode_text(&entry.key, &entry.value, entry.mod_revision.0, &mut json);
        Self { json, written }
    }

    /// Reports what was found, now that it is its turn.
    pub(super) fn reported(self, decoder: &Decoder, entry: &KeyValue) -> ReadBody {
        decoder.report(&entry.key, entry.mod_revision.0, &self.written);
        match self.written {
            Ok(_) => ReadBody::Text(self.json),
            Err(opaque) => ReadBody::Opaque(opaque),
        }
    }
}

/// Decodes values on all cores.
pub(super) fn texts(decoder: &Decoder, picked: &[Picked<'_>]) -> Vec<Text> {
    let decoder = decoder.clone().without_observer();
    in_order(picked, LEAST, |(entry, key)| Text::of(&decoder, kind_of(*key), entry))
}

//! Decodes stored bytes to objects. Decoding never fails: what cannot be decoded is opaque, with its reason.
//!
//! A message is walked in two ways:
//!
//! | walk | by | for |
//! |---|---|---|
//! | over its members, in the order of its JSON (`view`, `values`) | the message's table | values, types and parts of objects, through serde (`typed`); JSON text, without a value in between (`text`); the members in which two versions differ (`apart`); the parts that may show a text (`matching`) |
//! | over its fields, in the order of its bytes (`wire`) | a plan | bytes that tell objects of a kind apart (`excerpt`), with a plan made once for the kind; whether members that are not wanted are sound (`sound`), with the table as its plan |
//!
//! `searched` tells from the bytes alone, without a walk, whether an object may show a text; `digits` does so for bytes that are shown in base64.
//!
//! Only `values` knows what the fields of a type hold, and only `identity` which members are not shown as they are stored.

mod apart;
mod canonical;
mod cbor;
mod conform;
mod custom_resource_definition;
pub(crate) mod decode_count;
mod digits;
mod embedded;
mod envelope;
mod excerpt;
mod fault;
mod go_text;
mod go_time;
mod identity;
mod kind_of_key;
mod masking;
mod matching;
mod metadata;
mod partial;
mod raw_json;
mod searched;
mod served;
mod sorted;
mod sound;
mod stored;
mod text;
mod typed;
mod values;
mod versions;
mod view;
mod wire;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

pub use self::apart::{Apart, StoredVersion};
use self::envelope::PROTOBUF_MAGIC;
pub use self::excerpt::{Excerpt, Shown, ShownValue};
use self::fault::Fault;
pub use self::partial::Partial;
pub use self::searched::SearchedText;
use self::stored::{Stored, Wire};
use super::custom_schemas::CustomSchemas;
use super::encryption::{KeyRing, Seal};
use super::field_set::FieldSet;
use super::object::{Body, Decoded, Object, Opaque, UnknownField};
use super::observer::Observer;
use super::release::Release;
use super::secret;

/// Turns stored values into what the API server would return for them.
///
/// | what | is made by |
/// |---|---|
/// | an object | [`decode`](Self::decode) |
/// | a type | [`decode_as`](Self::decode_as) |
/// | JSON text | [`decode_text`](Self::decode_text) |
/// | some members of an object, or a type of them | [`only`](Self::only) |
/// | what of an object may show a text | [`SearchedText::decode`] |
/// | what tells objects apart, without decoding them | [`excerpt`](Self::excerpt) |
///
/// | set by | what it changes | otherwise |
/// |---|---|---|
/// | [`with_release`](Self::with_release) | the release whose rules hold | the newest |
/// | [`showing_newer_fields`](Self::showing_newer_fields) | members that the release does not have are shown | they are left out, and are unknown fields |
/// | [`for_stored_values`](Self::for_stored_values) | objects are shown as they are stored | as the API server returns them: in another version, with defaults |
/// | [`with_schemas`](Self::with_schemas) | custom resources are read by their definition's schemas | they are shown as they are stored |
/// | [`without_managed_fields`](Self::without_managed_fields) | `metadata.managedFields` is left out | it is shown |
/// | [`keeping_order`](Self::keeping_order) | members of JSON within a field keep their order in text | they are sorted |
/// | [`showing_secrets`](Self::showing_secrets) | the values of Secrets are shown | they are masked |
/// | [`with_storage`](Self::with_storage) | where keys begin, which say the kind of their values; values sealed by encryption at rest are opened | a usual prefix is recognised; sealed values are opaque |
/// | [`with_observer`](Self::with_observer) | who hears what an object does not show | nobody |
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    release: Release,
    shows_newer_fields: bool,
    is_for_stored: bool,
    hides_managed_fields: bool,
    keeps_order: bool,
    shows_secrets: bool,
    keys: KeyRing,
    schemas: Option<Arc<CustomSchemas>>,
    prefix: Option<Arc<str>>,
    observer: Option<Arc<dyn Observer>>,
}

/// What is made of a value, and the fields that it does not show.
type WithUnknown<T> = (T, Vec<UnknownField>);

/// The values etcd takes are far smaller (1.5 MiB by default).
const MAX_LENGTH: usize = 1 << 30;

impl Decoder {
    /// Returns a decoder that renders as the newest release does, without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder that renders the stored bytes alone, without what the API server changes on its way from storage to the client.
    pub fn for_stored_values() -> Self {
        Self { is_for_stored: true, ..Self::default() }
    }

    /// Renders as an API server of `release` does: members it does not know are left out and reported as unknown fields.
    #[must_use]
    pub fn with_release(self, release: Release) -> Self {
        Self { release, ..self }
    }

    /// Shows members that the release does not have by the rules of the nearest release that has them: for one that was found in the data, so that it may
    /// be wrong by some minors.
    #[must_use]
    pub fn showing_newer_fields(self) -> Self {
        Self { shows_newer_fields: true, ..self }
    }

    /// Leaves out `metadata.managedFields`, which few look at and which is often half of an object.
    #[must_use]
    pub fn without_managed_fields(self) -> Self {
        Self { hides_managed_fields: true, ..self }
    }

    /// Keeps the order of members within stored JSON, such as `managedFields`, in text: as API servers answer, and with less work than sorting them
    /// as kubectl does.
    #[must_use]
    pub fn keeping_order(self) -> Self {
        Self { keeps_order: true, ..self }
    }

    /// Shows the values of Secrets, where `shows`, instead of [`crate::VALUE_MASK`].
    #[must_use]
    pub fn showing_secrets(self, shows: bool) -> Self {
        Self { shows_secrets: shows, ..self }
    }

    /// Reports to `observer`, for each value, what its object does not show; `None` is for values that several threads decode at once, which
    /// [`Decoder::report`] reports in their order.
    #[must_use]
    pub fn with_observer(self, observer: Option<Arc<dyn Observer>>) -> Self {
        Self { observer, ..self }
    }

    /// Reads custom resources of one definition by its schemas, as API servers do; without them they are shown as they are stored.
    #[must_use]
    pub fn with_schemas(self, schemas: Arc<CustomSchemas>) -> Self {
        Self { schemas: Some(schemas), ..self }
    }

    /// Reads what an API server stored below `prefix`, where that is not a usual one: keys say which kind a value must be of. Values that it sealed are
    /// opened with these keys of its encryption at rest.
    #[must_use]
    pub fn with_storage(self, prefix: Option<&str>, keys: KeyRing) -> Self {
        Self { prefix: prefix.map(Arc::from), keys, ..self }
    }

    /// Decodes the object in a value. `mod_revision` becomes its `metadata.resourceVersion`; 0 leaves the stored one, which API servers keep empty.
    pub fn decode(&self, key: &[u8], value: &[u8], mod_revision: i64) -> Decoded {
        self.decode_part(key, value, mod_revision, None)
    }

    /// The object in a value, or these members of it.
    fn decode_part(&self, key: &[u8], value: &[u8], mod_revision: i64, wanted: Option<&FieldSet>) -> Decoded {
        let made = self.read(key, value, |stored, value| self.object(key, stored, value, mod_revision, wanted));
        self.decoded(key, mod_revision, made)
    }

    /// What became of a value, once it is reported.
    fn decoded(&self, key: &[u8], mod_revision: i64, made: Result<WithUnknown<Object>, Opaque>) -> Decoded {
        match made {
            Ok((object, unknown_fields)) => {
                self.report_unknown(key, &unknown_fields);
                Decoded { body: Body::Object(object), unknown_fields }
            }
            Err(opaque) => {
                self.report_opaque(key, mod_revision, &opaque);
                Decoded { body: Body::Opaque(opaque), unknown_fields: Vec::new() }
            }
        }
    }

    /// Opens a value, recognises what it holds, and makes something of it.
    fn read<'v, R>(&self, key: &[u8], value: &'v [u8], make: impl FnOnce(Stored, &Cow<'v, [u8]>) -> fault::Result<R>) -> Result<R, Opaque> {
        let value = self.unsealed(key, value)?;
        self.read_open(key, &value, |stored| make(stored, &value))
    }

    /// Recognises what an open value holds, and makes something of it.
    fn read_open<R>(&self, key: &[u8], value: &[u8], make: impl FnOnce(Stored) -> fault::Result<R>) -> Result<R, Opaque> {
        make(self.recognise(key, value)?).map_err(|fault| broken(&fault, value))
    }

    fn report_unknown(&self, key: &[u8], fields: &[UnknownField]) {
        if let (Some(observer), false) = (&self.observer, fields.is_empty()) {
            observer.unknown_fields(key, fields);
        }
    }

    fn report_opaque(&self, key: &[u8], mod_revision: i64, opaque: &Opaque) {
        // A number is not an object, and nothing is wrong with it.
        if let Some(observer) = self.observer.as_ref().filter(|_| key != COMPACT_REV_KEY || !opaque.expected) {
            observer.opaque(key, mod_revision, opaque);
        }
    }

    /// As [`Decoder::decode`], but appends the object's JSON to `out`, compact and with its members sorted, and returns the unknown fields.
    /// Nothing is appended where the value is opaque.
    ///
    /// # Errors
    /// The value is opaque.
    pub fn decode_text(&self, key: &[u8], value: &[u8], mod_revision: i64, out: &mut Vec<u8>) -> Result<Vec<UnknownField>, Opaque> {
        let start = out.len();
        let written = self.read(key, value, |stored, value| match stored {
            Stored::Protobuf(wire) if wire.is_plain => {
                let mut context = wire.context(self, value);
                text::append_object(&mut context, wire.message, wire.object, &wire.identity(mod_revision), out)?;
                Ok(context.unknown)
            }
            stored => {
                let (object, unknown) = self.object(key, stored, value, mod_revision, None)?;
                go_text::append_value(out, &object);
                Ok(unknown)
            }
        });
        if written.is_err() {
            out.truncate(start);
        }
        self.report(key, mod_revision, &written);
        written
    }

    /// Reports what [`Decoder::decode_text`] returned without an observer.
    pub fn report(&self, key: &[u8], mod_revision: i64, written: &Result<Vec<UnknownField>, Opaque>) {
        match written {
            Ok(unknown) => self.report_unknown(key, unknown),
            Err(opaque) => self.report_opaque(key, mod_revision, opaque),
        }
    }

    /// As [`Decoder::decode`], but into a type, such as one of `k8s-openapi`, straight from the bytes where they are protobuf, and with the unknown fields.
    /// A type that borrows its text does so from the value where it lies there as it is. The observer receives unknown fields only: a type may reject an
    /// object that is not broken.
    ///
    /// # Errors
    /// The value is opaque, or an object the type does not fit.
    pub fn decode_as<'v, T: Deserialize<'v>>(&self, key: &[u8], value: &'v [u8], mod_revision: i64) -> Result<WithUnknown<T>, Opaque> {
        self.decode_part_as(key, value, mod_revision, None)
    }

    /// The object in a value, or these members of it, as a type.
    fn decode_part_as<'v, T: Deserialize<'v>>(
        &self,
        key: &[u8],
        value: &'v [u8],
        mod_revision: i64,
        wanted: Option<&FieldSet>,
    ) -> Result<WithUnknown<T>, Opaque> {
        let (typed, unknown) = self.read(key, value, |stored, value| match (stored, value) {
            (Stored::Protobuf(wire), &Cow::Borrowed(value)) if wire.is_plain => {
                let mut context = wire.context(self, value);
                let typed = T::deserialize(wire.deserializer(&mut context, mod_revision, wanted)).map_err(|unfit| unfit.0)?;
                Ok((typed, context.unknown))
            }
            (stored, value) => {
                let (object, unknown) = self.object(key, stored, value, mod_revision, wanted)?;
                let typed = T::deserialize(object.into_value()).map_err(|error| Fault::unfit(&error.to_string()))?;
                Ok((typed, unknown))
            }
        })?;
        self.report_unknown(key, &unknown);
        Ok((typed, unknown))
    }

    /// The object in a value that is not sealed, if it is plain.
    fn plain(&self, key: &[u8], value: &[u8]) -> Option<Wire> {
        match self.recognise(key, Some(value).filter(|value| value.starts_with(PROTOBUF_MAGIC) && value.len() <= MAX_LENGTH)?) {
            Ok(Stored::Protobuf(wire)) if wire.is_plain => Some(wire),
            _ => None,
        }
    }

    /// What was in a sealed value, which is not sealed again; any other value as it is.
    fn unsealed<'v>(&self, key: &[u8], value: &'v [u8]) -> Result<Cow<'v, [u8]>, Opaque> {
        decode_count::add();
        if value.len() > MAX_LENGTH {
            return Err(opaque(format!("a value of {} bytes, more than any Kubernetes object", value.len()), false, value));
        }
        if key == COMPACT_REV_KEY && !value.is_empty() && value.len() < 20 && value.iter().all(u8::is_ascii_digit) {
            let number = String::from_utf8_lossy(value);
            return Err(opaque(format!("API servers compacted the history up to revision {number}"), true, value));
        }
        if !Seal::is_on(value) {
            return Ok(Cow::Borrowed(value));
        }
        let plain = self.keys.open(key, value).map_err(|closed| opaque(closed.reason, closed.expected, value))?;
        if Seal::is_on(&plain) {
            return Err(opaque("sealed twice, which no API server does".to_owned(), false, value));
        }
        Ok(Cow::Owned(plain.to_vec()))
    }
}

/// The key under which API servers note up to which revision they compacted last (etcd3 compact.go); its value is that number, no object.
pub const COMPACT_REV_KEY: &[u8] = b"compact_rev_key";

pub(crate) fn go_json(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    go_text::append_value(&mut out, value);
    out
}

fn opaque(reason: String, expected: bool, value: &[u8]) -> Opaque {
    Opaque { reason, expected, length: value.len() }
}

fn broken(fault: &Fault, value: &[u8]) -> Opaque {
    opaque(fault.to_string(), false, value)
}

fn foreign_reason(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok("") => "an empty value".to_owned(),
        Ok(text) if text.chars().all(|c| !c.is_control() || c.is_whitespace()) => "plain text, not a Kubernetes object".to_owned(),
        _ => "bytes in no encoding of Kubernetes".to_owned(),
    }
}

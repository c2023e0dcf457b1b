//! Stored bytes to objects. Decoding never fails: what cannot be understood is opaque, with its reason.

mod canonical;
mod cbor;
mod conform;
pub(crate) mod counted;
mod custom_resource_definition;
mod envelope;
mod fault;
mod go_text;
mod go_time;
mod raw_json;
mod served;
mod sorted;
mod text;
mod typed;
mod values;
mod versions;
mod view;
mod wire;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::conform::Structs;
use self::envelope::Envelope;
use self::fault::{Fault, Result};
use self::text::Identity;
use self::view::Context;
use self::wire::Span;
use super::encryption::{KeyRing, Seal};
use super::object::{Body, Decoded, Object, Opaque, UnknownField};
use super::observer::Observer;
use super::release::Release;
use super::secret;
use crate::proto::kubernetes::{MESSAGES, ROOTS};
use crate::proto::table::Message;

/// Turns stored values into what the API server would return for them, the values of Secrets masked unless [`Decoder::showing_secrets`].
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    release: Release,
    lenient: bool,
    stored: bool,
    lean: bool,
    shows_secrets: bool,
    keys: KeyRing,
    observer: Option<Arc<dyn Observer>>,
}

/// The values etcd takes are far smaller (1.5 MiB by default).
const MAX_LENGTH: usize = 1 << 30;

impl Decoder {
    /// A decoder that renders as the newest release does, without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder that renders the stored bytes alone, without what the API server changes on its way from storage to the client.
    pub fn for_stored_values() -> Self {
        Self { stored: true, ..Self::default() }
    }

    /// Renders as an API server of `release` does: members it does not know are left out and reported as unknown fields.
    pub fn with_release(self, release: Release) -> Self {
        Self { release, lenient: false, ..self }
    }

    /// Renders by the rules of a release that was found in the data, so it may be wrong by some minors: members it does not know are shown all the same.
    pub fn with_release_found(self, release: Release) -> Self {
        Self { release, lenient: true, ..self }
    }

    /// Leaves out `metadata.managedFields`, which few look at and which is often half of an object.
    pub fn without_managed_fields(self) -> Self {
        Self { lean: true, ..self }
    }

    /// Shows the values of Secrets, where `shows`, instead of [`secret::MASK`].
    pub fn showing_secrets(self, shows: bool) -> Self {
        Self { shows_secrets: shows, ..self }
    }

    /// Tells `observer` of each value what its object does not show.
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Opens values sealed by encryption at rest with these keys.
    pub fn with_key_ring(self, keys: KeyRing) -> Self {
        Self { keys, ..self }
    }

    /// The release whose rules hold.
    pub fn release(&self) -> Release {
        self.release
    }

    /// The object in a value. `mod_revision` becomes its `metadata.resourceVersion`; 0 leaves the stored one, which API servers keep empty.
    pub fn decode(&self, key: &[u8], value: &[u8], mod_revision: i64) -> Decoded {
        let decoded = self.unsealed(key, value).and_then(|value| {
            let decoded = self.recognise(&value).map(|stored| self.object(key, stored, &value, mod_revision, self.lean))?;
            decoded.map_err(|fault| broken(&fault, &value))
        });
        match decoded {
            Ok((object, unknown_fields)) => {
                self.tell_unknown(key, &unknown_fields);
                Decoded { body: Body::Object(object), unknown_fields }
            }
            Err(opaque) => {
                self.tell_opaque(key, mod_revision, &opaque);
                Decoded { body: Body::Opaque(opaque), unknown_fields: Vec::new() }
            }
        }
    }

    fn tell_unknown(&self, key: &[u8], fields: &[UnknownField]) {
        if let (Some(observer), false) = (&self.observer, fields.is_empty()) {
            observer.unknown_fields(key, fields);
        }
    }

    fn tell_opaque(&self, key: &[u8], mod_revision: i64, opaque: &Opaque) {
        if let Some(observer) = &self.observer {
            observer.opaque(key, mod_revision, opaque);
        }
    }

    /// As [`Decoder::decode`], but appends the object's JSON to `out`, compact and with its members sorted, and returns the unknown fields.
    /// Nothing is appended where the value is opaque.
    pub fn decode_text(
        &self,
        key: &[u8],
        value: &[u8],
        mod_revision: i64,
        out: &mut Vec<u8>,
    ) -> std::result::Result<Vec<UnknownField>, Opaque> {
        let written = self.text(key, value, mod_revision, out);
        match &written {
            Ok(unknown) => self.tell_unknown(key, unknown),
            Err(opaque) => self.tell_opaque(key, mod_revision, opaque),
        }
        written
    }

    fn text(&self, key: &[u8], value: &[u8], mod_revision: i64, out: &mut Vec<u8>) -> std::result::Result<Vec<UnknownField>, Opaque> {
        let value = self.unsealed(key, value)?;
        let start = out.len();
        let result = match self.recognise(&value)? {
            Stored::Protobuf(wire) if !self.changes(&wire) && !self.masks(key, &value) => {
                let mut context = wire.context(self, &value);
                let identity = wire.identity(mod_revision);
                text::append_object(&mut context, wire.message, wire.object, identity, self.lean, out).map(|()| context.unknown)
            }
            stored => self.object(key, stored, &value, mod_revision, self.lean).map(|(object, unknown)| {
                go_text::append_value(out, &object);
                unknown
            }),
        };
        result.map_err(|fault| {
            out.truncate(start);
            broken(&fault, &value)
        })
    }

    /// As [`Decoder::decode`], but into a type, mostly one of [`crate::api`], straight from the bytes where they are protobuf.
    /// `metadata.managedFields`, which no one reads from types and which is often half of an object, is left out. The observer is told of unknown
    /// fields only: a type may have something against an object that is not broken.
    ///
    /// # Errors
    /// The value is opaque, or an object the type does not fit.
    pub fn decode_as<T: DeserializeOwned>(&self, key: &[u8], value: &[u8], mod_revision: i64) -> std::result::Result<T, Opaque> {
        let value = self.unsealed(key, value)?;
        let result = match self.recognise(&value)? {
            Stored::Protobuf(wire) if !self.changes(&wire) && !self.masks(key, &value) => {
                let mut context = wire.context(self, &value);
                let result = T::deserialize(wire.deserializer(&mut context, mod_revision, true)).map_err(|unfit| unfit.0);
                result.map(|object| (object, context.unknown))
            }
            stored => self.object(key, stored, &value, mod_revision, true).and_then(|(object, unknown)| {
                let object = serde_json::from_value(object.into_value()).map_err(|error| Fault::new(error.to_string(), 0))?;
                Ok((object, unknown))
            }),
        };
        let (object, unknown) = result.map_err(|fault| broken(&fault, &value))?;
        self.tell_unknown(key, &unknown);
        Ok(object)
    }

    /// As [`Decoder::decode_as`], but into a type that borrows its text from the value where it lies there as it is.
    ///
    /// # Errors
    /// The value is opaque, or an object the type does not fit.
    pub fn decode_borrowed<'v, T: Deserialize<'v>>(
        &self,
        key: &[u8],
        value: &'v [u8],
        mod_revision: i64,
    ) -> std::result::Result<T, Opaque> {
        if !Seal::is_on(value)
            && let Stored::Protobuf(wire) = self.recognise(value)?
            && !self.changes(&wire)
            && !self.masks(key, value)
        {
            let mut context = wire.context(self, value);
            let typed = T::deserialize(wire.deserializer(&mut context, mod_revision, true));
            let typed = typed.map_err(|unfit| broken(&unfit.0, value))?;
            self.tell_unknown(key, &context.unknown);
            return Ok(typed);
        }
        let object: Value = self.decode_as(key, value, mod_revision)?;
        T::deserialize(object).map_err(|error| broken(&Fault::new(error.to_string(), 0), value))
    }

    /// What was in a sealed value, which is not sealed again; any other value as it is.
    fn unsealed<'v>(&self, key: &[u8], value: &'v [u8]) -> std::result::Result<Cow<'v, [u8]>, Opaque> {
        counted::add();
        if value.len() > MAX_LENGTH {
            return Err(opaque(format!("a value of {} bytes, more than any Kubernetes object", value.len()), false, value));
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

    /// Tells what a value holds.
    fn recognise(&self, value: &[u8]) -> std::result::Result<Stored, Opaque> {
        match Envelope::of(value).map_err(|fault| broken(&fault, value))? {
            Envelope::Foreign => Err(opaque(foreign_reason(value), true, value)),
            Envelope::Json | Envelope::Cbor => Ok(Stored::Dynamic),
            Envelope::Protobuf { api_version, kind, object } => match find_message(&api_version, &kind) {
                None => Err(opaque(format!("unknown kind {kind} of {api_version}, stored as protobuf"), true, value)),
                Some(message) => {
                    let (api_version, message) = self.served_as(&api_version, &kind).unwrap_or((api_version, message));
                    Ok(Stored::Protobuf(Wire { message, api_version, kind, object }))
                }
            },
        }
    }

    /// Whether the API server may change the object on its way.
    fn changes(&self, wire: &Wire) -> bool {
        !self.stored && served::changes(&wire.api_version, &wire.kind)
    }

    /// Whether there may be something in the value to mask.
    fn masks(&self, key: &[u8], value: &[u8]) -> bool {
        !self.shows_secrets && secret::may_be_in(key, value)
    }

    /// The object in a value, its secrets masked, and the fields it does not show.
    fn object(&self, key: &[u8], stored: Stored, value: &[u8], mod_revision: i64, lean: bool) -> Result<(Object, Vec<UnknownField>)> {
        let (object, mut unknown) = self.value(stored, value, mod_revision, lean)?;
        if !self.masks(key, value) {
            return Ok((object.into(), unknown));
        }
        let object = secret::mask(key, object);
        unknown.iter_mut().for_each(UnknownField::mask);
        Ok((object, unknown))
    }

    fn value(&self, stored: Stored, value: &[u8], mod_revision: i64, lean: bool) -> Result<(Value, Vec<UnknownField>)> {
        let Stored::Protobuf(wire) = stored else {
            let (mut object, unknown) = self.dynamic(value, mod_revision)?;
            if lean && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
            return Ok((object, unknown));
        };
        let mut context = wire.context(self, value);
        let mut object = Value::deserialize(wire.deserializer(&mut context, mod_revision, lean)).map_err(|unfit| unfit.0)?;
        if self.changes(&wire) {
            served::serve(&mut object, &wire.api_version, &wire.kind, self.minor(wire.message));
        }
        Ok((object, context.unknown))
    }

    /// A value that carries its own member names: custom resources, and the few built-in kinds that are stored as JSON.
    fn dynamic(&self, value: &[u8], mod_revision: i64) -> Result<(Value, Vec<UnknownField>)> {
        let mut object = parse_dynamic(value, raw_json::Numbers::Keep)?;
        let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (mut api_version, kind) = (text("apiVersion"), text("kind"));
        let mut unknown = Vec::new();
        match find_message(&api_version, &kind) {
            None => object = parse_dynamic(value, raw_json::Numbers::Go)?,
            Some(mut message) => {
                let converted = !self.stored && self.release.in_tables() >= CRD_V1_ONLY;
                if converted && (api_version.as_str(), kind.as_str()) == ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition") {
                    custom_resource_definition::to_v1(&mut object);
                    api_version = "apiextensions.k8s.io/v1".to_owned();
                    message = find_message(&api_version, &kind).unwrap_or(message);
                } else if let Some(served) = self.served_as(&api_version, &kind) {
                    (api_version, message) = served;
                }
                let minor = self.minor(message);
                let identity = Identity { api_version: &api_version, kind: &kind, mod_revision };
                object = conform::conform(message, object, identity, &mut Structs { minor, lenient: self.lenient, unknown: &mut unknown });
                if !self.stored {
                    served::serve(&mut object, &api_version, &kind, minor);
                }
            }
        }
        if mod_revision > 0
            && let Some(Value::Object(metadata)) = object.get_mut("metadata")
        {
            metadata.insert("resourceVersion".to_owned(), Value::String(mod_revision.to_string()));
        }
        Ok((object, unknown))
    }

    /// The version and message in which the server returns a kind, where they are not those stored.
    fn served_as(&self, api_version: &str, kind: &str) -> Option<(String, &'static Message)> {
        let version = versions::served_as(api_version, kind, self.release.in_tables()).filter(|_| !self.stored)?;
        find_message(&version, kind).map(|message| (version, message))
    }

    /// The release whose rules an object is written by: ours, or the last one that knew its message.
    fn minor(&self, message: &Message) -> u8 {
        self.release.in_tables().min(message.last)
    }
}

/// What a value holds.
enum Stored {
    /// An object in protobuf.
    Protobuf(Wire),
    /// An object in JSON or CBOR.
    Dynamic,
}

/// An object in protobuf: where it lies in the value, and what it is.
struct Wire {
    message: &'static Message,
    api_version: String,
    kind: String,
    object: Span,
}

impl Wire {
    fn context<'v>(&self, decoder: &Decoder, value: &'v [u8]) -> Context<'v> {
        Context::new(value, decoder.minor(self.message), decoder.lenient)
    }

    fn identity(&self, mod_revision: i64) -> Identity<'_> {
        Identity { api_version: &self.api_version, kind: &self.kind, mod_revision }
    }

    fn deserializer<'c, 'v>(&'c self, context: &'c mut Context<'v>, mod_revision: i64, lean: bool) -> typed::Object<'c, 'v> {
        typed::Object { context, message: self.message, span: self.object, identity: self.identity(mod_revision), lean }
    }
}

/// Since this release CustomResourceDefinitions are served as v1 only, though stored as v1beta1.
const CRD_V1_ONLY: u8 = 22;

fn parse(text: &[u8]) -> Result<Value> {
    serde_json::from_slice(text).map_err(|error| Fault::new(error.to_string(), 0))
}

/// The object in JSON or CBOR.
fn parse_dynamic(value: &[u8], numbers: raw_json::Numbers) -> Result<Value> {
    let mut canonical = Vec::with_capacity(value.len() + 64);
    if value.starts_with(&cbor::MAGIC) {
        cbor::append(value, &mut canonical)?;
    } else {
        raw_json::append(value, numbers, &mut canonical)?;
    }
    let object = parse(&canonical)?;
    if object.is_object() { Ok(object) } else { Err(Fault::new("no object", 0)) }
}

fn find_message(api_version: &str, kind: &str) -> Option<&'static Message> {
    let index = ROOTS.binary_search_by(|row| (row.api_version, row.kind).cmp(&(api_version, kind))).ok()?;
    Some(&MESSAGES[usize::from(ROOTS[index].message.0)])
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
        Ok(text) if text.chars().all(|c| !c.is_control() || c.is_whitespace()) => "plain text, no Kubernetes object".to_owned(),
        _ => "bytes in no encoding of Kubernetes".to_owned(),
    }
}

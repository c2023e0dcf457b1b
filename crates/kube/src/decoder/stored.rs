//! What a stored value holds, and the JSON of it.

use serde::Deserialize;
use serde_json::Value;

use super::conform::{Structs, conform};
use super::envelope::Envelope;
use super::fault::{Fault, Result};
use super::identity::Identity;
use super::raw_json::{self, CanonicalText};
use super::view::Context;
use super::wire::Span;
use super::{Decoder, WithUnknown, broken, cbor, custom_resource_definition, foreign_reason, kind_of_key, opaque, served, typed, versions};
use crate::field_set::FieldSet;
use crate::object::Opaque;
use crate::proto::kubernetes::{MESSAGES, ROOTS};
use crate::proto::table::Message;

/// Names a kind that is not known, where its name is one.
fn unknown_kind(api_version: &str, kind: &str) -> String {
    let is_name = |text: &str, more: &str| text.len() <= 253 && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
    if is_name(api_version, ".-/") && is_name(kind, "") {
        format!("unknown kind {kind} of {api_version}, stored as protobuf")
    } else {
        "a kind whose name is not valid, stored as protobuf".to_owned()
    }
}

impl Decoder {
    pub(super) fn recognise(&self, key: &[u8], value: &[u8]) -> std::result::Result<Stored, Opaque> {
        let expected = kind_of_key::kind_at(self.prefix.as_deref(), key);
        let in_place = |kind: Option<&str>| match kind.and_then(|kind| kind_of_key::misplaced(expected?, kind)) {
            Some(reason) => Err(opaque(reason, false, value)),
            None => Ok(()),
        };
        match Envelope::of(value).map_err(|fault| broken(&fault, value))? {
            Envelope::Foreign => Err(opaque(foreign_reason(value), true, value)),
            Envelope::Json | Envelope::Cbor => match Dynamic::of(value) {
                Ok(dynamic) => in_place(dynamic.kind()).map(|()| Stored::Dynamic(dynamic)),
                Err(fault) => {
                    // What is damaged may still say its kind.
                    in_place(expected.and_then(|_| kind_of_key::dynamic_kind(value)).as_deref())?;
                    Err(broken(&fault, value))
                }
            },
            Envelope::Protobuf { api_version, kind, object } => {
                in_place(Some(&kind))?;
                let Some(message) = find_message(&api_version, &kind) else {
                    return Err(opaque(unknown_kind(&api_version, &kind), true, value));
                };
                let (api_version, message) = self.served_as(&api_version, &kind).unwrap_or((api_version, message));
                let changes = !self.is_for_stored && served::changes(&api_version, &kind);
                let is_plain = !changes && !self.masks(key, value);
                let is_lean = self.hides_managed_fields;
                Ok(Stored::Protobuf(Wire { message, api_version, kind, object, changes, is_plain, is_lean }))
            }
        }
    }

    pub(super) fn value(&self, stored: Stored, value: &[u8], mod_revision: i64, wanted: Option<&FieldSet>) -> Result<WithUnknown<Value>> {
        let keep = |object: &mut Value| wanted.into_iter().for_each(|wanted| wanted.keep(object));
        let wire = match stored {
            Stored::Protobuf(wire) => wire,
            Stored::Dynamic(dynamic) => {
                let (mut object, unknown) = self.dynamic(dynamic, mod_revision)?;
                if self.hides_managed_fields
                    && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
                {
                    metadata.remove("managedFields");
                }
                keep(&mut object);
                return Ok((object, unknown));
            }
        };
        // What the server changes may depend on other members.
        let made = wanted.filter(|_| !wire.changes);
        let mut context = wire.context(self, value);
        let mut object = Value::deserialize(wire.deserializer(&mut context, mod_revision, made)).map_err(|unfit| unfit.0)?;
        if wire.changes {
            served::serve(&mut object, &wire.api_version, &wire.kind, self.minor(wire.message));
            keep(&mut object);
        }
        Ok((object, context.unknown))
    }

    /// A value that carries its own member names: custom resources, and the few built-in kinds that are stored as JSON.
    fn dynamic(&self, Dynamic { mut object, out_of_range }: Dynamic, mod_revision: i64) -> Result<WithUnknown<Value>> {
        let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (mut api_version, kind) = (text("apiVersion"), text("kind"));
        let mut unknown = Vec::new();
        match find_message(&api_version, &kind) {
            None => {
                if let Some(at) = out_of_range {
                    return Err(Fault::new("number out of range", at));
                }
                raw_json::rewrite_numbers(&mut object);
                if let (Some(schemas), false) = (&self.schemas, self.is_for_stored) {
                    schemas.read(&mut object, self.release);
                }
            }
            Some(mut message) => {
                let converted = !self.is_for_stored && self.release.in_tables() >= CRD_V1_ONLY;
                if converted && (api_version.as_str(), kind.as_str()) == ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition") {
                    custom_resource_definition::to_v1(&mut object);
                    api_version = "apiextensions.k8s.io/v1".to_owned();
                    message = find_message(&api_version, &kind).unwrap_or(message);
                } else if let Some(served) = self.served_as(&api_version, &kind) {
                    (api_version, message) = served;
                }
                let minor = self.minor(message);
                let mut structs = Structs { minor, shows_newer_fields: self.shows_newer_fields, unknown: &mut unknown };
                object = conform(message, object, (&api_version, &kind), &mut structs);
                if !self.is_for_stored {
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
        let version = versions::served_as(api_version, kind, self.release.in_tables()).filter(|_| !self.is_for_stored)?;
        find_message(&version, kind).map(|message| (version, message))
    }

    /// The release whose rules an object is written by: ours, or the last one that knew its message.
    pub(super) fn minor(&self, message: &Message) -> u8 {
        self.release.in_tables().min(message.last)
    }
}

pub(super) enum Stored {
    Protobuf(Wire),
    /// An object in JSON or CBOR.
    Dynamic(Dynamic),
}

/// An object in JSON or CBOR, its numbers as they are written there.
pub(super) struct Dynamic {
    object: Value,
    /// Where the first number is that no float64 holds.
    out_of_range: Option<usize>,
}

impl Dynamic {
    fn of(value: &[u8]) -> Result<Self> {
        let json = if value.starts_with(&cbor::CBOR_MAGIC) {
            let mut text = Vec::with_capacity(value.len() + 64);
            cbor::append(value, &mut text)?;
            CanonicalText { text: text.into(), out_of_range: None }
        } else {
            CanonicalText::of(value)?
        };
        let object: Value = serde_json::from_slice(&json.text).map_err(|error| Fault::new(error.to_string(), 0))?;
        if object.is_object() { Ok(Self { object, out_of_range: json.out_of_range }) } else { Err(Fault::new("no object", 0)) }
    }

    /// What it says of its kind, empty where it has none; `None` where that is not text.
    fn kind(&self) -> Option<&str> {
        self.object.get("kind").map_or(Some(""), Value::as_str)
    }
}

/// An object in protobuf: where it lies in the value, and what it is.
pub(super) struct Wire {
    pub(super) message: &'static Message,
    api_version: String,
    kind: String,
    pub(super) object: Span,
    /// Whether the API server may change the object on its way.
    changes: bool,
    /// Whether nothing but its bytes decides how it is shown: the server does not change it, and nothing in it is masked.
    pub(super) is_plain: bool,
    /// Without `metadata.managedFields`.
    is_lean: bool,
}

impl Wire {
    pub(super) fn context<'v>(&self, decoder: &Decoder, value: &'v [u8]) -> Context<'v> {
        let mut context = Context::new(value, decoder.minor(self.message), decoder.shows_newer_fields);
        context.keeps_order = decoder.keeps_order;
        context
    }

    /// Whether both are versions of objects of one kind.
    pub(super) fn is_of_kind(&self, other: &Self) -> bool {
        std::ptr::eq(self.message, other.message) && self.api_version == other.api_version && self.kind == other.kind
    }

    pub(super) fn identity(&self, mod_revision: i64) -> Identity<'_> {
        Identity { api_version: &self.api_version, kind: &self.kind, mod_revision, is_lean: self.is_lean }
    }

    /// Reads the object, or what is wanted of it.
    pub(super) fn deserializer<'c, 'v>(
        &'c self,
        context: &'c mut Context<'v>,
        mod_revision: i64,
        wanted: Option<&'c FieldSet>,
    ) -> typed::TypedObject<'c, 'v> {
        typed::TypedObject { context, message: self.message, span: self.object, identity: self.identity(mod_revision), wanted }
    }
}

/// Since this release CustomResourceDefinitions are served as v1 only, though stored as v1beta1.
const CRD_V1_ONLY: u8 = 22;

pub(super) fn find_message(api_version: &str, kind: &str) -> Option<&'static Message> {
    let index = ROOTS.binary_search_by(|row| (row.api_version, row.kind).cmp(&(api_version, kind))).ok()?;
    Some(&MESSAGES[usize::from(ROOTS[index].message.0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Body;

    /// Why JSON under the key of a pod is opaque; empty where it is an object.
    fn reason(json: &str) -> String {
        match Decoder::new().decode(b"/registry/pods/a/b", json.as_bytes(), 7).body {
            Body::Object(_) => String::new(),
            Body::Opaque(opaque) => opaque.reason,
        }
    }

    #[test]
    fn json_of_another_kind_than_its_key_is_opaque_even_where_it_is_damaged() {
        let misplaced = "stored under the key of a Pod, but it holds a ConfigMap";
        let deep = format!("{}{}", "[".repeat(raw_json::MAX_DEPTH), "]".repeat(raw_json::MAX_DEPTH));
        assert_eq!(reason(r#"{"kind": "ConfigMap"}"#), misplaced);
        assert_eq!(reason(&format!(r#"{{"kind": "ConfigMap", "data": {deep}}}"#)), misplaced);
        assert!(reason(&format!(r#"{{"kind": "Pod", "data": {deep}}}"#)).starts_with("JSON nested too deep"));
        assert_eq!(reason("{}"), "stored under the key of a Pod, but it holds an object without a kind");
        assert!(reason(r#"{"kind": "ConfigMap", "#).starts_with("JSON cut short"));
    }

    #[test]
    fn json_whose_kind_is_not_text_is_not_misplaced() {
        assert_eq!(reason(r#"{"kind": "Pod", "apiVersion": "v1"}"#), "");
        assert_eq!(reason(r#"{"kind": 1}"#), "");
    }
}

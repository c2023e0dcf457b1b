//! Objects to protobuf, as the API server sends them: the inverse of the decoder, by the same tables.
//!
//! Sources: the generated marshallers of k8s.io/api (fields by number; what is not a pointer is written even if it is zero), and apimachinery v0.36
//! `pkg/apis/meta/v1/{time,micro_time}_proto.go`, `pkg/api/resource/quantity_proto.go`, `pkg/runtime/serializer/protobuf/protobuf.go`.

mod special;
mod wire;

use serde_json::{Map, Value};

use self::wire::{length_delimited, nested, tag, varint};
use crate::Release;
use crate::proto::kubernetes::{MESSAGES, ROOTS};
use crate::proto::table::{Card, Emit, Message, MessageId, Numbers, Render, Row, Type};

/// What the bytes of an object begin with.
const PROTOBUF_MAGIC: &[u8] = b"k8s\0";

/// The version under which the tables have the kinds that every group serves, such as `Status`.
const META_VERSION: &str = "meta.k8s.io/v1";

/// The protobuf of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Encoder {
    message: &'static Message,
    /// The release whose rules hold, a minor of 1.x.
    minor: u8,
}

/// Why an object cannot be encoded: a value that its type cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} cannot be written in protobuf: {reason}")]
pub struct EncodeError {
    path: String,
    reason: String,
}

type Result<T = (), E = Box<EncodeError>> = std::result::Result<T, E>;

impl EncodeError {
    fn new(reason: impl Into<String>) -> Box<Self> {
        Box::new(Self { path: String::new(), reason: reason.into() })
    }

    fn within(mut self: Box<Self>, segment: &str) -> Box<Self> {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{separator}{}", self.path);
        self
    }
}

impl Encoder {
    /// Returns the encoder of a kind; `None` if it has no protobuf form, as custom resources do not.
    pub fn of(api_version: &str, kind: &str, release: Release) -> Option<Self> {
        let root = |version: &str| ROOTS.binary_search_by(|row| (row.api_version, row.kind).cmp(&(version, kind))).ok();
        let at = root(api_version).or_else(|| root(META_VERSION).filter(|_| api_version == "v1"))?;
        let message = message_of(ROOTS[at].message);
        Some(Self { message, minor: release.in_tables().min(message.last) })
    }

    /// Appends an object in protobuf, without the envelope. Members that the kind has in no release are not written, as no API server reads them.
    ///
    /// # Errors
    /// A value does not fit its type. Then part of the object may have been appended.
    pub fn append(&self, object: &Value, out: &mut Vec<u8>) -> Result {
        self.message(self.message, object, out)
    }

    /// Appends one of an object's members, or one item of a member that is a list.
    ///
    /// # Errors
    /// As [`Encoder::append`]; or the kind has no such member.
    pub fn append_member(&self, name: &str, value: &Value, out: &mut Vec<u8>) -> Result {
        let is_it = |row: &&Row| row.name == name && row.holds_in(self.minor);
        let row = self.message.rows.iter().find(is_it).ok_or_else(|| EncodeError::new("no such member").within(name))?;
        let number = self.message.numbers.slots.iter().position(|&slot| slot == row.slot + 1);
        let number = number.ok_or_else(|| EncodeError::new("not a member of its own").within(name))?;
        self.value(row.ty, number as u32, value, out).map_err(|error| error.within(name))
    }

    fn message(&self, message: &'static Message, value: &Value, out: &mut Vec<u8>) -> Result {
        match (message.render, value) {
            (Render::Struct, Value::Object(given)) => self.fields(message, &message.numbers, given, out),
            (Render::Struct, Value::Null) => self.fields(message, &message.numbers, &Map::new(), out),
            (Render::Struct, _) => Err(unfit("an object", value)),
            _ => self.special(message, value, out),
        }
    }

    /// Writes the fields of a message, or of one that is inlined in it, by their numbers.
    fn fields(&self, message: &'static Message, numbers: &'static Numbers, given: &Map<String, Value>, out: &mut Vec<u8>) -> Result {
        for (number, &slot) in numbers.slots.iter().enumerate() {
            let number = number as u32;
            if slot > Numbers::INLINED {
                let inner = &numbers.inlined[usize::from(slot - Numbers::INLINED) - 1];
                nested(number, out, |out| self.fields(message, inner, given, out))?;
            } else if slot > 0
                && let Some((row, value)) = self.choose(message, message.fills[usize::from(slot) - 1], given)
            {
                self.field(row, number, value, out).map_err(|error| error.within(row.name))?;
            }
        }
        Ok(())
    }

    /// Which of a field's rows an object has, else which the release has.
    fn choose<'v>(
        &self,
        message: &'static Message,
        fills: u64,
        given: &'v Map<String, Value>,
    ) -> Option<(&'static Row, Option<&'v Value>)> {
        let rows = || {
            let is_filled = move |index: &usize| fills >> index & 1 == 1;
            let rows = (0..message.rows.len()).filter(is_filled).map(|index| &message.rows[index]);
            rows.filter(|row| !matches!(row.ty, Type::ApiVersion | Type::Kind))
        };
        let own = rows().find(|row| row.holds_in(self.minor));
        let there = own.and_then(|row| given.get(row.name).map(|value| (row, value)));
        let there = there.or_else(|| rows().find_map(|row| given.get(row.name).map(|value| (row, value))));
        there.map(|(row, value)| (row, Some(value))).or_else(|| own.map(|row| (row, None)))
    }

    fn field(&self, row: &'static Row, number: u32, value: Option<&Value>, out: &mut Vec<u8>) -> Result {
        let is_pointer = row.emit == Emit::IfSet || row.emit == Emit::AlwaysOrNull;
        match (row.card, value) {
            (Card::List, Some(Value::Array(items))) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(row.ty, number, item, out).map_err(|error| error.within(&format!("[{index}]")))?;
                }
                Ok(())
            }
            (Card::Map, Some(Value::Object(entries))) => {
                for (key, item) in entries {
                    self.entry(row.ty, number, key, item, out).map_err(|error| error.within(&format!("[{key:?}]")))?;
                }
                Ok(())
            }
            (Card::List | Card::Map, None | Some(Value::Null)) => Ok(()),
            (Card::List, Some(value)) => Err(unfit("a list", value)),
            (Card::Map, Some(value)) => Err(unfit("an object", value)),
            (Card::One, None) if is_pointer || is_slice(row.ty) => Ok(()),
            (Card::One, Some(Value::Null)) if row.emit == Emit::AlwaysOrNull || is_slice(row.ty) => Ok(()),
            (Card::One, value) => self.value(row.ty, number, value.unwrap_or(&Value::Null), out),
        }
    }

    fn entry(&self, ty: Type, number: u32, key: &str, value: &Value, out: &mut Vec<u8>) -> Result {
        nested(number, out, |out| {
            length_delimited(1, key.as_bytes(), out);
            self.value(ty, 2, value, out)
        })
    }

    /// Writes one value with its tag; null is the zero value of its type.
    fn value(&self, ty: Type, number: u32, value: &Value, out: &mut Vec<u8>) -> Result {
        match ty {
            Type::Bool | Type::Int32 | Type::Int64 => {
                let bits = special::integer(ty, value)?;
                tag(number, wire::WIRE_VARINT, out);
                varint(bits, out);
            }
            Type::Double => {
                let double = if value.is_null() { 0.0 } else { value.as_f64().ok_or_else(|| unfit("a number", value))? };
                tag(number, wire::WIRE_FIXED64, out);
                out.extend(double.to_bits().to_le_bytes());
            }
            Type::String => length_delimited(number, special::text(value)?.as_bytes(), out),
            Type::Bytes => length_delimited(number, &special::bytes(value)?, out),
            Type::Message(id) => nested(number, out, |out| self.message(message_of(id), value, out))?,
            Type::ApiVersion | Type::Kind => {}
        }
        Ok(())
    }
}

/// Whether Go holds a value as a slice, of which nil is not written.
fn is_slice(ty: Type) -> bool {
    match ty {
        Type::Bytes => true,
        Type::Message(id) => matches!(message_of(id).render, Render::List | Render::Fields),
        _ => false,
    }
}

fn message_of(id: MessageId) -> &'static Message {
    &MESSAGES[usize::from(id.0)]
}

fn unfit(wanted: &str, value: &Value) -> Box<EncodeError> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    EncodeError::new(format!("{kind} where {wanted} is expected"))
}

/// Appends what stands before an object of `length` bytes: the magic bytes and the fields of `runtime.Unknown` up to the object.
pub fn envelope_head(api_version: &str, kind: &str, length: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(PROTOBUF_MAGIC);
    let mut type_meta = Vec::with_capacity(64);
    length_delimited(1, api_version.as_bytes(), &mut type_meta);
    length_delimited(2, kind.as_bytes(), &mut type_meta);
    length_delimited(1, &type_meta, out);
    tag(2, wire::WIRE_LEN, out);
    varint(length, out);
}

/// What stands after an object: an empty content encoding and content type.
pub const ENVELOPE_TAIL: &[u8] = &[3 << 3 | wire::WIRE_LEN, 0, 4 << 3 | wire::WIRE_LEN, 0];

/// Returns an object in protobuf with its envelope; `None` where its kind has no protobuf.
///
/// # Errors
/// As [`Encoder::append`].
pub fn encode(object: &Value, release: Release) -> Result<Option<Vec<u8>>> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some(encoder) = Encoder::of(api_version, kind, release) else { return Ok(None) };
    let mut raw = Vec::new();
    encoder.append(object, &mut raw)?;
    let mut out = Vec::with_capacity(raw.len() + 64);
    envelope_head(api_version, kind, raw.len() as u64, &mut out);
    out.extend(raw);
    out.extend(ENVELOPE_TAIL);
    Ok(Some(out))
}

/// Appends a `WatchEvent` around an object that is encoded already, with its envelope.
pub fn append_watch_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    length_delimited(1, kind.as_bytes(), out);
    let mut extension = Vec::with_capacity(object.len() + 8);
    length_delimited(1, object, &mut extension);
    length_delimited(2, &extension, out);
}

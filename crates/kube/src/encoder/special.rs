//! Values that are not written as a struct of their fields: scalars, times, quantities, and values that JSON shows bare.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::Value;

use super::wire::{length_delimited, tag, varint};
use super::{EncodeError, Encoder, Result, unfit, wire};
use crate::decoder::go_json;
use crate::go_duration::parse_go_duration;
use crate::proto::table::{Card, Message, Render, Type};

/// A bool or an integer as a varint has it.
pub(super) fn integer(ty: Type, value: &Value) -> Result<u64> {
    match (ty, value) {
        (_, Value::Null) => Ok(0),
        (Type::Bool, _) => value.as_bool().map(u64::from).ok_or_else(|| unfit("a bool", value)),
        _ => {
            let number = value.as_i64().ok_or_else(|| unfit("an integer", value))?;
            if ty == Type::Int32 && i32::try_from(number).is_err() {
                return Err(EncodeError::new(format!("{number} does not fit 32 bits")));
            }
            Ok(number as u64)
        }
    }
}

pub(super) fn text(value: &Value) -> Result<&str> {
    if value.is_null() { Ok("") } else { value.as_str().ok_or_else(|| unfit("text", value)) }
}

pub(super) fn bytes(value: &Value) -> Result<Vec<u8>> {
    BASE64.decode(text(value)?).map_err(|error| EncodeError::new(format!("text that is not base64: {error}")))
}

fn number(number: u32, value: i64, out: &mut Vec<u8>) {
    tag(number, wire::WIRE_VARINT, out);
    varint(value as u64, out);
}

impl Encoder {
    /// Writes a message that JSON does not show as a struct.
    pub(super) fn special(&self, message: &'static Message, value: &Value, out: &mut Vec<u8>) -> Result {
        match message.render {
            Render::Time | Render::MicroTime => return time(message.render, value, out),
            Render::Duration => {
                let nanos = if value.is_null() { 0 } else { parse_go_duration(text(value)?).map_err(EncodeError::new)? };
                number(1, nanos, out);
            }
            Render::Quantity => match value {
                Value::Null => length_delimited(1, b"0", out),
                Value::Number(own) => length_delimited(1, own.to_string().as_bytes(), out),
                _ => length_delimited(1, text(value)?.as_bytes(), out),
            },
            Render::IntOrString => {
                let is_text = value.is_string();
                number(1, i64::from(is_text), out);
                number(2, if is_text { 0 } else { integer(Type::Int32, value)? as i64 }, out);
                length_delimited(3, if is_text { text(value)? } else { "" }.as_bytes(), out);
            }
            Render::RawJson if value.is_null() => {}
            Render::RawJson => length_delimited(1, &go_json(value), out),
            Render::List => {
                for item in list(value)?.iter() {
                    self.value(message.rows[0].ty, 1, item, out)?;
                }
            }
            Render::Fields => {
                for (key, item) in value.as_object().ok_or_else(|| unfit("an object", value))? {
                    self.entry(message.rows[0].ty, 1, key, item, out)?;
                }
            }
            Render::SchemaOrBool | Render::SchemaOrArray | Render::SchemaOrStrings => return self.schema(message, value, out),
            Render::Struct => unreachable!("a struct writes its fields"),
        }
        Ok(())
    }

    /// Writes a schema, or what can stand in its place: a bool, a list of schemas or of strings.
    fn schema(&self, message: &'static Message, value: &Value, out: &mut Vec<u8>) -> Result {
        let row = |is_schema: bool| {
            let found = message.rows.iter().find(|row| is_schema == (row.card == Card::One && matches!(row.ty, Type::Message(_))));
            let row = found.ok_or_else(|| EncodeError::new(format!("{} has no such field", message.name)))?;
            let number = message.numbers.slots.iter().position(|&slot| slot == row.slot + 1).unwrap_or_default();
            Ok::<_, Box<EncodeError>>((row.ty, number as u32))
        };
        let ((schema, schema_number), (other, other_number)) = (row(true)?, row(false)?);
        match (message.render, value) {
            (Render::SchemaOrBool, Value::Object(_)) => {
                self.value(other, other_number, &Value::Bool(true), out)?;
                self.value(schema, schema_number, value, out)
            }
            (Render::SchemaOrBool, _) => self.value(other, other_number, value, out),
            (_, Value::Object(_)) => self.value(schema, schema_number, value, out),
            _ => list(value)?.iter().try_for_each(|item| self.value(other, other_number, item, out)),
        }
    }
}

fn list(value: &Value) -> Result<Cow<'_, [Value]>> {
    match value {
        Value::Null => Ok(Cow::Borrowed(&[])),
        Value::Array(items) => Ok(Cow::Borrowed(items)),
        _ => Err(unfit("a list", value)),
    }
}

/// Seconds and nanoseconds, which for all but microseconds' sake are 0; nothing for Go's zero time.
fn time(render: Render, value: &Value, out: &mut Vec<u8>) -> Result {
    if value.is_null() {
        return Ok(());
    }
    let time: Timestamp = text(value)?.parse().map_err(|error| EncodeError::new(format!("{value} is not a time: {error}")))?;
    // Before 1970 both are negative, and Go counts nanoseconds up.
    let nanos = i64::from(time.subsec_nanosecond());
    let (seconds, nanos) = if nanos < 0 { (time.as_second() - 1, nanos + 1_000_000_000) } else { (time.as_second(), nanos) };
    number(1, seconds, out);
    number(2, if render == Render::MicroTime { nanos / 1000 * 1000 } else { 0 }, out);
    Ok(())
}

//! Built-in kinds stored as JSON: read through the Go structs and written again, which drops members that no struct
//! has and adds members that are always written.

use serde_json::{Map, Value};

use super::fault::prepend;
use super::go_text;
use crate::UnknownField;
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Card, Emit, Message, Render, Row, Type};

/// Whose structs an object is read through.
pub(super) struct Structs<'a> {
    /// The release, a minor of 1.x.
    pub minor: u8,
    /// Whether members that the release does not have are kept.
    pub shows_newer_fields: bool,
    /// Members that the release does not have.
    pub unknown: &'a mut Vec<UnknownField>,
}

/// The object as the structs of a release write it.
pub(super) fn conform(message: &Message, object: Value, (api_version, kind): (&str, &str), structs: &mut Structs<'_>) -> Value {
    let mut object = match object {
        Value::Object(mut members) => {
            members.remove("apiVersion");
            members.remove("kind");
            structs.members(message, members)
        }
        other => other,
    };
    if let Value::Object(members) = &mut object {
        members.insert("apiVersion".to_owned(), api_version.into());
        members.insert("kind".to_owned(), kind.into());
    }
    object
}

impl Structs<'_> {
    fn members(&mut self, message: &Message, mut given: Map<String, Value>) -> Value {
        let mut members = Map::new();
        let minor = self.minor;
        for row in message.rows.iter().filter(|row| row.holds_in(minor)) {
            let member = match row.ty {
                Type::ApiVersion | Type::Kind => given.remove(row.name),
                _ => self.member(row, given.remove(row.name).filter(|value| !value.is_null())),
            };
            if let Some(member) = member {
                members.insert(row.name.to_owned(), member);
            }
        }
        for (name, value) in given {
            if self.shows_newer_fields {
                members.insert(name, value);
            } else {
                self.unknown.push(UnknownField {
                    path: name,
                    number: 0,
                    wire_type: 0,
                    bytes: value.to_string().into_bytes(),
                    masked: false,
                });
            }
        }
        Value::Object(members)
    }

    /// What is written for a row; `None` is nothing.
    fn member(&mut self, row: &Row, given: Option<Value>) -> Option<Value> {
        let Some(given) = given else {
            return match row.emit {
                Emit::Always if row.card == Card::One => Some(self.zero(row.ty)),
                Emit::Always | Emit::AlwaysOrNull => Some(Value::Null),
                Emit::IfSet | Emit::IfNotEmpty => None,
            };
        };
        let before = self.unknown.len();
        let value = match (row.card, given) {
            (Card::List, Value::Array(items)) => Value::Array(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, item)| self.within(&format!("[{index}]"), |me| me.value(row.ty, item)))
                    .collect(),
            ),
            (Card::Map, Value::Object(entries)) => {
                let entries = entries.into_iter().map(|(key, item)| {
                    let item = self.within(&format!("[{key:?}]"), |me| me.value(row.ty, item));
                    (key, item)
                });
                Value::Object(entries.collect())
            }
            (_, given) => self.value(row.ty, given),
        };
        self.unknown[before..].iter_mut().for_each(|field| prepend(&mut field.path, row.name));
        (row.emit != Emit::IfNotEmpty || !is_empty(&value)).then_some(value)
    }

    fn within(&mut self, segment: &str, read: impl FnOnce(&mut Self) -> Value) -> Value {
        let before = self.unknown.len();
        let value = read(self);
        self.unknown[before..].iter_mut().for_each(|field| prepend(&mut field.path, segment));
        value
    }

    fn value(&mut self, ty: Type, given: Value) -> Value {
        match (ty, given) {
            // An element of a list or a map: `null` leaves it at its zero value.
            (ty, Value::Null) => self.zero(ty),
            (Type::Message(id), given) => self.message(&MESSAGES[usize::from(id.0)], given),
            (Type::Double, Value::Number(number)) => {
                let mut text = Vec::new();
                match number.as_f64() {
                    Some(value) if value.is_finite() => go_text::append_float(&mut text, value),
                    _ => text.extend_from_slice(number.as_str().as_bytes()),
                }
                serde_json::from_slice(&text).unwrap_or(Value::Number(number))
            }
            (_, given) => given,
        }
    }

    fn message(&mut self, message: &Message, given: Value) -> Value {
        match (message.render, given) {
            (Render::Struct, Value::Object(members)) => self.members(message, members),
            (Render::Quantity, Value::Number(number)) => Value::String(number.to_string()),
            (Render::SchemaOrBool | Render::SchemaOrArray | Render::SchemaOrStrings, Value::Object(members)) => {
                let schema = message.rows.iter().find(|row| row.card == Card::One && matches!(row.ty, Type::Message(_)));
                match schema {
                    Some(Row { ty, .. }) => self.value(*ty, Value::Object(members)),
                    None => Value::Object(members),
                }
            }
            (Render::SchemaOrArray, Value::Array(items)) => {
                let schemas = message.rows.iter().find(|row| row.card == Card::List);
                Value::Array(
                    items.into_iter().map(|item| schemas.map_or_else(|| item.clone(), |row| self.value(row.ty, item.clone()))).collect(),
                )
            }
            (Render::List, Value::Array(items)) => {
                Value::Array(items.into_iter().map(|item| self.value(message.rows[0].ty, item)).collect())
            }
            (_, given) => given,
        }
    }

    fn zero(&mut self, ty: Type) -> Value {
        match ty {
            Type::Bool => Value::Bool(false),
            Type::Int32 | Type::Int64 | Type::Double => 0.into(),
            Type::String => "".into(),
            Type::Bytes | Type::ApiVersion | Type::Kind => Value::Null,
            Type::Message(id) => {
                let message = &MESSAGES[usize::from(id.0)];
                match message.render {
                    Render::Struct => self.members(message, Map::new()),
                    Render::Quantity => "0".into(),
                    Render::Duration => "0s".into(),
                    Render::IntOrString => 0.into(),
                    _ => Value::Null,
                }
            }
        }
    }
}

/// Whether `omitempty` leaves it out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

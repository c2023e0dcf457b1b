//! A value of a template: what encoding/json makes of an object, or a constant.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// There is none: a member that is missing.
    Missing,
    /// `nil`: JSON's null.
    Nil,
    /// True or false.
    Bool(bool),
    /// An `int`: a constant, a length, an index.
    Int(i64),
    /// A `float64`: every number of an object.
    Float(f64),
    Text(Cow<'a, str>),
    List(&'a [Json]),
    Map(&'a Map<String, Json>),
}

impl<'a> From<&'a Json> for Value<'a> {
    fn from(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(bool) => Self::Bool(*bool),
            Json::Number(number) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::Text(Cow::Borrowed(text)),
            Json::Array(items) => Self::List(items),
            Json::Object(members) => Self::Map(members),
        }
    }
}

impl Value<'_> {
    /// Whether an action takes it for true (text/template `IsTrue`).
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Nil => false,
            Self::Bool(bool) => *bool,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(members) => !members.is_empty(),
        }
    }

    /// The bytes of a text; 0 of all else.
    pub(super) fn text_length(&self) -> usize {
        if let Self::Text(text) = self { text.len() } else { 0 }
    }

    /// The items of a list or the members of an object; 0 of all else.
    pub(super) fn item_count(&self) -> usize {
        match self {
            Self::List(items) => items.len(),
            Self::Map(members) => members.len(),
            _ => 0,
        }
    }

    /// Whether there is nothing.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Missing | Self::Nil)
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }
}

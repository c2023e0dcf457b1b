//! The fields that managers own: names stand in keys there.
//!
//! A key is `f:` with a field's or a map's key, `k:` with what tells an item of a list, `v:` with an item, or `.` (apimachinery v0.36
//! `pkg/apis/meta/v1` FieldsV1).

use serde_json::{Map, Value};

/// A key of the fields.
pub(crate) enum FieldKey<'a> {
    /// A field, or a key of a map.
    Field(&'a str),
    /// What tells an item of a list of objects.
    Item(Map<String, Value>),
    /// An item of a set.
    Element(Value),
}

/// Rewrites the keys of `fields`. `map` gets the fields around each, from the outside in, and returns what becomes of it; `None` leaves it.
pub(crate) fn rewrite(fields: &mut Map<String, Value>, map: &mut dyn FnMut(&[String], FieldKey<'_>) -> Option<String>) {
    below(fields, &mut Vec::new(), map);
}

fn below(fields: &mut Map<String, Value>, around: &mut Vec<String>, map: &mut dyn FnMut(&[String], FieldKey<'_>) -> Option<String>) {
    let members = std::mem::take(fields);
    for (key, mut member) in members {
        let rewritten = read(&key).and_then(|read| map(around, read));
        if let Value::Object(inner) = &mut member {
            let field = key.strip_prefix("f:");
            around.extend(field.map(str::to_owned));
            below(inner, around, map);
            if field.is_some() {
                around.pop();
            }
        }
        fields.insert(rewritten.unwrap_or(key), member);
    }
}

fn read(key: &str) -> Option<FieldKey<'_>> {
    match key.split_once(':')? {
        ("f", field) => Some(FieldKey::Field(field)),
        ("k", text) => match serde_json::from_str(text) {
            Ok(Value::Object(item)) => Some(FieldKey::Item(item)),
            _ => None,
        },
        ("v", text) => serde_json::from_str(text).ok().map(FieldKey::Element),
        _ => None,
    }
}

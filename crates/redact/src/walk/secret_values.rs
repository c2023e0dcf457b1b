//! Values of Secrets and other stored credentials: all of them go, whatever was chosen.

use serde_json::{Map, Value};

use super::members::{at, renamed};
use crate::choice::Class;
use crate::mask::Mask;
use crate::secrets;

/// A member of a Secret other than its metadata: all but what says that it is one goes.
pub(super) fn member(mask: &mut Mask, name: &str, member: &mut Value) {
    match (name, &mut *member) {
        ("data", Value::Object(data)) => each(mask, data, true),
        ("stringData", Value::Object(data)) => each(mask, data, false),
        ("apiVersion" | "kind" | "type" | "immutable", Value::String(_) | Value::Bool(_)) => {}
        _ => all(mask, member),
    }
}

/// Each value under a key of its author.
pub(super) fn each(mask: &mut Mask, data: &mut Map<String, Value>, is_base64: bool) {
    renamed(data, |key, member| {
        at(mask, "*", |mask| match member {
            Value::String(text) if is_base64 => *text = mask.gone_bytes(Class::Secrets, text),
            _ => all(mask, member),
        });
        mask.text(key)
    });
}

/// Whatever lies where a Secret should.
pub(super) fn all(mask: &mut Mask, value: &mut Value) {
    match value {
        Value::String(text) => *text = mask.gone(Class::Secrets, text),
        Value::Array(items) => items.iter_mut().for_each(|item| at(mask, "[]", |mask| all(mask, item))),
        Value::Object(members) => members.iter_mut().for_each(|(_, member)| at(mask, "*", |mask| all(mask, member))),
        Value::Number(_) => *value = Value::from(0),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The members of other kinds that hold credentials.
pub(super) fn credentials(mask: &mut Mask, kind: &str, members: &mut Map<String, Value>) {
    if secrets::credentials(kind).is_empty() {
        return;
    }
    let mut object = Value::Object(std::mem::take(members));
    for place in secrets::credentials(kind) {
        at(mask, &place.join("."), |mask| {
            for text in secrets::at_place(&mut object, place) {
                *text = mask.gone(Class::Secrets, text);
            }
        });
    }
    if let Value::Object(object) = object {
        *members = object;
    }
}

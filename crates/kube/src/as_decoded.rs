//! JSON as the API server's Go structs hold it once they have read it: what is null or absent is the zero value of its type.
//! Source: `encoding/json` ("null ... has no effect"), `apimachinery/pkg/apis/meta/v1/time.go`, `apimachinery/pkg/api/resource/quantity.go` UnmarshalJSON.

use serde_json::{Map, Value};

use crate::proto::kubernetes::{MESSAGES, ROOTS};
use crate::proto::table::{Card, Message, Render, Row, Type};

/// The message whose time Go holds as its zero value where it is null; in all others a null time may be left out.
const ZERO_TIME_FIELD: (&str, &str) = ("k8s.io.apimachinery.pkg.apis.meta.v1.Condition", "lastTransitionTime");

/// Go's zero time.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// Rewrites an object the way the API server reads it, so that types which know no null can read it as well: null members go, null elements of
/// lists and maps become zero values, amounts written as numbers become text. What the API server does not read either stays as it is.
pub fn as_decoded(object: &mut Value) {
    let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let key = (text("apiVersion"), text("kind"));
    let message = ROOTS.binary_search_by(|row| (row.api_version, row.kind).cmp(&key)).ok().map(|at| message_of(ROOTS[at].message.0));
    if let Value::Object(given) = object {
        members(message, given);
    }
}

fn message_of(id: u16) -> &'static Message {
    &MESSAGES[usize::from(id)]
}

/// The members of a struct; `None`: of one that is not known, whose members are taken for structs in their turn.
fn members(message: Option<&'static Message>, given: &mut Map<String, Value>) {
    given.retain(|_, value| !value.is_null());
    for (name, value) in given.iter_mut() {
        // If there are several rows, the last is the newest release's.
        let row = message.and_then(|message| message.rows.iter().rfind(|row| row.name == name));
        member(row, value);
    }
    let (condition, time) = ZERO_TIME_FIELD;
    if message.is_some_and(|message| message.name == condition) && !given.contains_key(time) {
        given.insert(time.to_owned(), ZERO_TIME.into());
    }
}

fn member(row: Option<&Row>, value: &mut Value) {
    match (row, value) {
        (Some(Row { card: Card::List, ty, .. }), Value::Array(items)) => items.iter_mut().for_each(|item| element(*ty, item)),
        (Some(Row { card: Card::Map, ty, .. }), Value::Object(entries)) => entries.values_mut().for_each(|entry| element(*ty, entry)),
        (Some(Row { card: Card::One, ty, .. }), value) => one(*ty, value),
        (None, Value::Object(given)) => members(None, given),
        (None, Value::Array(items)) => items.iter_mut().for_each(|item| member(None, item)),
        _ => {}
    }
}

/// An element of a list or a map.
fn element(ty: Type, value: &mut Value) {
    if value.is_null() {
        *value = zero(ty);
    }
    one(ty, value);
}

fn one(ty: Type, value: &mut Value) {
    let Type::Message(id) = ty else { return };
    let message = message_of(id.0);
    match (message.render, value) {
        (Render::Struct, Value::Object(given)) => members(Some(message), given),
        (Render::List, Value::Array(items)) => items.iter_mut().for_each(|item| element(message.rows[0].ty, item)),
        (Render::Quantity, value @ Value::Number(_)) => *value = Value::String(value.to_string()),
        _ => {}
    }
}

fn zero(ty: Type) -> Value {
    match ty {
        Type::Bool => false.into(),
        Type::Int32 | Type::Int64 | Type::Double => 0.into(),
        Type::String | Type::Bytes | Type::ApiVersion | Type::Kind => "".into(),
        Type::Message(id) => match message_of(id.0).render {
            Render::Struct | Render::Fields => Map::new().into(),
            Render::Time | Render::MicroTime => ZERO_TIME.into(),
            Render::Duration => "0s".into(),
            Render::Quantity => "0".into(),
            Render::IntOrString => 0.into(),
            Render::List => Vec::<Value>::new().into(),
            Render::RawJson | Render::SchemaOrBool | Render::SchemaOrArray | Render::SchemaOrStrings => Value::Null,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_are_zero_values() {
        let mut claim = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": "a", "creationTimestamp": null, "labels": {"x": null}, "finalizers": [null], "ownerReferences": null},
            "status": {"devices": [{"driver": "d", "conditions": [{"type": "Ready", "lastTransitionTime": null}, null]}, null]},
            "later": {"x": null, "y": [{"z": null}]},
        });
        as_decoded(&mut claim);
        let wanted = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": "a", "labels": {"x": ""}, "finalizers": [""]},
            "status": {"devices": [
                {"driver": "d", "conditions": [{"type": "Ready", "lastTransitionTime": ZERO_TIME}, {"lastTransitionTime": ZERO_TIME}]}, {}]},
            "later": {"y": [{}]},
        });
        assert_eq!(claim, wanted);
        let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "spec": {"capacity": {"storage": 5, "other": null}}});
        as_decoded(&mut volume);
        assert_eq!(volume["spec"]["capacity"], json!({"storage": "5", "other": "0"}));
    }
}

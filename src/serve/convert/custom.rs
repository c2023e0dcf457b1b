//! Custom resources from one version to another without a webhook: the version is replaced, and what the schema of the new one does not have goes.
//!
//! Source: apiextensions-apiserver v0.36 `pkg/apiserver/schema/pruning/algorithm.go`, `pkg/apiserver/schema/defaulting/prune.go`.

use serde_json::{Map, Value};

/// Members that every object has, whatever its schema says.
const OF_OBJECTS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes from an object what its schema does not have.
pub(super) fn prune(object: &mut Value, schema: &Value) {
    members(object, Some(schema), true);
    drop_nulls(object, schema);
}

fn is_set(schema: &Value, extension: &str) -> bool {
    schema[extension] == Value::Bool(true)
}

/// The schema of a member: `None` where it has no place, `Some(None)` where only what is no object or list has.
fn member_schema<'s>(schema: &'s Value, name: &str) -> Option<Option<&'s Value>> {
    match (schema["properties"].get(name), schema.get("additionalProperties")) {
        (Some(own), _) => Some(Some(own)),
        (None, Some(rest)) if !rest.is_null() && rest != &Value::Bool(false) => Some(Some(rest).filter(|rest| rest.is_object())),
        _ => None,
    }
}

fn members(value: &mut Value, schema: Option<&Value>, is_object: bool) {
    let keeps_unknown = schema.is_some_and(|schema| is_set(schema, "x-kubernetes-preserve-unknown-fields"));
    match (value, schema) {
        (Value::Object(own), None) => own.clear(),
        (Value::Object(own), Some(schema)) => {
            let is_object = is_object || is_set(schema, "x-kubernetes-embedded-resource");
            own.retain(|name, member| {
                if is_object && OF_OBJECTS.contains(&name.as_str()) {
                    return true;
                }
                match member_schema(schema, name) {
                    Some(Some(inner)) => members(member, Some(inner), false),
                    Some(None) if !keeps_unknown => members(member, None, false),
                    None if !keeps_unknown => return false,
                    _ => {}
                }
                true
            });
        }
        (Value::Array(items), schema) => {
            let inner = schema.and_then(|schema| schema.get("items"));
            if inner.is_some() || !keeps_unknown {
                items.iter_mut().for_each(|item| members(item, inner, false));
            }
        }
        _ => {}
    }
}

/// Removes nulls where the schema takes none and has no default for them.
fn drop_nulls(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(own) => drop_null_members(own, schema),
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                items.iter_mut().for_each(|item| drop_nulls(item, inner));
            }
        }
        _ => {}
    }
}

fn drop_null_members(own: &mut Map<String, Value>, schema: &Value) {
    own.retain(|name, member| {
        let Some(Some(inner)) = member_schema(schema, name) else { return true };
        let is_property = schema["properties"].get(name).is_some();
        if member.is_null() && is_property && !is_set(inner, "nullable") && inner.get("default").is_none_or(Value::is_null) {
            return false;
        }
        drop_nulls(member, inner);
        true
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_schema_lacks_goes() {
        let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "object", "properties": {"a": {}}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true},
            "none": {"type": "string", "nullable": true},
        }}}});
        let mut object = json!({"apiVersion": "a/v2", "kind": "A", "metadata": {"name": "x"}, "status": {"gone": 1}, "spec": {
            "size": 3, "color": "red", "free": {"any": {"thing": 1}, "known": {"a": 1, "b": 2}}, "map": {"k": {"a": "1", "b": 2}},
            "list": [{"a": "1", "b": 2}], "template": {"kind": "Pod", "metadata": {"name": "y"}, "spec": {}}, "none": null}});
        prune(&mut object, &schema);
        assert_eq!(
            object,
            json!({"apiVersion": "a/v2", "kind": "A", "metadata": {"name": "x"}, "spec": {
                "size": 3, "free": {"any": {"thing": 1}, "known": {"a": 1}}, "map": {"k": {"a": "1"}}, "list": [{"a": "1"}],
                "template": {"kind": "Pod", "metadata": {"name": "y"}}, "none": null}})
        );
        let mut nulls = json!({"spec": {"size": null, "none": null}});
        prune(&mut nulls, &schema);
        assert_eq!(nulls, json!({"spec": {"none": null}}));
    }
}

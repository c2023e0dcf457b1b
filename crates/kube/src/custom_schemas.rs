//! Custom resources as the API server reads them from etcd: by the schemas of their CustomResourceDefinition, which say what is left out and what is
//! filled in.
//!
//! Sources: apiextensions-apiserver v0.36 `pkg/apiserver/customresource_handler.go` (`crdConversionRESTOptionsGetter`,
//! `unstructuredSchemaCoercer.apply`), `pkg/apiserver/schema/pruning/algorithm.go`, `pkg/apiserver/schema/defaulting/{algorithm,prunenulls}.go`;
//! the same files of the branches 1.16 to 1.20 for what earlier releases do otherwise.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::release::Release;

/// The first release that takes away nulls that a schema forbids, or replaces them by defaults.
const WITH_NULLS: Release = Release(20);

/// The first release that counts the first generation of objects that are older than generations.
const WITH_GENERATION: Release = Release(16);

/// Members that every object has, whatever its schema says.
const OF_OBJECTS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The schemas of a CustomResourceDefinition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomSchemas {
    group: String,
    kind: String,
    schemas: BTreeMap<String, Value>,
    /// Whether members that no schema has are kept, as before apiextensions v1.
    keeps_unknown: bool,
}

impl CustomSchemas {
    /// The schemas of a definition (v1 or v1beta1); `None` if it does not name its kind.
    pub fn of(definition: &Value) -> Option<Self> {
        let spec = definition.get("spec")?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let is_beta = definition.get("apiVersion").and_then(Value::as_str).is_some_and(|version| version.ends_with("/v1beta1"));
        let keeps_unknown = spec.get("preserveUnknownFields").and_then(Value::as_bool).unwrap_or(is_beta);
        // Until v1 one schema could be that of all versions, and the only version stand outside of the list.
        let shared = spec.pointer("/validation/openAPIV3Schema");
        let versions = spec.get("versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let listed = versions.iter().filter_map(|version| {
            let own = version.pointer("/schema/openAPIV3Schema").or(shared)?;
            Some((text(version.get("name")?)?, own.clone()))
        });
        let mut schemas: BTreeMap<String, Value> = listed.collect();
        if let (true, Some(name), Some(shared)) = (versions.is_empty(), spec.get("version").and_then(text), shared) {
            schemas.insert(name, shared.clone());
        }
        Some(Self { group: text(spec.get("group")?)?, kind: text(spec.pointer("/names/kind")?)?, schemas, keeps_unknown })
    }

    /// The schema of a version.
    pub fn schema(&self, version: &str) -> Option<&Value> {
        self.schemas.get(version)
    }

    /// Makes of a stored object what an API server of this release holds when it has read it, in the version that it is stored in. Objects of other
    /// kinds, and those of versions without a schema, stay as they are.
    pub fn read(&self, object: &mut Value, release: Release) {
        let Some(schema) = self.version_of(object).and_then(|version| self.schemas.get(version)) else { return };
        self.prune(object, schema, release);
        if release >= WITH_GENERATION
            && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
            && metadata.get("generation").is_none_or(|generation| generation == 0)
        {
            metadata.insert("generation".to_owned(), 1.into());
        }
        default(object, schema, release);
    }

    /// Makes of an object that was read one of another version, as is done where the definition names no webhook.
    pub fn convert(&self, object: &mut Value, version: &str, release: Release) {
        if self.version_of(object).is_none() {
            return;
        }
        object["apiVersion"] = format!("{}/{version}", self.group).into();
        if let Some(schema) = self.schemas.get(version) {
            self.prune(object, schema, release);
        }
    }

    fn version_of<'o>(&self, object: &'o Value) -> Option<&'o str> {
        let (group, version) = object.get("apiVersion")?.as_str()?.rsplit_once('/')?;
        (group == self.group && object.get("kind")? == self.kind.as_str()).then_some(version)
    }

    fn prune(&self, object: &mut Value, schema: &Value, release: Release) {
        if self.keeps_unknown {
            return;
        }
        prune(object, Some(schema), true);
        if release >= WITH_NULLS {
            drop_nulls(object, Some(schema));
        }
    }
}

fn is_set(schema: &Value, extension: &str) -> bool {
    schema.get(extension) == Some(&Value::Bool(true))
}

/// The schema of a member: `None` where it has no place, `Some(None)` where it has one and no schema.
fn of_member<'s>(schema: &'s Value, name: &str) -> Option<Option<&'s Value>> {
    match (schema.get("properties").and_then(|properties| properties.get(name)), schema.get("additionalProperties")) {
        (Some(own), _) => Some(Some(own)),
        (None, Some(rest)) if !rest.is_null() => Some(Some(rest).filter(|rest| rest.is_object())),
        _ => None,
    }
}

/// Takes away what a schema does not have. `is_object` says whether the value is an object with a kind, whatever the schema says.
fn prune(value: &mut Value, schema: Option<&Value>, is_object: bool) {
    let keeps = schema.filter(|schema| is_set(schema, "x-kubernetes-preserve-unknown-fields"));
    match (keeps, value) {
        (Some(schema), value) => prune_known(value, Some(schema), is_object),
        (None, Value::Object(members)) => {
            let Some(schema) = schema else { return members.clear() };
            let is_object = is_object || is_set(schema, "x-kubernetes-embedded-resource");
            members.retain(|name, member| {
                if is_object && OF_OBJECTS.contains(&name.as_str()) {
                    return true;
                }
                let place = of_member(schema, name);
                place.into_iter().for_each(|schema| prune(member, schema, false));
                place.is_some()
            });
        }
        (None, Value::Array(items)) => {
            let schema = schema.and_then(|schema| schema.get("items"));
            items.iter_mut().for_each(|item| prune(item, schema, false));
        }
        _ => {}
    }
}

/// Takes away what the schemas of known members do not have; unknown members stay.
fn prune_known(value: &mut Value, schema: Option<&Value>, is_object: bool) {
    let Some(schema) = schema else { return };
    match value {
        Value::Object(members) => {
            let is_object = is_object || is_set(schema, "x-kubernetes-embedded-resource");
            for (name, member) in members.iter_mut().filter(|(name, _)| !(is_object && OF_OBJECTS.contains(&name.as_str()))) {
                of_member(schema, name).into_iter().for_each(|schema| prune(member, schema, false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune_known(item, schema.get("items"), false)),
        _ => {}
    }
}

fn default_of(schema: &Value) -> Option<&Value> {
    schema.get("default").filter(|value| !value.is_null())
}

fn is_forbidden_null(value: &Value, schema: &Value) -> bool {
    value.is_null() && !is_set(schema, "nullable")
}

/// Takes away nulls that their schema forbids and has no default for.
fn drop_nulls(value: &mut Value, schema: Option<&Value>) {
    match value {
        Value::Object(members) => members.retain(|name, member| {
            let schema = schema.and_then(|schema| of_member(schema, name)).flatten();
            let is_kept = schema.is_none_or(|schema| !is_forbidden_null(member, schema) || default_of(schema).is_some());
            drop_nulls(member, schema);
            is_kept
        }),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.get("items"));
            items.iter_mut().for_each(|item| drop_nulls(item, schema));
        }
        _ => {}
    }
}

fn default(value: &mut Value, schema: &Value, release: Release) {
    match value {
        Value::Object(members) => default_members(members, schema, release),
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                replace_null(item, schema, release);
                default(item, schema, release);
            }
        }
        _ => {}
    }
}

fn default_members(members: &mut Map<String, Value>, schema: &Value, release: Release) {
    for (name, own) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let (Some(value), None) = (default_of(own), members.get(name)) {
            members.insert(name.clone(), value.clone());
        }
    }
    for (name, member) in members {
        if let Some(Some(schema)) = of_member(schema, name) {
            replace_null(member, schema, release);
            default(member, schema, release);
        }
    }
}

/// Puts a default in the place of a null that its schema forbids.
fn replace_null(value: &mut Value, schema: &Value, release: Release) {
    if let (true, Some(default)) = (release >= WITH_NULLS && is_forbidden_null(value, schema), default_of(schema)) {
        *value = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schemas(versions: &Value) -> CustomSchemas {
        let versions: Vec<Value> = versions
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, properties)| json!({"name": name, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": properties}}}}))
            .collect();
        let spec = json!({"group": "g.io", "names": {"kind": "A"}, "versions": versions});
        CustomSchemas::of(&json!({"apiVersion": "apiextensions.k8s.io/v1", "spec": spec})).unwrap()
    }

    fn object(spec: &Value) -> Value {
        json!({"apiVersion": "g.io/v1", "kind": "A", "metadata": {"name": "x", "generation": 2}, "spec": spec})
    }

    fn check_in(release: u16, schema: &Value, stored: &Value, wanted: &Value) {
        let mut read = object(stored);
        schemas(&json!({ "v1": schema })).read(&mut read, Release(release));
        assert_eq!(read, object(wanted), "1.{release}");
    }

    #[test]
    fn what_the_schema_lacks_goes() {
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "integer"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "known": {"type": "object", "properties": {"a": {}}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "open": {"type": "array", "x-kubernetes-preserve-unknown-fields": true,
                "items": {"type": "object", "properties": {"a": {"type": "object"}}}},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true},
        }});
        let stored = json!({"size": 3, "color": "red", "free": {"any": {"thing": 1}, "known": {"a": 1, "b": 2}},
            "map": {"k": {"a": "1", "b": 2}}, "list": [{"a": "1", "b": 2}], "open": [{"a": {"c": 1}, "b": 2}],
            "template": {"kind": "Pod", "metadata": {"name": "y"}, "spec": {}}});
        // Items of a list whose unknown members are kept keep theirs as well.
        let wanted = json!({"size": 3, "free": {"any": {"thing": 1}, "known": {"a": 1}}, "map": {"k": {"a": "1"}}, "list": [{"a": "1"}],
            "open": [{"a": {}, "b": 2}], "template": {"kind": "Pod", "metadata": {"name": "y"}}});
        check_in(36, &schema, &stored, &wanted);
    }

    #[test]
    fn defaults_are_filled_in() {
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 3},
            "deep": {"type": "object", "default": {}, "properties": {"mode": {"type": "string", "default": "fast"}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string", "default": "y"}}}},
            "none": {"type": "object", "properties": {"a": {"type": "string", "default": "z"}}},
        }});
        let stored = json!({"map": {"k": {}}, "list": [{}, {"a": "own"}]});
        let wanted = json!({"size": 3, "deep": {"mode": "fast"}, "map": {"k": {"a": "x"}}, "list": [{"a": "y"}, {"a": "own"}]});
        for release in [16, 36] {
            check_in(release, &schema, &stored, &wanted);
        }
    }

    #[test]
    fn nulls_are_those_of_the_release() {
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 3}, "plain": {"type": "string"}, "none": {"type": "string", "nullable": true, "default": "a"},
            "list": {"type": "array", "items": {"type": "string", "default": "b"}},
        }});
        let stored = json!({"size": null, "plain": null, "none": null, "list": [null]});
        check_in(19, &schema, &stored, &stored);
        check_in(20, &schema, &stored, &json!({"size": 3, "none": null, "list": ["b"]}));
    }

    #[test]
    fn a_conversion_prunes_and_fills_in_by_what_is_stored() {
        let of_both = schemas(&json!({
            "v1": {"type": "object", "properties": {"a": {"type": "string", "default": "one"}, "b": {"type": "string", "default": "gone"}}},
            "v2": {"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "string", "default": "not filled in"}}},
        }));
        let mut read = object(&json!({}));
        of_both.read(&mut read, Release(36));
        of_both.convert(&mut read, "v2", Release(36));
        assert_eq!(read["apiVersion"], "g.io/v2");
        assert_eq!(read["spec"], json!({"a": "one"}));
    }

    #[test]
    fn others_and_old_definitions_are_left_alone() {
        let own = schemas(&json!({"v1": {"type": "object", "properties": {}}}));
        for other in [
            json!({"apiVersion": "g.io/v1", "kind": "B", "spec": {"a": 1}}),
            json!({"apiVersion": "g.io/v3", "kind": "A", "spec": {"a": 1}}),
        ] {
            let mut read = other.clone();
            own.read(&mut read, Release(36));
            assert_eq!(read, other);
        }
        let spec = json!({"group": "g.io", "version": "v1", "names": {"kind": "A"},
            "validation": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}});
        let old = CustomSchemas::of(&json!({"apiVersion": "apiextensions.k8s.io/v1beta1", "spec": spec})).unwrap();
        let mut read = object(&json!({"a": null}));
        old.read(&mut read, Release(20));
        assert_eq!(read, object(&json!({"a": null})));
        read["metadata"] = json!({"name": "x"});
        old.read(&mut read, Release(20));
        assert_eq!(read["metadata"], json!({"name": "x", "generation": 1}));
    }
}

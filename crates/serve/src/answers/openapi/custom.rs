//! The schemas of custom resources: those of their definitions, with the members that every object has.

use ketcd_kube::api::{Custom, Resource};
use serde_json::{Map, Value, json};

use super::descriptions;
use super::schemas::{Schemas, identity};

/// Adds a custom resource and its list, and returns the name of its schema: the group backwards, the version, the kind.
pub(super) fn add(schemas: &mut Schemas, resource: &Resource, custom: &Custom) -> Option<String> {
    let kind = &*resource.kind.kind;
    let group: Vec<&str> = resource.group.rsplit('.').collect();
    let name = format!("{}.{}.{kind}", group.join("."), resource.version);
    let mut schema = match resource.schema() {
        Some(schema @ Value::Object(_)) => schema.clone(),
        _ => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    };
    with_object_members(&mut schema, "ObjectMeta", schemas);
    schema["x-kubernetes-group-version-kind"] = json!([identity(resource, kind)]);
    schemas.insert(name.clone(), schema);
    let items = json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{name}")}});
    let mut list = json!({"type": "object", "required": ["items"], "properties": {"items": items}});
    with_object_members(&mut list, "ListMeta", schemas);
    list["x-kubernetes-group-version-kind"] = json!([identity(resource, &custom.list_kind)]);
    schemas.insert(format!("{name}List"), list);
    Some(name)
}

/// Adds `apiVersion`, `kind` and `metadata` as Kubernetes' own objects have them.
fn with_object_members(schema: &mut Value, metadata: &str, schemas: &mut Schemas) {
    if !schema["properties"].is_object() {
        schema["properties"] = Map::new().into();
    }
    let known =
        |field: &str| descriptions::of("io.k8s.api.core.v1.ConfigMap").and_then(|known| known["properties"][field].get("description"));
    for field in ["apiVersion", "kind"] {
        schema["properties"][field] = json!({"type": "string"});
    }
    schema["properties"]["metadata"] = json!({"allOf": [schemas.metadata(metadata)]});
    for field in ["apiVersion", "kind", "metadata"] {
        if let Some(description) = known(field) {
            schema["properties"][field]["description"] = description.clone();
        }
    }
}

//! The paths of a document: what can be asked of each resource.
//!
//! Patches are among them, though they are refused: kubectl and Helm look there whether the server validates fields itself (`fieldValidation`), and read
//! the old documents otherwise, before they do anything, dry runs on the client included.

use ketcd_kube::api::{Resource, api_version};
use serde_json::{Map, Value, json};

use super::schemas::{Schemas, identity};

/// Returns the paths of a resource whose objects have this schema.
pub(super) fn of(resource: &Resource, schema: &str, schemas: &Schemas) -> Map<String, Value> {
    let place = if resource.group.is_empty() { "api" } else { "apis" };
    let root = format!("/{place}/{}", api_version(&resource.group, &resource.version));
    let (plural, verbs) = (&resource.kind.plural, resource.verbs());
    let namespaced = format!("{root}/namespaces/{{namespace}}/{plural}");
    let collection = if resource.kind.namespaced { &namespaced } else { &format!("{root}/{plural}") };
    let list = format!("{schema}List");
    let list = if schemas.has(&list) { list } else { schema.to_owned() };
    let mut paths = Map::<String, Value>::new();
    let mut add = |path: &str, method: &str, action: &str, schema: &str| {
        let operation = operation(resource, action, schema);
        let parameters: Vec<Value> =
            ["name", "namespace"].into_iter().filter(|name| path.contains(&format!("{{{name}}}"))).map(parameter).collect();
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[method] = operation;
        if !parameters.is_empty() {
            item["parameters"] = parameters.into();
        }
    };
    if verbs.contains(&"list") {
        add(collection, "get", "list", &list);
        if resource.kind.namespaced {
            add(&format!("{root}/{plural}"), "get", "list", &list);
        }
    }
    if verbs.contains(&"get") {
        let status = resource.subresources.iter().filter(|name| *name == "status").map(|name| format!("/{name}"));
        for rest in std::iter::once(String::new()).chain(status) {
            let path = format!("{collection}/{{name}}{rest}");
            add(&path, "get", "get", schema);
            add(&path, "patch", "patch", schema);
        }
    }
    if verbs.contains(&"create") {
        add(collection, "post", "post", schema);
        add(collection, "patch", "patch", schema);
    }
    paths
}

fn operation(resource: &Resource, action: &str, schema: &str) -> Value {
    let content = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    let mut operation = json!({
        "responses": {"200": {"description": "OK", "content": {"application/json": content, "application/yaml": content}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": identity(resource, &resource.kind.kind),
    });
    if action == "patch" {
        operation["parameters"] = json!([
            {"name": "dryRun", "in": "query", "schema": {"type": "string", "uniqueItems": true}},
            {"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": true}},
        ]);
    }
    operation
}

fn parameter(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}})
}

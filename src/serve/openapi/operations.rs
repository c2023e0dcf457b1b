//! The paths of a document: what can be asked of each resource.

use serde_json::{Map, Value, json};

use super::identity;
use super::schemas::Schemas;
use crate::serve::resources::{Resource, api_version};

/// Returns the paths of a resource whose objects have this schema.
pub(super) fn of(resource: &Resource, schema: &str, schemas: &Schemas) -> Map<String, Value> {
    let place = if resource.group.is_empty() { "api" } else { "apis" };
    let root = format!("/{place}/{}", api_version(&resource.group, &resource.version));
    let (plural, verbs) = (&resource.kind.plural, resource.verbs());
    let namespaced = format!("{root}/namespaces/{{namespace}}/{plural}");
    let collection = if resource.kind.namespaced { &namespaced } else { &format!("{root}/{plural}") };
    let list = format!("{schema}List");
    let list = if schemas.has(&list) { list } else { schema.to_owned() };
    let mut paths = Map::new();
    let mut add = |path: &str, method: &str, action: &str, schema: &str| {
        let operation = operation(resource, action, schema);
        let parameters: Vec<Value> =
            ["name", "namespace"].into_iter().filter(|name| path.contains(&format!("{{{name}}}"))).map(parameter).collect();
        let mut item = json!({method: operation});
        if !parameters.is_empty() {
            item["parameters"] = parameters.into();
        }
        paths.insert(path.to_owned(), item);
    };
    if verbs.contains(&"list") {
        add(collection, "get", "list", &list);
        if resource.kind.namespaced {
            add(&format!("{root}/{plural}"), "get", "list", &list);
        }
    }
    if verbs.contains(&"get") {
        add(&format!("{collection}/{{name}}"), "get", "get", schema);
        for subresource in resource.subresources.iter().filter(|name| *name == "status") {
            add(&format!("{collection}/{{name}}/{subresource}"), "get", "get", schema);
        }
    }
    if verbs.contains(&"create") {
        add(collection, "post", "post", schema);
    }
    paths
}

fn operation(resource: &Resource, action: &str, schema: &str) -> Value {
    let content = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    json!({
        "responses": {"200": {"description": "OK", "content": {"application/json": content, "application/yaml": content}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": identity(resource, &resource.kind.kind),
    })
}

fn parameter(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}})
}

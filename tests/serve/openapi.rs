//! OpenAPI: every resource has a schema, and the schema every field that its objects have.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::server::Server;

fn reference<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema["allOf"][0].get("$ref").or_else(|| schema.get("$ref")).and_then(Value::as_str);
    let Some(target) = target else { return schema };
    let name = target.strip_prefix("#/components/schemas/").unwrap();
    document["components"]["schemas"].get(name).unwrap_or_else(|| panic!("{target} is not there"))
}

/// Says which members of a value the schema does not have.
fn missing(document: &Value, schema: &Value, value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let schema = reference(document, schema);
    match value {
        Value::Object(_) if schema["x-kubernetes-preserve-unknown-fields"] == true || schema["type"] != "object" => {}
        // What has neither is any object: raw JSON.
        Value::Object(_) if schema.get("properties").is_none() && schema.get("additionalProperties").is_none() => {}
        Value::Object(members) => {
            for (name, member) in members {
                match schema["properties"].get(name).or_else(|| schema.get("additionalProperties")) {
                    Some(inner) => missing(document, inner, member, &format!("{path}.{name}"), found),
                    None => drop(found.insert(format!("{path}.{name}"))),
                }
            }
        }
        Value::Array(items) => {
            assert_eq!(schema["type"], "array", "{path}");
            items.iter().for_each(|item| missing(document, &schema["items"], item, path, found));
        }
        Value::String(_) => assert!(schema["type"] == "string" || schema.get("type").is_none(), "{path}: {schema}"),
        Value::Number(_) => {
            assert!(schema["type"] == "integer" || schema["type"] == "number" || schema.get("type").is_none(), "{path}: {schema}")
        }
        Value::Bool(_) => assert!(schema["type"] == "boolean" || schema.get("type").is_none(), "{path}: {schema}"),
        Value::Null => {}
    }
}

/// Every reference of a document is a schema of it.
fn check_references(document: &Value, part: &Value) {
    match part {
        Value::Object(members) => {
            if members.contains_key("$ref") {
                reference(document, part);
            }
            members.values().for_each(|member| check_references(document, member));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(document, item)),
        _ => {}
    }
}

fn check(capture: &str) -> usize {
    let server = Server::start(&format!("{capture}/snapshot.db.zst"), &[]);
    let (mut found, mut compared) = (BTreeSet::new(), 0);
    for (path, entry) in server.found("/openapi/v3")["paths"].as_object().unwrap() {
        let url = entry["serverRelativeURL"].as_str().unwrap();
        assert!(url.starts_with(&format!("/openapi/v3/{path}?hash=")), "{url}");
        let document = server.found(url);
        check_references(&document, &document);
        for resource in server.found(&format!("/{path}"))["resources"].as_array().unwrap() {
            let plural = resource["name"].as_str().unwrap();
            if plural.contains('/') {
                continue;
            }
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let is_it = |schema: &&Value| {
                let own = schema["x-kubernetes-group-version-kind"].as_array();
                own.is_some_and(|own| own.iter().any(|gvk| gvk["kind"] == resource["kind"]))
            };
            let schema = schemas.values().find(is_it).unwrap_or_else(|| panic!("{path} {plural} has no schema"));
            if !resource["verbs"].as_array().unwrap().contains(&"watch".into()) {
                continue;
            }
            for item in server.items(&format!("/{path}/{plural}")) {
                missing(&document, schema, &item, &format!("{path}/{plural}"), &mut found);
                compared += 1;
            }
        }
    }
    assert_eq!(found, BTreeSet::new(), "{capture}");
    compared
}

#[test]
fn schemas_have_every_field_of_1_36() {
    assert!(check("k136-story") > 1000);
}

#[test]
fn schemas_have_every_field_of_1_20() {
    assert!(check("k120-story") > 900);
}

/// Clients look at patches for whether a server validates fields itself, and need the old documents otherwise.
#[test]
fn patches_name_field_validation() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    for (path, entry) in server.found("/openapi/v3")["paths"].as_object().unwrap() {
        let document = server.found(entry["serverRelativeURL"].as_str().unwrap());
        let patches: Vec<&Value> = document["paths"].as_object().unwrap().values().filter_map(|item| item.get("patch")).collect();
        let is_named = |patch: &&Value| {
            patch["parameters"].as_array().unwrap().iter().any(|own| own["name"] == "fieldValidation" && own["in"] == "query")
        };
        assert!(!patches.is_empty() && patches.iter().all(is_named), "{path}");
        for resource in server.found(&format!("/{path}"))["resources"].as_array().unwrap() {
            let is_own = patches.iter().any(|patch| patch["x-kubernetes-group-version-kind"]["kind"] == resource["kind"]);
            assert!(is_own || resource["name"].as_str().unwrap().contains('/'), "{path} {}", resource["name"]);
        }
    }
}

/// The index of another moment names its own documents.
#[test]
fn documents_belong_to_their_moment() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    let index = server.found("/newest/openapi/v3");
    let url = index["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap();
    assert!(url.starts_with("/newest/openapi/v3/api/v1?hash="), "{url}");
    assert_eq!(server.found(url)["openapi"], "3.0.0");
    let first = server.found("/openapi/v3");
    assert_eq!(first, server.found("/openapi/v3"));
}

/// kubectl before 1.27 explains by these alone, and shows what is said here.
#[test]
fn the_old_documents_are_named_as_missing() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    for path in ["/openapi/v2", "/swagger-2.0.0.pb-v1"] {
        let (code, text) = server.send("GET", path, &[("accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")], "");
        assert!(code == 406 && text.contains("from 1.27 on"), "{path}: {code} {text}");
    }
}

//! The committed schemas are valid, and `tests/contracts/schema.rs` decides about documents as the crate jsonschema does: about some that fit the
//! schemas, and about the same with something changed. The nightly run does it:
//! `cargo test --manifest-path tests/schemas/Cargo.toml`.

#[path = "../contracts/schema.rs"]
mod schema;

use std::fs;
use std::path::Path;

use ketcd_testing::random::Random;
use serde_json::{Map, Value, json};

/// The schemas without formats of numbers, which are annotations to others.
fn schemas() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let json = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| {
        let mut schema = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        forget_widths(&mut schema);
        (path.display().to_string(), schema)
    })
    .collect()
}

fn forget_widths(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, value| name != "format" || value.is_object() || value == "date-time");
            members.values_mut().for_each(forget_widths);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_widths),
        _ => {}
    }
}

#[test]
fn schemas_are_valid() {
    for (name, schema) in schemas() {
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        schema::know(&schema, &schema);
    }
}

#[test]
fn documents_are_taken_and_refused_alike() {
    let mut random = Random(7);
    let (mut taken, mut refused) = (0, 0);
    for (name, schema) in schemas() {
        let other = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        for _ in 0..400 {
            let mut document = made(&schema, &schema, &mut random, 0);
            for _ in 0..4 {
                let ours = schema::check(&schema, &document);
                let theirs = other.validate(&document);
                let ours = ours.map_err(|fault| fault.of(&document));
                assert_eq!(ours.is_ok(), theirs.is_ok(), "{name}: {ours:?}, {:?}: {document:#}", theirs.map_err(|error| error.to_string()));
                *if ours.is_ok() { &mut taken } else { &mut refused } += 1;
                change(&mut document, &mut random);
            }
        }
    }
    assert!(taken > 5_000 && refused > 5_000, "{taken} documents were taken, {refused} refused");
}

/// A document that a schema may take.
fn made(root: &Value, schema: &Value, random: &mut Random, depth: usize) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return made(root, root.pointer(reference.trim_start_matches('#')).unwrap(), random, depth);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    let ways = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let document = match ways {
        Some(ways) => made(root, &ways[random.below(ways.len())], random, depth + 1),
        None => Value::Null,
    };
    let types = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    match types[random.below(types.len())].as_str() {
        Some("object") => {
            let mut members = object(root, schema, random, depth);
            members.extend(document.as_object().cloned().into_iter().flatten());
            Value::Object(members)
        }
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let more = if depth > 8 { 0 } else { random.below(3) };
            (0..least + more).map(|_| made(root, &schema["items"], random, depth + 1)).collect()
        }
        Some("string") if schema["format"] == "date-time" => "2024-02-29T23:59:59.5Z".into(),
        Some("string") => ["", "List", "a"][random.below(3)].into(),
        Some("integer") => random.below(70_000).into(),
        Some("number") => json!(random.below(1000) as f64 / 8.0),
        Some("boolean") => (random.below(2) == 0).into(),
        _ => document,
    }
}

fn object(root: &Value, schema: &Value, random: &mut Random, depth: usize) -> Map<String, Value> {
    let mut members = Map::new();
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name));
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if required(name) || (depth < 8 && random.below(2) == 0) {
            members.insert(name.clone(), made(root, member, random, depth + 1));
        }
    }
    if schema["additionalProperties"].is_object() && depth < 8 {
        members.insert("other".to_owned(), made(root, &schema["additionalProperties"], random, depth + 1));
    }
    members
}

/// Changes something somewhere in a document.
fn change(document: &mut Value, random: &mut Random) {
    let into = random.below(4) > 0;
    match document {
        Value::Object(members) if into && !members.is_empty() => {
            let name = members.keys().nth(random.below(members.len())).unwrap().clone();
            match random.below(8) {
                0 => drop(members.remove(&name)),
                1 => drop(members.insert("unknown".to_owned(), json!(1))),
                _ => change(&mut members[&name], random),
            }
        }
        Value::Array(items) if into && !items.is_empty() => {
            let at = random.below(items.len());
            change(&mut items[at], random);
        }
        other => {
            let values = [
                json!(null),
                json!(true),
                json!(""),
                json!("List"),
                json!("2024-02-30T00:00:00Z"),
                json!("2024-02-29"),
                json!(0),
                json!(-1),
                json!(1.0),
                json!(1.5),
                json!(65_536),
                json!([]),
                json!({}),
            ];
            *other = values[random.below(values.len())].clone();
        }
    }
}

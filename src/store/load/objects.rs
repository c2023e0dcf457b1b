//! API objects as kubectl prints them: a `List`, one object, a YAML stream or lines of JSON. One revision, no history.

use bytes::Bytes;
use serde_json::Value;

use super::KeyOf;
use crate::store::versions::{Builder, Found, Layer, Place};
use crate::store::{EventKind, Origin, Revision, RevisionSpan};

/// Reads the objects in `bytes` into `builder`, as one layer; returns what could not be taken, each a sentence.
///
/// # Errors
///
/// A fragment, where the bytes are no objects.
pub fn read(bytes: &[u8], builder: &mut Builder, key_of: &KeyOf<'_>) -> Result<Vec<String>, String> {
    const NEITHER: &str = "is neither an etcd database nor API objects as kubectl prints them (JSON or YAML)";
    let text = std::str::from_utf8(bytes).map_err(|_| NEITHER.to_owned())?;
    if text.contains('\0') {
        return Err(NEITHER.to_owned());
    }
    let documents = documents(text).map_err(|why| format!("{NEITHER}: {why}"))?;
    let mut objects = Vec::new();
    let mut newest = 1;
    for document in documents {
        newest = newest.max(resource_version(&document).unwrap_or(0));
        match document {
            Value::Object(mut list) if list.get("items").is_some_and(Value::is_array) && is_list(&list) => {
                let Some(Value::Array(items)) = list.remove("items") else { continue };
                objects.extend(items.into_iter().map(|item| named_after(&list, item)));
            }
            other => objects.push(other),
        }
    }
    if !objects.iter().any(|object| object.get("kind").is_some() && object.get("apiVersion").is_some()) {
        return Err(format!("{NEITHER}: nothing in it has apiVersion and kind"));
    }
    store(objects, newest, builder, key_of)
}

/// JSON values one after the other (which one document and NDJSON are too), or YAML documents.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if start.starts_with(['{', '[']) {
        return serde_json::Deserializer::from_str(start).into_iter().collect::<Result<_, _>>().map_err(|why| why.to_string());
    }
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|why| first_line(&why.to_string()))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn is_list(object: &serde_json::Map<String, Value>) -> bool {
    object.get("kind").and_then(Value::as_str).is_none_or(|kind| kind.ends_with("List"))
}

/// An item of a typed list has no kind of its own: `PodList` holds pods of the list's version.
fn named_after(list: &serde_json::Map<String, Value>, mut item: Value) -> Value {
    if let Value::Object(item) = &mut item
        && let Some(kind) =
            list.get("kind").and_then(Value::as_str).and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty())
    {
        item.entry("kind").or_insert_with(|| kind.into());
        if let Some(version) = list.get("apiVersion") {
            item.entry("apiVersion").or_insert_with(|| version.clone());
        }
    }
    item
}

fn resource_version(object: &Value) -> Option<i64> {
    object.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok().filter(|&version| version > 0 && version < i64::MAX / 2)
}

/// Stores each object as JSON under its registry key, at its own resourceVersion, else at the newest of all.
fn store(objects: Vec<Value>, mut newest: i64, builder: &mut Builder, key_of: &KeyOf<'_>) -> Result<Vec<String>, String> {
    newest = objects.iter().filter_map(resource_version).fold(newest, i64::max);
    let (mut bytes, mut rows, mut without_key) = (Vec::new(), Vec::new(), Vec::new());
    // Definitions are asked for first: who is asked may learn kinds from them.
    let is_definition = |object: &Value| object.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition");
    let mut keys: Vec<_> = objects.iter().map(|object| is_definition(object).then(|| key_of(object)).flatten()).collect();
    for (object, key) in objects.iter().zip(&mut keys).filter(|(object, _)| !is_definition(object)) {
        *key = key_of(object);
    }
    for (object, key) in objects.into_iter().zip(keys) {
        let main = resource_version(&object).unwrap_or(newest);
        let Some(key) = key else {
            without_key.push(describe(&object));
            continue;
        };
        let start = bytes.len();
        bytes.extend_from_slice(&key);
        serde_json::to_writer(&mut bytes, &object).map_err(|why| why.to_string())?;
        rows.push((main, start, key.len(), bytes.len() - start - key.len()));
    }
    rows.sort_by_key(|row| row.0);
    let image = builder.image(Bytes::from(bytes)).ok_or("too many files at once")?;
    let layer = builder.layer(Layer::default()).ok_or("too many files at once")?;
    let span = RevisionSpan { oldest: Revision(newest), newest: Revision(newest), compacted: None };
    builder.set_span(layer, span);
    let (mut last, mut sub) = (0, 0);
    for (main, start, key, value) in rows {
        sub = if main == last { sub + 1 } else { 0 };
        last = main;
        let place = |start: usize, length: usize| Place { image, start: start as u64, length: length as u32 };
        builder.push(
            layer,
            Found {
                main,
                sub,
                kind: EventKind::Put,
                origin: Origin::Db,
                key: place(start, key),
                value: place(start + key, value),
                create_revision: main,
                version: 1,
                lease: 0,
            },
        );
    }
    Ok(without_key.into_iter().map(|what| format!("{what} is left out: its kind has no place in etcd that ketcd knows")).collect())
}

fn describe(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
    format!("{} {} {}", text("/apiVersion"), text("/kind"), text("/metadata/name"))
}

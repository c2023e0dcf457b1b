//! What an object says of itself: the names that its text is about, and the words that a definition makes part of the API.

use serde_json::{Map, Value};

use crate::mask::Mask;

/// Notes the names that text of an object is about.
pub(super) fn learn(mask: &mut Mask, members: &Map<String, Value>) {
    for (around, name) in [
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("involvedObject", "name"),
        ("involvedObject", "namespace"),
        ("regarding", "name"),
        ("regarding", "namespace"),
        ("spec", "nodeName"),
    ] {
        if let Some(name) = members.get(around).and_then(|around| around.get(name)).and_then(Value::as_str) {
            mask.context.insert(name.to_owned());
        }
    }
}

/// What a definition calls its kind is part of the API, in text too.
pub(super) fn learn_definition(mask: &mut Mask, members: &Map<String, Value>) {
    let Some(spec) = members.get("spec") else { return };
    let names = ["plural", "singular", "kind", "listKind"].into_iter().filter_map(|name| spec["names"][name].as_str());
    let short = spec["names"]["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for literal in names.chain(short).chain(spec["group"].as_str()) {
        mask.literal(literal);
    }
}

/// A part of a definition: names of fields and fixed words are part of the API, in text too; sentences are text.
pub(super) fn definition(mask: &mut Mask, member: &str, value: &mut Value) {
    match value {
        Value::String(text) if matches!(member, "description" | "message" | "default" | "example") => *text = mask.text(text),
        Value::String(text) => text.split_whitespace().for_each(|word| mask.literal(word)),
        Value::Array(items) => items.iter_mut().for_each(|item| definition(mask, member, item)),
        Value::Object(members) => {
            for (name, member) in members {
                mask.literal(name);
                definition(mask, name, member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

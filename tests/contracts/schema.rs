//! Holds documents to the schemas of `docs/schema`. It knows the keywords that those use and refuses any other, so that none is passed over.
//! `tests/schemas` compares it with the crate jsonschema.

use serde_json::{Map, Number, Value, json};

/// Where a document breaks its schema, and which keyword says so.
#[derive(Debug)]
pub(crate) struct Fault {
    /// From the inside out.
    path: Vec<String>,
    keyword: String,
}

impl Fault {
    fn at(mut self, step: impl ToString) -> Self {
        self.path.push(step.to_string());
        self
    }

    /// The place as a JSON pointer.
    pub(crate) fn pointer(&self) -> String {
        self.path.iter().rev().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
    }

    /// What is wrong with the document, and what it has there.
    pub(crate) fn of(&self, document: &Value) -> String {
        let text: String = document.pointer(&self.pointer()).map(Value::to_string).unwrap_or_default().chars().take(1000).collect();
        format!("{} is broken at {}: {text}", self.keyword, self.pointer())
    }
}

/// Holds a document to a schema.
pub(crate) fn check(schema: &Value, document: &Value) -> Result<(), Fault> {
    holds(schema, schema, document)
}

/// Panics where a schema, or a part of it, says what is not held here.
pub(crate) fn know(root: &Value, schema: &Value) {
    for (keyword, wanted) in schema.as_object().into_iter().flatten() {
        let alone = json!({keyword: wanted});
        for value in [json!(null), json!(""), json!(0), json!([]), json!({})] {
            let _ = holds(root, &alone, &value);
        }
        match (keyword.as_str(), wanted) {
            ("properties" | "$defs", Value::Object(parts)) => parts.values().for_each(|part| know(root, part)),
            (_, Value::Array(parts)) => parts.iter().for_each(|part| know(root, part)),
            (_, part) => know(root, part),
        }
    }
}

fn holds(root: &Value, schema: &Value, value: &Value) -> Result<(), Fault> {
    let keywords = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(keywords) => keywords,
        _ => return Err(Fault { path: Vec::new(), keyword: schema.to_string() }),
    };
    keywords.iter().try_for_each(|(keyword, wanted)| {
        let fits = |schema: &Value| holds(root, schema, value).is_ok();
        let held = match (keyword.as_str(), value) {
            ("$id" | "$schema" | "$defs" | "title" | "description", _) => true,
            ("$ref", _) => return holds(root, referred(root, wanted), value),
            ("type", _) => match wanted {
                Value::Array(types) => types.iter().any(|of| is(of, value)),
                of => is(of, value),
            },
            ("const", _) => text(wanted) == value,
            ("anyOf", _) => list(wanted).iter().any(fits),
            ("oneOf", _) => list(wanted).iter().filter(|schema| fits(schema)).count() == 1,
            ("not", _) => !fits(wanted),
            ("properties", Value::Object(members)) => return each(root, wanted, members),
            ("additionalProperties", Value::Object(members)) => return others(root, keywords, wanted, members),
            ("required", Value::Object(members)) => list(wanted).iter().all(|name| members.contains_key(text(name).as_str().unwrap())),
            ("items", Value::Array(items)) => {
                let item = |(at, item): (usize, &Value)| holds(root, wanted, item).map_err(|fault| fault.at(at));
                return items.iter().enumerate().try_for_each(item);
            }
            ("prefixItems", Value::Array(items)) => {
                let item = |(at, (schema, item)): (usize, (&Value, &Value))| holds(root, schema, item).map_err(|fault| fault.at(at));
                return list(wanted).iter().zip(items).enumerate().try_for_each(item);
            }
            ("minItems", Value::Array(items)) => items.len() as u64 >= wanted.as_u64().unwrap(),
            ("maxItems", Value::Array(items)) => items.len() as u64 <= wanted.as_u64().unwrap(),
            ("minimum", Value::Number(number)) => float(number) >= wanted.as_f64().unwrap(),
            ("maximum", Value::Number(number)) => float(number) <= wanted.as_f64().unwrap(),
            ("format", value) => is_format(wanted.as_str().unwrap(), value),
            (
                "properties"
                | "additionalProperties"
                | "required"
                | "items"
                | "prefixItems"
                | "minItems"
                | "maxItems"
                | "minimum"
                | "maximum",
                _,
            ) => true,
            _ => panic!("no schema of ours has used the keyword {keyword:?} yet: teach tests/contracts/schema.rs to hold it"),
        };
        if held { Ok(()) } else { Err(Fault { path: Vec::new(), keyword: keyword.clone() }) }
    })
}

fn referred<'r>(root: &'r Value, reference: &Value) -> &'r Value {
    let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or_else(|| panic!("{reference} is not in the schema"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is not a list"))
}

fn text(value: &Value) -> &Value {
    assert!(value.is_string(), "{value} is not a text");
    value
}

fn each(root: &Value, schemas: &Value, members: &Map<String, Value>) -> Result<(), Fault> {
    schemas.as_object().unwrap().iter().try_for_each(|(name, schema)| match members.get(name) {
        Some(member) => holds(root, schema, member).map_err(|fault| fault.at(name)),
        None => Ok(()),
    })
}

/// The members that `properties` does not name.
fn others(root: &Value, keywords: &Map<String, Value>, schema: &Value, members: &Map<String, Value>) -> Result<(), Fault> {
    let is_other = |name: &str| keywords.get("properties").is_none_or(|named| named.get(name).is_none());
    let other = |(name, member): (&String, &Value)| holds(root, schema, member).map_err(|fault| fault.at(name));
    members.iter().filter(|(name, _)| is_other(name)).try_for_each(other)
}

fn is(wanted: &Value, value: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_number().is_some_and(|number| float(number).fract() == 0.0),
        other => panic!("there is no type {other:?}"),
    }
}

/// `inf` where it is too large for one.
fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::INFINITY)
}

/// Values of another type have every format.
fn is_format(format: &str, value: &Value) -> bool {
    match (format, value) {
        ("date-time", Value::String(text)) => is_time(text),
        ("uint" | "uint64", Value::Number(number)) => number.is_u64(),
        ("uint32", Value::Number(number)) => number.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
        ("uint16", Value::Number(number)) => number.as_u64().is_some_and(|number| u16::try_from(number).is_ok()),
        ("int64", Value::Number(number)) => number.is_i64(),
        ("int32", Value::Number(number)) => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        ("date-time" | "double" | "uint" | "uint64" | "uint32" | "uint16" | "int64" | "int32", _) => true,
        _ => panic!("no schema of ours has used the format {format:?} yet: teach tests/contracts/schema.rs to hold it"),
    }
}

/// RFC 3339, of which other readers take more: `YYYY-MM-DDTHH:MM:SS`, a fraction, `Z` or an offset.
fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    let Some(rest) = shape.strip_prefix("0000-00-00T00:00:00") else { return false };
    let offset = match rest.strip_prefix('.') {
        Some(fraction) if fraction.starts_with('0') => fraction.trim_start_matches('0'),
        Some(_) => return false,
        None => rest,
    };
    matches!(offset, "Z" | "+00:00" | "-00:00") && text.parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn says(schema: &Value, good: &[Value], bad: &[(Value, &str)]) {
        for value in good {
            assert!(check(schema, value).is_ok(), "{value}");
        }
        for (value, place) in bad {
            assert_eq!(check(schema, value).map_err(|fault| fault.pointer()), Err((*place).to_owned()), "{value}");
        }
    }

    #[test]
    fn each_keyword_is_held() {
        let named = json!({"type": "object", "properties": {"a": {"const": "x"}}, "required": ["a"], "additionalProperties": false});
        says(
            &named,
            &[json!({"a": "x"})],
            &[(json!({"a": "y"}), "/a"), (json!({}), ""), (json!({"a": "x", "b/c": 1}), "/b~1c"), (json!([]), "")],
        );
        let open = json!({"additionalProperties": {"type": ["integer", "null"]}});
        says(&open, &[json!({"a": 1, "b": null}), json!(7)], &[(json!({"a": 1.5}), "/a")]);
        let list = json!({"items": {"$ref": "#/$defs/Few"}, "minItems": 1, "maxItems": 2, "$defs": {"Few": {"minimum": 1, "maximum": 3}}});
        says(&list, &[json!([1, 3]), json!(["a"])], &[(json!([]), ""), (json!([1, 2, 3]), ""), (json!([1, 4]), "/1"), (json!([0]), "/0")]);
        let one = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
        says(&one, &[json!(1.5)], &[(json!(1), ""), (json!("a"), "")]);
        let any = json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "not": {"const": "List"}});
        says(&any, &[json!(1), json!("a")], &[(json!("List"), ""), (json!(null), "")]);
        let small = json!({"format": "uint16"});
        says(&small, &[json!(65535), json!("a")], &[(json!(65536), ""), (json!(-1), "")]);
    }

    #[test]
    fn times_are_those_of_rfc_3339() {
        let time = json!({"format": "date-time"});
        says(
            &time,
            &[json!("2024-02-29T23:59:59Z"), json!("2024-02-29T00:00:00.123456789+02:00")],
            &["2023-02-29T00:00:00Z", "2024-02-29", "2024-02-29 00:00:00Z", "2024-02-29T00:00:00", "2024-02-29T00:00:00.Z"]
                .map(|text| (json!(text), "")),
        );
    }

    #[test]
    #[should_panic(expected = "\"pattern\"")]
    fn a_keyword_that_is_not_held_is_refused() {
        let _ = check(&json!({"pattern": "a"}), &json!(1));
    }
}

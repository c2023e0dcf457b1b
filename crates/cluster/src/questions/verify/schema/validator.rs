//! What in a value violates a structural schema.
//!
//! Sources: k8s.io/apiextensions-apiserver v0.37.1, `pkg/apiserver/validation/validation.go` and `pkg/apis/apiextensions/types_jsonschema.go`; k8s.io/kube-openapi,
//! `pkg/validation/validate`. A pattern is looked for anywhere in a text, lengths count characters, a number without a fraction is an
//! integer, and null is a value of what is `nullable`. No text of the value is repeated, since it may be a secret.

use std::collections::{BTreeSet, HashMap};

use regex::Regex;
use serde_json::Value;

/// More violations of one object are not named.
const MAX_VIOLATIONS: usize = 20;

/// What of schemas is not looked at.
const UNCHECKED_KEYWORDS: [(&str, &str); 8] = [
    ("x-kubernetes-validations", "rules in CEL"),
    ("format", "formats"),
    ("allOf", "combinations of schemas"),
    ("anyOf", "combinations of schemas"),
    ("oneOf", "combinations of schemas"),
    ("not", "combinations of schemas"),
    ("multipleOf", "multiples"),
    ("uniqueItems", "lists that are sets"),
];

/// A schema, and what of it takes time to prepare.
pub(super) struct Validator {
    schema: Value,
    /// By their text; those that cannot be used are not here.
    patterns: HashMap<String, Regex>,
    /// What of it is not looked at, as phrases.
    pub unchecked: BTreeSet<&'static str>,
}

impl Validator {
    /// Prepares a schema.
    pub(super) fn new(schema: &Value) -> Self {
        let mut validator = Self { schema: schema.clone(), patterns: HashMap::new(), unchecked: BTreeSet::new() };
        validator.prepare(schema);
        validator
    }

    /// What in a value violates the schema, each a sentence without its full stop.
    pub(super) fn violations(&self, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.check(&self.schema, value, &mut String::new(), &mut found);
        found
    }

    fn prepare(&mut self, schema: &Value) {
        let Some(members) = schema.as_object() else { return };
        // The two types that they combine are what the extension says itself.
        let is_int_or_string = is_set(schema, "x-kubernetes-int-or-string");
        let unchecked = UNCHECKED_KEYWORDS.iter().filter(|(keyword, _)| members.contains_key(*keyword));
        self.unchecked.extend(unchecked.filter(|(keyword, _)| !is_int_or_string || *keyword != "anyOf").map(|(_, phrase)| *phrase));
        if let Some(pattern) = schema["pattern"].as_str() {
            match Regex::new(pattern).ok().filter(|_| is_the_same_in_go(pattern)) {
                Some(regex) => drop(self.patterns.insert(pattern.to_owned(), regex)),
                None => drop(self.unchecked.insert("patterns that Go reads in another way")),
            }
        }
        schema["properties"].as_object().into_iter().flatten().for_each(|(_, schema)| self.prepare(schema));
        [&schema["items"], &schema["additionalProperties"]].into_iter().for_each(|schema| self.prepare(schema));
    }

    fn check(&self, schema: &Value, value: &Value, path: &mut String, found: &mut Vec<String>) {
        if found.len() >= MAX_VIOLATIONS || value.is_null() && (is_set(schema, "nullable") || schema["type"].is_null()) {
            return;
        }
        if let Some(problem) = of_type(schema, value) {
            return report(path, problem, found);
        }
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.iter().any(|one| is_equal(one, value))
        {
            report(path, "is none of the values that are allowed", found);
        }
        match value {
            Value::Number(_) => number(schema, value, path, found),
            Value::String(text) => self.text(schema, text, path, found),
            Value::Array(items) => {
                count(schema, ["minItems", "maxItems"], (items.len(), "items"), path, found);
                for (place, item) in items.iter().enumerate() {
                    self.inside(&schema["items"], item, &format!("[{place}]"), path, found);
                }
            }
            Value::Object(members) => {
                count(schema, ["minProperties", "maxProperties"], (members.len(), "members"), path, found);
                let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                for name in required.filter(|name| !members.contains_key(*name)) {
                    report(path, &format!("lacks {name}"), found);
                }
                for (name, member) in members {
                    let own = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                    let dot = if path.is_empty() { "" } else { "." };
                    self.inside(own, member, &format!("{dot}{name}"), path, found);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn inside(&self, schema: &Value, value: &Value, step: &str, path: &mut String, found: &mut Vec<String>) {
        let length = path.len();
        path.push_str(step);
        if schema.is_object() {
            self.check(schema, value, path, found);
        }
        path.truncate(length);
    }

    fn text(&self, schema: &Value, text: &str, path: &str, found: &mut Vec<String>) {
        count(schema, ["minLength", "maxLength"], (text.chars().count(), "characters"), path, found);
        let Some(pattern) = schema["pattern"].as_str() else { return };
        let Some(regex) = self.patterns.get(pattern) else { return };
        // Classes of Go are of ASCII alone.
        if (text.is_ascii() || !pattern.contains('\\')) && !regex.is_match(text) {
            report(path, &format!("does not match {pattern}"), found);
        }
    }
}

/// Whether Go and we read a pattern alike: in a class of Go, neither `[` nor two signs in a row mean anything, and `{,5}` is text.
fn is_the_same_in_go(pattern: &str) -> bool {
    let without_names = pattern.replace("[[:", "[:");
    let (mut is_in_class, mut is_escaped) = (false, false);
    for (place, sign) in without_names.char_indices() {
        let is_first = !is_escaped;
        is_escaped = is_first && sign == '\\';
        match sign {
            '[' if is_first && is_in_class && !without_names[place..].starts_with("[:") => return false,
            '[' if is_first => is_in_class = true,
            ']' if is_first => is_in_class = false,
            _ => {}
        }
    }
    !["&&", "--", "~~", "{,"].iter().any(|signs| pattern.contains(signs))
}

fn is_set(schema: &Value, extension: &str) -> bool {
    schema[extension] == Value::Bool(true)
}

/// Why a value is not of the schema's type; `None` where it is.
fn of_type(schema: &Value, value: &Value) -> Option<&'static str> {
    let is_integer = || value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if is_set(schema, "x-kubernetes-int-or-string") {
        return (!value.is_string() && !is_integer()).then_some("is neither an integer nor a string");
    }
    let (is_it, problem) = match schema["type"].as_str()? {
        "object" => (value.is_object(), "is not an object"),
        "array" => (value.is_array(), "is not a list"),
        "string" => (value.is_string(), "is not a string"),
        "boolean" => (value.is_boolean(), "is not a boolean"),
        "number" => (value.is_number(), "is not a number"),
        "integer" => (is_integer(), "is not an integer"),
        _ => return None,
    };
    (!is_it).then_some(if value.is_null() { "is null" } else { problem })
}

/// Whether two values are equal, numbers by what they are worth.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| one.total_cmp(&other).is_eq())
}

fn number(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(number) = value.as_f64() else { return };
    let bound = |name: &str, exclusive: &str| Some((schema[name].as_f64()?, is_set(schema, exclusive)));
    if let Some((least, is_exclusive)) = bound("minimum", "exclusiveMinimum")
        && (number < least || is_exclusive && number <= least)
    {
        report(path, &format!("is {value}, less than the minimum {least}"), found);
    }
    if let Some((most, is_exclusive)) = bound("maximum", "exclusiveMaximum")
        && (number > most || is_exclusive && number >= most)
    {
        report(path, &format!("is {value}, more than the maximum {most}"), found);
    }
}

fn count(schema: &Value, [least, most]: [&str; 2], (number, of): (usize, &str), path: &str, found: &mut Vec<String>) {
    let bound = |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
    if let Some(least) = bound(least).filter(|least| number < *least) {
        report(path, &format!("has {number} {of}, fewer than {least}"), found);
    }
    if let Some(most) = bound(most).filter(|most| number > *most) {
        report(path, &format!("has {number} {of}, more than {most}"), found);
    }
}

fn report(path: &str, problem: &str, found: &mut Vec<String>) {
    let what = if path.is_empty() { "the object" } else { path };
    if found.len() < MAX_VIOLATIONS {
        found.push(format!("{what} {problem}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(schema: &Value, value: &Value) -> Vec<String> {
        Validator::new(&json!({"type": "object", "properties": {"a": schema}})).violations(&json!({ "a": value }))
    }

    #[track_caller]
    fn check(schema: &Value, right: &[Value], wrong: &[(Value, &str)]) {
        for value in right {
            assert_eq!(violations(schema, value), [""; 0], "{schema} {value}");
        }
        for (value, problem) in wrong {
            assert_eq!(violations(schema, value), [format!("a {problem}")], "{schema} {value}");
        }
    }

    #[test]
    fn types_are_those_of_json() {
        check(
            &json!({"type": "integer"}),
            &[json!(1), json!(-1), json!(2.0)],
            &[(json!(1.5), "is not an integer"), (json!("1"), "is not an integer")],
        );
        check(&json!({"type": "number"}), &[json!(1), json!(1.5)], &[(json!("1"), "is not a number"), (json!(null), "is null")]);
        check(&json!({"type": "boolean"}), &[json!(true)], &[(json!(0), "is not a boolean")]);
        check(&json!({"type": "array"}), &[json!([])], &[(json!({}), "is not a list")]);
        check(&json!({"type": "object"}), &[json!({})], &[(json!([]), "is not an object")]);
        check(&json!({"type": "string", "nullable": true}), &[json!(null), json!("")], &[(json!(1), "is not a string")]);
        check(&json!({"x-kubernetes-preserve-unknown-fields": true}), &[json!(null), json!(1), json!({"b": {}})], &[]);
        let int_or_string = json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]});
        check(&int_or_string, &[json!(1), json!("10%")], &[(json!(true), "is neither an integer nor a string")]);
        assert!(Validator::new(&int_or_string).unchecked.is_empty());
    }

    #[test]
    fn bounds_lengths_and_choices_are_held() {
        let bounded = json!({"type": "integer", "minimum": 1, "maximum": 5, "exclusiveMaximum": true});
        check(&bounded, &[json!(1), json!(4)], &[(json!(0), "is 0, less than the minimum 1"), (json!(5), "is 5, more than the maximum 5")]);
        let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
        check(&text, &[json!("ää")], &[(json!("a"), "has 1 characters, fewer than 2"), (json!("abcd"), "has 4 characters, more than 3")]);
        check(&json!({"enum": ["x", 1]}), &[json!("x"), json!(1.0)], &[(json!("secret"), "is none of the values that are allowed")]);
        check(&json!({"maxItems": 1}), &[json!([1])], &[(json!([1, 2]), "has 2 items, more than 1")]);
        check(&json!({"minProperties": 1}), &[json!({"b": 1})], &[(json!({}), "has 0 members, fewer than 1")]);
    }

    #[test]
    fn patterns_are_gos() {
        check(&json!({"pattern": "^[a-z]+$"}), &[json!("ab")], &[(json!("A"), "does not match ^[a-z]+$")]);
        check(&json!({"pattern": "b"}), &[json!("abc")], &[(json!("c"), "does not match b")]);
        // `\w` of Go is of ASCII, so nothing is said about other texts.
        check(&json!({"pattern": "^\\W+$"}), &[json!("ä")], &[(json!("a"), "does not match ^\\W+$")]);
        for pattern in ["[a[b]", "[a&&b]", "a{,5}", "(?<!a)b"] {
            let validator = Validator::new(&json!({ "pattern": pattern }));
            assert!(validator.patterns.is_empty() && validator.unchecked.len() == 1, "{pattern}");
        }
        assert!(is_the_same_in_go("^[[:alpha:]\\[x]+[^[:digit:]]$"));
    }

    #[test]
    fn members_are_named_by_their_path() {
        let schema = json!({"type": "object", "required": ["kind"], "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": {
                "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}}}}}});
        let value = json!({"spec": {"items": [{"n": 1}, {"n": "x"}], "labels": {"a": "b", "c": 1}, "unknown": 1}});
        let wanted = ["the object lacks kind", "spec lacks size", "spec.items[1].n is not an integer", "spec.labels.c is not a string"];
        assert_eq!(Validator::new(&schema).violations(&value), wanted);
    }

    #[test]
    fn what_is_not_looked_at_is_said() {
        let schema = json!({"properties": {"a": {"format": "date", "x-kubernetes-validations": [{"rule": "self > 1"}]}, "b": {"items": {"not": {}}}}});
        let unchecked: Vec<&str> = Validator::new(&schema).unchecked.into_iter().collect();
        assert_eq!(unchecked, ["combinations of schemas", "formats", "rules in CEL"]);
    }

    #[test]
    fn no_more_is_named_than_is_read() {
        let many = json!({"properties": {"a": {"items": {"type": "string"}}}});
        assert_eq!(Validator::new(&many).violations(&json!({"a": vec![1; 1000]})).len(), MAX_VIOLATIONS);
    }
}

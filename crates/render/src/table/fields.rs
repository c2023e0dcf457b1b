//! Reading fields of objects for a table: absent ones are empty, 0 or false, as Go's zero values are.

use jiff::Timestamp;
use ketcd_kube::condition;
use serde_json::Value;

use ketcd_kube::{LabelSelector, Quantity};

/// Returns the field at a dotted path; an explicit null counts as absent.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, field| value.get(field)).filter(|value| !value.is_null())
}

pub(crate) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the text, or `otherwise` where it is absent or empty.
pub(crate) fn text_or(value: &Value, path: &str, otherwise: &str) -> String {
    match text(value, path) {
        "" => otherwise.to_owned(),
        text => text.to_owned(),
    }
}

pub(crate) fn int(value: &Value, path: &str) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or(0)
}

pub(crate) fn int_or(value: &Value, path: &str, otherwise: i64) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or(otherwise)
}

pub(crate) fn flag(value: &Value, path: &str) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn count(value: &Value, path: &str) -> String {
    match at(value, path) {
        Some(Value::Object(fields)) => fields.len().to_string(),
        Some(Value::Array(items)) => items.len().to_string(),
        _ => "0".to_owned(),
    }
}

pub(crate) fn name(object: &Value) -> String {
    text(object, "metadata.name").to_owned()
}

/// Returns the texts of a list, joined by commas.
pub(crate) fn joined(value: &Value, path: &str) -> String {
    list(value, path).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
}

/// Reads a time, whole seconds or finer.
pub(crate) fn time(value: Option<&Value>) -> Option<Timestamp> {
    value?.as_str()?.parse().ok()
}

/// Returns a scalar as text: a string as it is, a number in digits.
pub(crate) fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a quantity in canonical form; an absent one is 0, text that is not a quantity is returned unchanged.
pub(crate) fn quantity(value: Option<&Value>) -> String {
    let Some(value) = value else { return "0".to_owned() };
    let text = scalar(value);
    Quantity::canonical(&text).unwrap_or(text)
}

/// Returns a map as `a=b,c=d`, or `<none>`.
pub(crate) fn labels(map: Option<&Value>) -> String {
    let pairs = map.and_then(Value::as_object).into_iter().flatten();
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// Returns a label selector object as text, or `<none>`.
pub(crate) fn selector(selector: Option<&Value>) -> String {
    let shown = selector.map_or(Some(String::new()), |selector| LabelSelector::from_object(selector).map(|selector| selector.to_string()));
    match shown {
        None => "<error>".to_owned(),
        Some(shown) if shown.is_empty() => "<none>".to_owned(),
        Some(shown) => shown,
    }
}

/// Returns the names and the images of containers, each joined by commas.
pub(crate) fn containers(value: &Value, path: &str) -> [String; 2] {
    ["name", "image"].map(|field| list(value, path).iter().map(|container| text(container, field)).collect::<Vec<_>>().join(","))
}

pub(crate) fn is_true(object: &Value, condition_type: &str) -> bool {
    condition(object, condition_type).is_some_and(|condition| text(condition, "status") == "True")
}

/// Returns at most three of the items and how many more there are, or `<unset>`.
pub(crate) fn first_three(items: &[String]) -> String {
    match items.len() {
        0 => "<unset>".to_owned(),
        1..=3 => items.join(","),
        more => format!("{} + {} more...", items[..3].join(","), more - 3),
    }
}

//! The functions of templates: Go's own (text/template/funcs.go), and kubectl's `exists` and `base64decode`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::GoTemplateError;
use super::format::{sprint, sprintln};
use super::printf::sprintf;
use super::value::Value;

/// Their names. `call` has nothing to call, as objects hold no functions, and is an error as in Go.
const FUNCTION_NAMES: [&str; 21] = [
    "and",
    "base64decode",
    "call",
    "eq",
    "exists",
    "ge",
    "gt",
    "html",
    "index",
    "js",
    "le",
    "len",
    "lt",
    "ne",
    "not",
    "or",
    "print",
    "printf",
    "println",
    "slice",
    "urlquery",
];

type Result<T> = std::result::Result<T, GoTemplateError>;

pub(super) fn is_function(name: &str) -> bool {
    FUNCTION_NAMES.contains(&name)
}

fn error<T>(problem: impl Into<String>) -> Result<T> {
    Err(GoTemplateError::new(problem))
}

/// Calls a function; `and` and `or` are the caller's.
pub(super) fn call<'v>(name: &str, arguments: Vec<Value<'v>>) -> Result<Value<'v>> {
    let (least, most) = match name {
        "base64decode" | "len" | "not" => (1, 1),
        "ne" | "lt" | "le" | "gt" | "ge" => (2, 2),
        "eq" | "exists" | "index" | "slice" | "printf" | "call" => (1, usize::MAX),
        _ => (0, usize::MAX),
    };
    if !(least..=most).contains(&arguments.len()) {
        return error(format!("wrong number of args for {name}: want {least} got {}", arguments.len()));
    }
    let text = |text: String| Ok(Value::Text(Cow::Owned(text)));
    match (name, &arguments[..]) {
        ("not", [value]) => Ok(Value::Bool(!value.is_true())),
        ("len", [value]) => length(value),
        ("index", [of, keys @ ..]) => keys.iter().try_fold(of.clone(), |value, key| index(&value, key)),
        ("slice", [of, bounds @ ..]) => slice(of, bounds),
        ("eq", [first, others @ ..]) => equal_to_any(first, others).map(Value::Bool),
        ("ne", [one, other]) => Ok(Value::Bool(!is_equal(one, other)?)),
        ("lt", [one, other]) => Ok(Value::Bool(is_less(one, other)?)),
        ("le", [one, other]) => Ok(Value::Bool(is_less(one, other)? || is_equal(one, other)?)),
        ("gt", [one, other]) => Ok(Value::Bool(!(is_less(one, other)? || is_equal(one, other)?))),
        ("ge", [one, other]) => Ok(Value::Bool(!is_less(one, other)?)),
        ("print", values) => text(sprint(values)),
        ("println", values) => text(sprintln(values)),
        ("printf", [format, values @ ..]) => text(sprintf(&needs_text(name, format)?, values)?),
        ("html", values) => text(html(&sprint(values))),
        ("js", values) => text(js(&sprint(values))),
        ("urlquery", values) => text(url_query(&sprint(values))),
        ("exists", [of, keys @ ..]) => Ok(Value::Bool(exists(of, keys))),
        ("base64decode", [value]) => base64_decode(&needs_text(name, value)?).map(|decoded| Value::Text(Cow::Owned(decoded))),
        _ => error(format!("{name}: non-function of type {}", arguments.first().map_or("<nil>", Value::type_name))),
    }
}

fn needs_text<'v>(name: &str, value: &Value<'v>) -> Result<Cow<'v, str>> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => error(format!("wrong type for value of {name}; expected string; got {}", other.type_name())),
    }
}

fn length<'v>(value: &Value<'v>) -> Result<Value<'v>> {
    let length = match value {
        Value::Text(text) => text.len(),
        Value::List(items) => items.len(),
        Value::Map(members) => members.len(),
        other => return error(format!("len of type {}", other.type_name())),
    };
    Ok(Value::Int(length.try_into().unwrap_or(i64::MAX)))
}

fn place(key: &Value<'_>, length: usize) -> Result<usize> {
    match key {
        Value::Int(number) => match usize::try_from(*number).ok().filter(|place| *place < length) {
            Some(place) => Ok(place),
            None => error(format!("index out of range: {number}")),
        },
        Value::Missing | Value::Nil => error("cannot index slice/array with nil"),
        other => error(format!("cannot index slice/array with type {}", other.type_name())),
    }
}

fn index<'v>(of: &Value<'v>, key: &Value<'v>) -> Result<Value<'v>> {
    match of {
        Value::Missing | Value::Nil => error("index of untyped nil"),
        Value::List(items) => Ok((&items[place(key, items.len())?]).into()),
        Value::Map(members) => match key {
            Value::Text(name) => Ok(members.get(&**name).map_or(Value::Missing, Value::from)),
            other => error(format!("value has type {}; should be string", other.type_name())),
        },
        Value::Text(text) => Ok(Value::Int(i64::from(text.as_bytes()[place(key, text.len())?]))),
        other => error(format!("can't index item of type {}", other.type_name())),
    }
}

fn slice<'v>(of: &Value<'v>, bounds: &[Value<'v>]) -> Result<Value<'v>> {
    let length = match of {
        Value::Text(text) => text.len(),
        Value::List(items) => items.len(),
        Value::Missing | Value::Nil => return error("slice of untyped nil"),
        other => return error(format!("can't slice item of type {}", other.type_name())),
    };
    let most = if matches!(of, Value::Text(_)) { 2 } else { 3 };
    if bounds.len() > most {
        return error("too many slice indexes");
    }
    let places = bounds.iter().map(|bound| place(bound, length + 1)).collect::<Result<Vec<_>>>()?;
    let (start, end) = (places.first().copied().unwrap_or(0), places.get(1).copied().unwrap_or(length));
    if start > end || places.get(2).is_some_and(|capacity| end > *capacity) {
        return error(format!("invalid slice index: {start} > {end}"));
    }
    match of {
        Value::List(items) => Ok(Value::List(&items[start..end])),
        Value::Text(text) => match text.get(start..end) {
            Some(part) => Ok(Value::Text(Cow::Owned(part.to_owned()))),
            None => error("a slice that cuts a character in two is not supported"),
        },
        _ => error("can't slice item"),
    }
}

/// Whether values of basic types are equal. Go compares no lists and no objects, and no values of different types.
fn is_equal(one: &Value<'_>, other: &Value<'_>) -> Result<bool> {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => Ok(one == other),
        (Value::Int(one), Value::Int(other)) => Ok(one == other),
        (Value::Float(one), Value::Float(other)) => Ok(one == other),
        (Value::Text(one), Value::Text(other)) => Ok(one == other),
        (one, other) if one.is_nothing() || other.is_nothing() => Ok(one.is_nothing() == other.is_nothing()),
        (Value::List(_) | Value::Map(_), _) | (_, Value::List(_) | Value::Map(_)) => {
            error(format!("non-comparable types {}, {}", one.type_name(), other.type_name()))
        }
        _ => error("incompatible types for comparison"),
    }
}

fn equal_to_any(first: &Value<'_>, others: &[Value<'_>]) -> Result<bool> {
    if others.is_empty() {
        return error("missing argument for comparison");
    }
    for other in others {
        if is_equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_less(one: &Value<'_>, other: &Value<'_>) -> Result<bool> {
    let order = match (one, other) {
        (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
        (Value::Float(one), Value::Float(other)) => one.partial_cmp(other),
        (Value::Text(one), Value::Text(other)) => Some(one.cmp(other)),
        (Value::Int(_) | Value::Float(_) | Value::Text(_), Value::Int(_) | Value::Float(_) | Value::Text(_)) => {
            return error("incompatible types for comparison");
        }
        _ => return error("invalid type for comparison"),
    };
    Ok(order == Some(Ordering::Less))
}

/// kubectl's `exists`: whether something that is not null lies at the end of the keys. Without keys it always does: a template gives nil without a
/// type, which kubectl does not take for nil.
fn exists(of: &Value<'_>, keys: &[Value<'_>]) -> bool {
    if keys.is_empty() {
        return true;
    }
    let mut value = of.clone();
    for key in keys {
        value = match (&value, key) {
            (Value::List(items), Value::Int(place)) => match usize::try_from(*place).ok().and_then(|place| items.get(place)) {
                Some(item) => item.into(),
                None => return false,
            },
            (Value::Text(text), Value::Int(place)) => match usize::try_from(*place).ok().and_then(|place| text.as_bytes().get(place)) {
                Some(byte) => Value::Int(i64::from(*byte)),
                None => return false,
            },
            (Value::Map(members), Value::Text(name)) => members.get(&**name).map_or(Value::Nil, Value::from),
            _ => return false,
        };
    }
    !value.is_nothing()
}

fn base64_decode(text: &str) -> Result<String> {
    // Go passes over line ends.
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let Ok(bytes) = BASE64.decode(text) else { return error("base64 decode failed: illegal base64 data") };
    String::from_utf8(bytes).map_err(|_| GoTemplateError::new("base64decode: the value is no UTF-8 text, which is not supported"))
}

fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => escaped.push('\u{fffd}'),
            '"' => escaped.push_str("&#34;"),
            '\'' => escaped.push_str("&#39;"),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn js(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\'' => escaped.push_str("\\'"),
            '"' => escaped.push_str("\\\""),
            '<' => escaped.push_str("\\u003C"),
            '>' => escaped.push_str("\\u003E"),
            '&' => escaped.push_str("\\u0026"),
            '=' => escaped.push_str("\\u003D"),
            // Writing to a string cannot fail.
            c if c < ' ' => drop(write!(escaped, "\\u{:04X}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// url.QueryEscape.
fn url_query(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => escaped.push('+'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(char::from(byte)),
            byte => drop(write!(escaped, "%{byte:02X}")),
        }
    }
    escaped
}

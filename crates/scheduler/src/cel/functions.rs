//! CEL's functions and methods: the standard ones, strings, lists, quantities, semantic versions.

use regex::Regex;

use crate::cluster::Amount;

use super::{CelError, Result, Semver, Value};

/// A function without a target.
pub(super) fn call(function: &str, arguments: &[Value]) -> Result<Value> {
    match (function, arguments) {
        ("size", [value]) => size(value),
        ("quantity", [Value::String(text)]) => match Amount::parse(text) {
            Some(amount) => Ok(Value::Quantity(amount)),
            None => Err(error(quantity_problem(text))),
        },
        ("isQuantity", [Value::String(text)]) => Ok(Value::Bool(Amount::parse(text).is_some())),
        ("semver", [Value::String(text)]) => semver(Semver::parse(text)),
        ("semver", [Value::String(text), Value::Bool(normalize)]) => {
            semver(if *normalize { Semver::parse_normalized(text) } else { Semver::parse(text) })
        }
        ("isSemver", [Value::String(text)]) => Ok(Value::Bool(Semver::parse(text).is_ok())),
        ("isSemver", [Value::String(text), Value::Bool(normalize)]) => {
            Ok(Value::Bool(if *normalize { Semver::parse_normalized(text) } else { Semver::parse(text) }.is_ok()))
        }
        ("string", [value]) => string(value),
        ("int", [value]) => int(value),
        ("double", [value]) => double(value),
        ("uint", [Value::Uint(value)]) => Ok(Value::Uint(*value)),
        ("uint", [Value::Int(value)]) => u64::try_from(*value).map(Value::Uint).map_err(|_| error("range error converting -1 to uint")),
        ("bool", [Value::Bool(value)]) => Ok(Value::Bool(*value)),
        ("bool", [Value::String(text)]) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(conversion("string", "bool")),
        },
        ("dyn", [value]) => Ok(value.clone()),
        _ => Err(unsupported(function, arguments)),
    }
}

/// A method of `target`.
pub(super) fn method(target: &Value, function: &str, arguments: &[Value]) -> Result<Value> {
    match target {
        _ if function == "size" && arguments.is_empty() => size(target),
        // From the environment of device selectors: whether a list contains a value, or a value equals another (`dynamic-resource-allocation/cel`,
        // 1.36).
        _ if function == "includes" && arguments.len() == 1 => Ok(Value::Bool(match target {
            Value::List(list) => list.contains(&arguments[0]),
            _ => *target == arguments[0],
        })),
        Value::String(text) => string_method(text, function, arguments),
        Value::List(list) => list_method(list, function, arguments),
        Value::Quantity(quantity) => quantity_method(*quantity, function, arguments),
        Value::Semver(version) => semver_method(version, function, arguments),
        Value::Optional(inner) => match (function, arguments) {
            ("hasValue", []) => Ok(Value::Bool(inner.is_some())),
            ("value", []) => inner.as_deref().cloned().ok_or_else(|| error("optional.none() dereference")),
            ("orValue", [other]) => Ok(inner.as_deref().unwrap_or(other).clone()),
            ("or", [other]) => Ok(if inner.is_some() { target.clone() } else { other.clone() }),
            _ => Err(unsupported(function, arguments)),
        },
        _ if is_known_method(function) => Err(CelError::no_overload()),
        _ => Err(unsupported(function, arguments)),
    }
}

/// A value as CEL's errors spell it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

fn string_method(text: &str, function: &str, arguments: &[Value]) -> Result<Value> {
    let index = |found: Option<usize>| Value::Int(found.map_or(-1, |at| length(&text[..at])));
    Ok(match (function, arguments) {
        ("contains", [Value::String(part)]) => Value::Bool(text.contains(&**part)),
        ("startsWith", [Value::String(part)]) => Value::Bool(text.starts_with(&**part)),
        ("endsWith", [Value::String(part)]) => Value::Bool(text.ends_with(&**part)),
        ("matches", [Value::String(pattern)]) => Value::Bool(regex(pattern, text)?.is_match(text)),
        ("find", [Value::String(pattern)]) => Value::string(regex(pattern, text)?.find(text).map_or("", |found| found.as_str())),
        ("lowerAscii", []) => Value::string(&text.to_ascii_lowercase()),
        ("upperAscii", []) => Value::string(&text.to_ascii_uppercase()),
        ("trim", []) => Value::string(text.trim()),
        ("indexOf", [Value::String(part)]) => index(text.find(&**part)),
        ("lastIndexOf", [Value::String(part)]) => index(text.rfind(&**part)),
        ("replace", [Value::String(from), Value::String(to)]) => Value::string(&text.replace(&**from, to)),
        ("replace", [Value::String(from), Value::String(to), Value::Int(most)]) if !from.is_empty() => match usize::try_from(*most) {
            Ok(most) => Value::string(&text.replacen(&**from, to, most)),
            Err(_) => Value::string(&text.replace(&**from, to)),
        },
        ("split", [Value::String(separator), Value::Int(most)]) if !separator.is_empty() => match usize::try_from(*most) {
            Ok(0) => Value::list(Vec::new()),
            Ok(most) => Value::list(text.splitn(most, &**separator).map(Value::string).collect()),
            Err(_) => Value::list(text.split(&**separator).map(Value::string).collect()),
        },
        ("split", [Value::String(separator)]) if !separator.is_empty() => {
            Value::list(text.split(&**separator).map(Value::string).collect())
        }
        ("charAt", [Value::Int(at)]) => match usize::try_from(*at).ok().and_then(|at| text.chars().nth(at)) {
            Some(c) => Value::string(&c.to_string()),
            None if *at == length(text) => Value::string(""),
            None => return Err(error(&format!("index out of range: {at}"))),
        },
        ("substring", [Value::Int(start)]) => {
            let end = length(text);
            substring(text, *start, end.max(*start))?
        }
        ("substring", [Value::Int(start), Value::Int(end)]) => substring(text, *start, *end)?,
        _ => return Err(mistyped(function, arguments)),
    })
}

fn substring(text: &str, start: i64, end: i64) -> Result<Value> {
    let most = length(text);
    if start > end {
        return Err(error(&format!("invalid substring range. start: {start}, end: {end}")));
    }
    if let Some(out) = [start, end].into_iter().find(|at| *at < 0 || *at > most) {
        return Err(error(&format!("index out of range: {out}")));
    }
    let (skip, take) = (usize::try_from(start).unwrap_or(0), usize::try_from(end - start).unwrap_or(0));
    Ok(Value::string(&text.chars().skip(skip).take(take).collect::<String>()))
}

fn list_method(list: &[Value], function: &str, arguments: &[Value]) -> Result<Value> {
    let index = |found: Option<usize>| Value::Int(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1));
    match (function, arguments) {
        ("indexOf", [value]) => Ok(index(list.iter().position(|element| element == value))),
        ("lastIndexOf", [value]) => Ok(index(list.iter().rposition(|element| element == value))),
        ("join", []) => join(list, ""),
        ("join", [Value::String(separator)]) => join(list, separator),
        ("isSorted", []) => {
            let sorted = list.windows(2).map(|pair| Ok(pair[0].compare(&pair[1]).ok_or_else(CelError::no_overload)?.is_le()));
            Ok(Value::Bool(sorted.collect::<Result<Vec<bool>>>()?.into_iter().all(|sorted| sorted)))
        }
        _ => Err(mistyped(function, arguments)),
    }
}

fn join(list: &[Value], separator: &str) -> Result<Value> {
    let texts = list.iter().map(|element| match element {
        Value::String(text) => Ok(&**text),
        _ => Err(CelError::no_overload()),
    });
    Ok(Value::string(&texts.collect::<Result<Vec<_>>>()?.join(separator)))
}

fn quantity_method(quantity: Amount, function: &str, arguments: &[Value]) -> Result<Value> {
    let other = match arguments {
        [Value::Quantity(other)] => Some(*other),
        [Value::Int(other)] if matches!(function, "add" | "sub") => Some(Amount::from_units(*other)),
        _ => None,
    };
    Ok(match (function, other, arguments) {
        ("compareTo", Some(other), _) => Value::Int(quantity.cmp(&other) as i64),
        ("isLessThan", Some(other), _) => Value::Bool(quantity < other),
        ("isGreaterThan", Some(other), _) => Value::Bool(quantity > other),
        ("add", Some(other), _) => Value::Quantity(quantity + other),
        ("sub", Some(other), _) => Value::Quantity(quantity - other),
        ("asApproximateFloat", None, []) => Value::Double(quantity.approximate()),
        ("isInteger", None, []) => Value::Bool(quantity.units().is_some()),
        ("asInteger", None, []) => Value::Int(quantity.units().ok_or_else(|| error("cannot convert value to integer"))?),
        _ => return Err(mistyped(function, arguments)),
    })
}

fn semver_method(version: &Semver, function: &str, arguments: &[Value]) -> Result<Value> {
    let part = |at: usize| {
        i64::try_from(version.core[at]).map(Value::Int).map_err(|_| CelError::Unsupported("a version number this large".to_owned()))
    };
    match (function, arguments) {
        ("compareTo", [Value::Semver(other)]) => Ok(Value::Int(version.cmp(other) as i64)),
        ("isLessThan", [Value::Semver(other)]) => Ok(Value::Bool(version < other)),
        ("isGreaterThan", [Value::Semver(other)]) => Ok(Value::Bool(version > other)),
        ("major", []) => part(0),
        ("minor", []) => part(1),
        ("patch", []) => part(2),
        _ => Err(mistyped(function, arguments)),
    }
}

fn semver(version: std::result::Result<Semver, String>) -> Result<Value> {
    version.map(Value::Semver).map_err(CelError::Error)
}

/// The error in a quantity's text (`apimachinery/pkg/api/resource/quantity.go`).
fn quantity_problem(text: &str) -> &'static str {
    let digits = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    let number = digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    let suffix = number.strip_prefix('.').map_or(number.clone(), digits);
    let rest = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = digits(rest.strip_prefix(['+', '-']).unwrap_or(rest));
    if text.is_empty() || !rest.is_empty() {
        return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    }
    let known = Amount::parse(&format!("1{suffix}")).is_some();
    if known { "unable to parse numeric part of quantity" } else { "unable to parse quantity's suffix" }
}

/// Compiles a pattern. RE2's classes are ASCII, those here Unicode: where the difference could matter the result is unknown.
fn regex(pattern: &str, subject: &str) -> Result<Regex> {
    if !subject.is_ascii() && ["\\d", "\\w", "\\s", "\\b", "\\D", "\\W", "\\S", "\\B"].iter().any(|class| pattern.contains(class)) {
        return Err(CelError::Unsupported(format!("the pattern {pattern:?} on text that is not ASCII")));
    }
    Regex::new(pattern).map_err(|_| CelError::Unsupported(format!("the pattern {pattern:?}")))
}

fn size(value: &Value) -> Result<Value> {
    Ok(Value::Int(match value {
        Value::String(text) => length(text),
        Value::Bytes(bytes) => count(bytes.len()),
        Value::List(list) => count(list.len()),
        Value::Map(map) => count(map.entries.len()),
        _ => return Err(CelError::no_overload_of("size")),
    }))
}

fn string(value: &Value) -> Result<Value> {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Int(_) | Value::Uint(_) | Value::Bool(_) => Ok(Value::string(&text(value))),
        _ => Err(CelError::Unsupported("string() of this type".to_owned())),
    }
}

fn int(value: &Value) -> Result<Value> {
    match value {
        Value::Int(_) => Ok(value.clone()),
        Value::Uint(value) => i64::try_from(*value).map(Value::Int).map_err(|_| error("integer overflow")),
        Value::String(text) => text.parse().map(Value::Int).map_err(|_| conversion("string", "int")),
        // Beyond the precision of a float, as for the largest integer, it does not convert.
        #[allow(clippy::cast_possible_truncation, reason = "it is within the range")]
        Value::Double(value) if value.abs() < 9_223_372_036_854_775_807.0 => Ok(Value::Int(*value as i64)),
        Value::Double(_) => Err(error("integer overflow")),
        Value::Bool(_) => Err(CelError::no_overload_of("int(bool)")),
        _ => Err(CelError::Unsupported("int() of this type".to_owned())),
    }
}

#[allow(clippy::cast_precision_loss)]
fn double(value: &Value) -> Result<Value> {
    match value {
        Value::Double(_) => Ok(value.clone()),
        Value::Int(value) => Ok(Value::Double(*value as f64)),
        Value::Uint(value) => Ok(Value::Double(*value as f64)),
        Value::String(text) => text.parse().map(Value::Double).map_err(|_| conversion("string", "double")),
        Value::Bool(_) => Err(CelError::no_overload_of("double(bool)")),
        _ => Err(CelError::Unsupported("double() of this type".to_owned())),
    }
}

fn conversion(from: &str, to: &str) -> CelError {
    error(&format!("type conversion error from '{from}' to '{to}'"))
}

fn length(text: &str) -> i64 {
    count(text.chars().count())
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A known method with wrong operands is CEL's error; an unknown one is not modelled here.
fn mistyped(function: &str, arguments: &[Value]) -> CelError {
    if is_known_method(function) { CelError::no_overload() } else { unsupported(function, arguments) }
}

fn is_known_method(function: &str) -> bool {
    let known = [
        "contains",
        "startsWith",
        "endsWith",
        "matches",
        "compareTo",
        "isLessThan",
        "isGreaterThan",
        "major",
        "minor",
        "patch",
        "lowerAscii",
        "upperAscii",
    ];
    known.contains(&function)
}

fn unsupported(function: &str, arguments: &[Value]) -> CelError {
    CelError::Unsupported(format!("{function}() with {} arguments", arguments.len()))
}

fn error(text: &str) -> CelError {
    CelError::Error(text.to_owned())
}

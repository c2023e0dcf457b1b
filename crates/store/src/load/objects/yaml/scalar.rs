//! What a scalar means to kubectl: the rules of YAML 1.1 as go.yaml.in/yaml v2.4.2 has them (`resolve.go`), and numbers as Go's encoding/json writes
//! them (sigs.k8s.io/yaml 1.6.0 makes JSON of YAML).

use serde_json::{Number, Value};

const TAG_PREFIX: &str = "tag:yaml.org,2002:";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    /// 64 bits, with a sign or without.
    Whole(i128),
    Float(f64),
    Text(String),
}

/// Why a scalar has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoValue {
    /// The tag names another type than the text has.
    Tag,
    /// Infinite, or not a number.
    NotFinite,
}

/// Resolves a scalar. `plain` says that it has neither quotes nor a tag.
pub(super) fn resolve(tag: Option<&str>, text: String, plain: bool) -> Result<Scalar, NoValue> {
    let Some(tag) = tag.filter(|tag| !tag.is_empty()) else {
        return Ok(if plain { untagged(&text).unwrap_or(Scalar::Text(text)) } else { Scalar::Text(text) });
    };
    let found = match tag.strip_prefix(TAG_PREFIX) {
        Some("str") => return Ok(Scalar::Text(text)),
        Some("bool" | "int" | "float" | "null") => untagged(&text),
        Some("timestamp" | "binary") => return Err(NoValue::Tag),
        _ => return Ok(Scalar::Text(text)),
    };
    match (tag.strip_prefix(TAG_PREFIX), found) {
        (Some("bool"), Some(Scalar::Bool(value))) => Ok(Scalar::Bool(value)),
        (Some("int"), Some(Scalar::Whole(value))) => Ok(Scalar::Whole(value)),
        (Some("float"), Some(Scalar::Whole(value))) if i64::try_from(value).is_ok() => Ok(Scalar::Float(value as f64)),
        (Some("float"), Some(Scalar::Float(value))) => Ok(Scalar::Float(value)),
        (Some("null"), Some(Scalar::Null)) => Ok(Scalar::Null),
        _ => Err(NoValue::Tag),
    }
}

/// What text without quotes and tag is besides text.
fn untagged(text: &str) -> Option<Scalar> {
    let found = match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => match text.as_bytes()[0] {
            b'.' if has_lone_underscore(text) => return None,
            b'.' => float(&text.replace('_', ""))?,
            b'0'..=b'9' | b'+' | b'-' => {
                let digits = text.replace('_', "");
                whole(&digits).map(Scalar::Whole).or_else(|| float(&digits)).or_else(|| binary(&digits))?
            }
            _ => return None,
        },
    };
    Some(found)
}

/// Whether an underscore does not stand between two digits (Go's `strconv.underscoreOK` for decimals).
fn has_lone_underscore(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).any(|at| bytes[at] == b'_' && !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))))
}

/// A whole number as Go's `strconv.ParseInt` and `ParseUint` read it with base 0; the latter takes no sign.
fn whole(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let value = magnitude(digits, base)?;
    let value = if negative { -value } else { value };
    let fits = i64::try_from(value).is_ok() || !text.starts_with(['+', '-']) && u64::try_from(value).is_ok();
    fits.then_some(value)
}

fn magnitude(digits: &str, base: u32) -> Option<i128> {
    // A sign would be taken by the library.
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    i128::from_str_radix(digits, base).ok()
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, where 64 bits hold it: what is too large is text.
fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let well_formed = is_digits(before) && is_digits(after) && !(before.is_empty() && after.is_empty());
    if !well_formed || exponent.is_some_and(|digits| digits.is_empty() || !is_digits(digits)) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Scalar::Float)
}

/// Binary digits behind `0b` with a sign before them, which only the last try of go-yaml takes.
fn binary(text: &str) -> Option<Scalar> {
    let digits = text.strip_prefix("0b")?;
    let (sign, digits) = match digits.as_bytes().first()? {
        b'-' => (-1, &digits[1..]),
        b'+' => (1, &digits[1..]),
        _ => return None,
    };
    let value = sign * magnitude(digits, 2)?;
    i64::try_from(value).is_ok().then_some(Scalar::Whole(value))
}

impl Scalar {
    pub(super) fn value(self) -> Result<Value, NoValue> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Whole(value) => Number::from_i128(value).map_or(Value::Null, Value::Number),
            Self::Float(value) => json_float(value).ok_or(NoValue::NotFinite)?,
            Self::Text(text) => text.into(),
        })
    }

    /// The name of a member that a scalar is; `None` where it is null, or a number that has no name.
    pub(super) fn name(self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(value) => value.to_string(),
            Self::Whole(value) => i64::try_from(value).ok()?.to_string(),
            Self::Float(value) => float_name(value),
            Self::Text(text) => text,
        })
    }
}

/// A float as Go's encoding/json writes it (`floatEncoder`), so that 8080.0 is 8080; `None` where JSON has no number for it.
fn json_float(value: f64) -> Option<Value> {
    if !value.is_finite() {
        return None;
    }
    let magnitude = value.abs();
    let text = if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{value:e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent}"),
            _ => text,
        }
    } else {
        value.to_string()
    };
    serde_json::from_str(&text).ok()
}

/// A float as Go's `strconv.FormatFloat(…, 'g', -1, 32)` writes it, which names members.
fn float_name(value: f64) -> String {
    let value = value as f32;
    if !value.is_finite() {
        return if value.is_nan() {
            ".nan"
        } else if value > 0.0 {
            ".inf"
        } else {
            "-.inf"
        }
        .to_owned();
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // With the shortest digits, Go writes an exponent from 6 on.
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    value.to_string()
}

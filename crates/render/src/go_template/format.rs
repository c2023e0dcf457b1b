//! How Go prints values (`fmt`, verb `%v`).

use std::fmt::Write;

use serde_json::Value as Json;

use super::value::Value;

/// What an action prints; a value that is not there is said to be none.
pub(super) fn print(value: &Value<'_>) -> String {
    if value.is_nothing() { "<no value>".to_owned() } else { plain(value) }
}

/// `%v` of a value.
pub(super) fn plain(value: &Value<'_>) -> String {
    let mut text = String::new();
    append(value, &mut text);
    text
}

/// Values side by side as `fmt.Sprint` has them: with a blank between two of which neither is a text.
pub(super) fn sprint(values: &[Value<'_>]) -> String {
    let is_text = |value: &Value<'_>| matches!(value, Value::Text(_));
    let mut text = String::new();
    for (place, value) in values.iter().enumerate() {
        if place > 0 && !is_text(value) && !is_text(&values[place - 1]) {
            text.push(' ');
        }
        append(value, &mut text);
    }
    text
}

/// Values side by side as `fmt.Sprintln` has them.
pub(super) fn sprintln(values: &[Value<'_>]) -> String {
    values.iter().map(plain).collect::<Vec<_>>().join(" ") + "\n"
}

fn append(value: &Value<'_>, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Missing | Value::Nil => out.write_str("<nil>"),
        Value::Bool(bool) => write!(out, "{bool}"),
        Value::Int(number) => write!(out, "{number}"),
        Value::Float(number) => out.write_str(&shortest(*number)),
        Value::Text(text) => out.write_str(text),
        Value::List(items) => {
            out.push('[');
            separated(items.iter(), out, |item, out| append(&item.into(), out));
            out.write_char(']')
        }
        Value::Map(members) => {
            let mut sorted: Vec<(&String, &Json)> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            out.push_str("map[");
            separated(sorted.into_iter(), out, |(name, member), out| {
                out.push_str(name);
                out.push(':');
                append(&member.into(), out);
            });
            out.write_char(']')
        }
    };
}

fn separated<T>(items: impl Iterator<Item = T>, out: &mut String, append: impl Fn(T, &mut String)) {
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(' ');
        }
        append(item, out);
    }
}

/// A `float64` with as few digits as tell it from others: `%g` (strconv.FormatFloat with precision -1).
pub(super) fn shortest(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // As strconv/ftoa.go decides where the precision is the shortest.
    if (-4..6).contains(&exponent) { format!("{number}") } else { format!("{digits}{}", go_exponent(exponent)) }
}

/// `e+06`: at least two digits.
pub(super) fn go_exponent(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

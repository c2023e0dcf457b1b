//! `printf`: the verbs of Go's `fmt` for the values that templates have.
//!
//! A verb that does not fit its value is printed as Go prints it (`%!d(float64=1.5)`). Verbs that Go has and this has not (`%x` of floats and
//! lists, `%U`, `%c` of anything but a number, `%p`, `*` as a width, argument numbers) are errors: nothing is printed that Go would not print.

use std::fmt::Write;

use super::GoTemplateError;
use super::format::{go_exponent, plain, shortest};
use super::value::Value;

/// Flags, width and precision of a verb.
#[derive(Clone, Copy, Default)]
struct VerbSpec {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// The widest field; Go's own limit is 1e6.
const MAX_FIELD_WIDTH: usize = 1_000_000;

/// Returns `format` with the values in place of its verbs.
pub(super) fn sprintf(format: &str, values: &[Value<'_>]) -> Result<String, GoTemplateError> {
    let (mut out, mut rest, mut next) = (String::new(), format, 0);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (spec, after) = spec(&rest[at + 1..])?;
        let mut characters = after.chars();
        let Some(verb) = characters.next() else {
            out.push_str("%!(NOVERB)");
            rest = "";
            break;
        };
        rest = characters.as_str();
        if verb == '%' {
            out.push('%');
            continue;
        }
        match values.get(next) {
            // Writing to a string cannot fail.
            None => drop(write!(out, "%!{verb}(MISSING)")),
            Some(value) => one(spec, verb, value, &mut out)?,
        }
        next += 1;
    }
    out.push_str(rest);
    if next < values.len() {
        let extra: Vec<String> = values[next..].iter().map(typed).collect();
        let _ = write!(out, "%!(EXTRA {})", extra.join(", "));
    }
    Ok(out)
}

/// Reads flags, width and precision.
fn spec(text: &str) -> Result<(VerbSpec, &str), GoTemplateError> {
    let (mut spec, mut rest) = (VerbSpec::default(), text);
    while let Some(flag) = rest.chars().next().filter(|flag| "-+# 0".contains(*flag)) {
        match flag {
            '-' => spec.minus = true,
            '+' => spec.plus = true,
            '#' => spec.sharp = true,
            ' ' => spec.space = true,
            _ => spec.zero = true,
        }
        rest = &rest[1..];
    }
    (spec.width, rest) = number(rest)?;
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = number(after)?;
        (spec.precision, rest) = (Some(precision.unwrap_or(0)), after);
    }
    if rest.starts_with(['*', '[']) {
        return Err(GoTemplateError::new("printf: a width that is an argument, and numbers of arguments, are not supported"));
    }
    // Zeros stand on the left alone.
    spec.zero &= !spec.minus;
    Ok((spec, rest))
}

fn number(text: &str) -> Result<(Option<usize>, &str), GoTemplateError> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    match digits.parse() {
        _ if digits.is_empty() => Ok((None, rest)),
        Ok(number) if number <= MAX_FIELD_WIDTH => Ok((Some(number), rest)),
        _ => Err(GoTemplateError::new(format!("printf: the width {digits} is too large"))),
    }
}

fn one(spec: VerbSpec, verb: char, value: &Value<'_>, out: &mut String) -> Result<(), GoTemplateError> {
    if verb == 'T' {
        pad(spec, value.type_name(), out);
        return Ok(());
    }
    if value.is_nothing() {
        match verb {
            'v' => pad(spec, "<nil>", out),
            _ => drop(write!(out, "%!{verb}(<nil>)")),
        }
        return Ok(());
    }
    match value {
        Value::List(items) => {
            return each(spec, verb, out, ("[", "]"), items.iter().map(|item| (None, item.into())));
        }
        Value::Map(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            let members = sorted.into_iter().map(|(name, member)| (Some(Value::Text(name.as_str().into())), member.into()));
            return each(spec, verb, out, ("map[", "]"), members);
        }
        _ => {}
    }
    if spec.sharp {
        return Err(unsupported(spec, verb, value));
    }
    match (verb, value) {
        ('t' | 'v', Value::Bool(bool)) => pad(spec, if *bool { "true" } else { "false" }, out),
        ('s' | 'v', Value::Text(text)) => pad(spec, &cut(spec, text), out),
        ('q', Value::Text(text)) => pad(spec, &quoted(&cut(spec, text), spec.plus).ok_or_else(|| unsupported(spec, verb, value))?, out),
        ('x' | 'X', Value::Text(text)) if !spec.space && spec.precision.is_none() => {
            let digits: String = text.bytes().map(|byte| if verb == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") }).collect();
            pad(spec, &digits, out);
        }
        ('d' | 'v' | 'b' | 'o' | 'x' | 'X', Value::Int(number)) => integer(spec, verb, *number, out),
        ('c', Value::Int(number)) => {
            let c = u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            pad(spec, &c.to_string(), out);
        }
        ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'v', Value::Float(number)) => {
            float(spec, verb, *number, out).ok_or_else(|| unsupported(spec, verb, value))?
        }
        ('U' | 'p' | 'q', Value::Int(_)) | ('b' | 'x' | 'X', Value::Float(_)) | ('x' | 'X', Value::Text(_)) | ('w', _) => {
            return Err(unsupported(spec, verb, value));
        }
        _ => {
            let _ = write!(out, "%!{verb}({})", typed(value));
        }
    }
    Ok(())
}

/// The members of a list or an object, each in this verb.
fn each<'v>(
    spec: VerbSpec,
    verb: char,
    out: &mut String,
    (begin, end): (&str, &str),
    members: impl Iterator<Item = (Option<Value<'v>>, Value<'v>)>,
) -> Result<(), GoTemplateError> {
    if spec.sharp || matches!(verb, 'p' | 'w') {
        return Err(GoTemplateError::new(format!("printf: %{verb} of a list or an object is not supported with these flags")));
    }
    out.push_str(begin);
    for (place, (name, member)) in members.enumerate() {
        if place > 0 {
            out.push(' ');
        }
        if let Some(name) = name {
            one(spec, verb, &name, out)?;
            out.push(':');
        }
        // Inside of a list, nil is printed as such whatever the verb.
        if member.is_nothing() { pad(spec, "<nil>", out) } else { one(spec, verb, &member, out)? }
    }
    out.push_str(end);
    Ok(())
}

fn unsupported(spec: VerbSpec, verb: char, value: &Value<'_>) -> GoTemplateError {
    let flags = [(spec.plus, '+'), (spec.sharp, '#'), (spec.space, ' ')];
    let flags: String = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
    GoTemplateError::new(format!("printf: %{flags}{verb} of a {} is not supported", value.type_name()))
}

/// `float64=1.5`.
fn typed(value: &Value<'_>) -> String {
    if value.is_nothing() { "<nil>".to_owned() } else { format!("{}={}", value.type_name(), plain(value)) }
}

/// The first characters, as many as the precision says.
fn cut(spec: VerbSpec, text: &str) -> String {
    text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect()
}

fn pad(spec: VerbSpec, text: &str, out: &mut String) {
    let blanks = spec.width.unwrap_or(0).saturating_sub(text.chars().count());
    let blank = if spec.zero { '0' } else { ' ' };
    if spec.minus {
        out.push_str(text);
    }
    out.extend(std::iter::repeat_n(blank, blanks));
    if !spec.minus {
        out.push_str(text);
    }
}

/// A number with its sign, zeros between the two.
fn signed(spec: VerbSpec, is_negative: bool, digits: &str, out: &mut String) {
    let sign = match (is_negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    if spec.zero {
        let zeros = spec.width.unwrap_or(0).saturating_sub(sign.len() + digits.len());
        out.push_str(sign);
        out.extend(std::iter::repeat_n('0', zeros));
        out.push_str(digits);
    } else {
        pad(spec, &format!("{sign}{digits}"), out);
    }
}

fn integer(spec: VerbSpec, verb: char, number: i64, out: &mut String) {
    let size = number.unsigned_abs();
    let mut digits = match verb {
        'b' => format!("{size:b}"),
        'o' => format!("{size:o}"),
        'x' => format!("{size:x}"),
        'X' => format!("{size:X}"),
        _ => size.to_string(),
    };
    let mut spec = spec;
    if let Some(precision) = spec.precision {
        spec.zero = false;
        digits = if precision == 0 && number == 0 { String::new() } else { format!("{digits:0>precision$}") };
    }
    signed(spec, number < 0, &digits, out);
}

/// Appends a float; `None` where this is not exact.
fn float(spec: VerbSpec, verb: char, number: f64, out: &mut String) -> Option<()> {
    let size = number.abs();
    let digits = match (verb.to_ascii_lowercase(), spec.precision) {
        _ if !number.is_finite() => return None,
        ('f', precision) => format!("{size:.*}", precision.unwrap_or(6)),
        ('e', precision) => {
            let scientific = format!("{size:.*e}", precision.unwrap_or(6));
            let (digits, exponent) = scientific.split_once('e')?;
            format!("{digits}{}", go_exponent(exponent.parse().ok()?))
        }
        ('g' | 'v', None) => shortest(size),
        _ => return None,
    };
    let digits = if verb.is_ascii_uppercase() { digits.to_ascii_uppercase() } else { digits };
    signed(spec, number.is_sign_negative(), &digits, out);
    Some(())
}

/// A text in double quotes (strconv.Quote); `None` where which characters Go prints as they are would have to be known.
fn quoted(text: &str, ascii_only: bool) -> Option<String> {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            c if c.is_ascii_control() => drop(write!(quoted, "\\x{:02x}", u32::from(c))),
            c if c.is_ascii() || !ascii_only && c.is_alphanumeric() => quoted.push(c),
            _ => return None,
        }
    }
    quoted.push('"');
    Some(quoted)
}

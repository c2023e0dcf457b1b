//! JSON as kubectl prints it: `<`, `>`, `&` and the two line separators of Unicode escaped as Go's encoding/json does.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use super::contract::window::HistoryWindow;

/// Returns `value` on one line.
pub fn compact(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    write_compact(value, &mut out).map(|()| String::from_utf8(out).unwrap_or_default()).unwrap_or_default()
}

/// Writes `value` on one line, without a line end.
///
/// # Errors
/// The stream's.
pub fn write_compact(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(out, GoEscapes(CompactFormatter)))?)
}

/// Writes `value` indented by four, without a line end.
///
/// # Errors
/// The stream's.
pub fn write_pretty(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(out, GoEscapes(PrettyFormatter::with_indent(b"    "))))?)
}

/// Writes `value` on a line of its own.
///
/// # Errors
/// The stream's.
pub fn write_line(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    write_compact(value, out)?;
    out.write_all(b"\n")
}

/// Writes `value` indented by four, as a document that is all there is.
///
/// # Errors
/// The stream's.
pub fn write_document(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    write_pretty(value, out)?;
    out.write_all(b"\n")
}

/// Returns the head of a list of ours, with the stretch of history that was asked for.
pub fn head_of_list(window: Option<HistoryWindow>) -> String {
    let window = window.map(|window| format!("\"window\":{},", compact(&window))).unwrap_or_default();
    format!("{{\"kind\":\"List\",{window}\"items\":[")
}

/// A formatter that escapes what Go escapes, and else does as the one inside.
struct GoEscapes<F>(F);

impl<F: Formatter> Formatter for GoEscapes<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut start = 0;
        for (index, c) in fragment.char_indices() {
            let escape = match c {
                '<' => "\\u003c",
                '>' => "\\u003e",
                '&' => "\\u0026",
                '\u{2028}' => "\\u2028",
                '\u{2029}' => "\\u2029",
                _ => continue,
            };
            writer.write_all(&fragment.as_bytes()[start..index])?;
            writer.write_all(escape.as_bytes())?;
            start = index + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[start..])
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn as_go_writes_it() {
        let value: Value = serde_json::from_str(r#"{"b":[1.50,{}],"a":"<&>\u2028\n","n":12345678901234567890123}"#).unwrap();
        assert_eq!(compact(&value), r#"{"a":"\u003c\u0026\u003e\u2028\n","b":[1.50,{}],"n":12345678901234567890123}"#);
        let mut out = Vec::new();
        write_pretty(&value, &mut out).unwrap();
        let wanted = "{\n    \"a\": \"\\u003c\\u0026\\u003e\\u2028\\n\",\n    \"b\": [\n        1.50,\n        {}\n    ],\n    \"n\": 12345678901234567890123\n}";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}

//! YAML that reads back as the same JSON, by readers of YAML 1.1 (kubectl's) as of 1.2: what either takes for something else is quoted.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Number, Value};
use serde_saphyr::{DoubleQuoted, SerializerOptions};

use super::json;
use super::visible::{self, is_unsafe, needs_escapes};

/// Writes `value` as one document.
///
/// # Errors
/// The stream's.
pub fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let text = if has_unsafe_name(value) {
        // The serializer leaves such names without quotes; JSON is YAML too.
        let mut text = Vec::new();
        json::write_pretty(value, &mut text)?;
        String::from_utf8(text).map_err(io::Error::other)?
    } else {
        block(&YamlDocument(value))?
    };
    write_lines(&text, out)
}

/// Writes `value` as an item of a list: the lines that [`write()`] gives it where the list is a member of a document. An item with names that the
/// serializer would leave without quotes is JSON on one line.
///
/// # Errors
/// The stream's.
pub fn write_item(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let text = if has_unsafe_name(value) { format!("- {}", json::compact(value)) } else { block(&[YamlDocument(value)])? };
    write_lines(&text, out)
}

fn block(value: &impl Serialize) -> io::Result<String> {
    serde_saphyr::to_string_with_options(value, options()).map_err(io::Error::other)
}

/// Writes whole lines.
fn write_lines(text: &str, out: &mut dyn Write) -> io::Result<()> {
    if needs_escapes(text) {
        write_escaped(text, out)?
    } else {
        out.write_all(text.as_bytes())?
    }
    if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") }
}

/// Lines are never folded, as their blanks would be at the mercy of the reader.
fn options() -> SerializerOptions {
    serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX }
}

/// Writes a document, unsafe characters as YAML's escapes: text that holds them is in double quotes.
fn write_escaped(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut escaped = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match c {
            '\n' | '\t' => escaped.push(c),
            // Writing to a string cannot fail.
            c if is_unsafe(c) => drop(visible::write_escaped(c, &mut escaped)),
            c => escaped.push(c),
        }
    }
    out.write_all(escaped.as_bytes())
}

/// Whether some member's name holds what must be escaped.
fn has_unsafe_name(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, member)| needs_escapes(name) || has_unsafe_name(member)),
        Value::Array(items) => items.iter().any(has_unsafe_name),
        _ => false,
    }
}

/// Text as a scalar: in double quotes where it holds what must be escaped.
struct Text<'a>(&'a str);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if needs_escapes(self.0) { DoubleQuoted(self.0).serialize(serializer) } else { serializer.serialize_str(self.0) }
    }
}

/// A JSON value whose numbers are numbers to any serializer.
struct YamlDocument<'a>(&'a Value);

impl Serialize for YamlDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Number(number) => serialize_number(number, serializer),
            Value::String(text) => Text(text).serialize(serializer),
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&YamlDocument(item)))?;
                list.end()
            }
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, &YamlDocument(value)))?;
                map.end()
            }
        }
    }
}

/// Whole numbers stay whole; others are what the API server holds, 64-bit floats.
fn serialize_number<S: Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    if let Some(whole) = number.as_i64() {
        return serializer.serialize_i64(whole);
    }
    match (number.as_str().parse::<i128>(), number.as_f64()) {
        (Ok(whole), _) => serializer.serialize_i128(whole),
        (Err(_), Some(float)) => serializer.serialize_f64(float),
        (Err(_), None) => serializer.serialize_str(number.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn yaml(value: &Value) -> String {
        let mut out = Vec::new();
        write(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn check(value: &Value, wanted: &str) {
        assert_eq!(yaml(value), wanted);
        assert_eq!(serde_saphyr::from_str::<Value>(wanted).unwrap(), *value);
    }

    #[test]
    fn as_kubectl_lays_it_out() {
        check(
            &json!({"kind": "Pod", "metadata": {"labels": {}, "name": "a"}, "spec": {"args": [], "containers": [{"image": "x:1", "name": "c"}]}}),
            "kind: Pod\nmetadata:\n  labels: {}\n  name: a\nspec:\n  args: []\n  containers:\n  - image: x:1\n    name: c\n",
        );
    }

    #[test]
    fn what_a_reader_could_mistake_is_quoted() {
        for text in [
            "no",
            "Yes",
            "on",
            "OFF",
            "y",
            "~",
            "null",
            "",
            "true",
            "0o7",
            "017",
            "1e3",
            "1_000",
            "12:34:56",
            "0x1F",
            ".5",
            ".inf",
            "2020-01-01",
            "<<",
            "=",
            "- a",
            "a: b",
            "a #b",
            " a",
            "a ",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "---",
            "{",
            "[",
        ] {
            let written = yaml(&json!({ "a": text }));
            assert!(written.contains(['"', '\'']), "{text}: {written}");
            assert_eq!(serde_saphyr::from_str::<Value>(&written).unwrap()["a"], text);
        }
    }

    #[test]
    fn keys_and_lines() {
        for value in [
            json!({"no": 1, "1": 2, "a b": 3, "": 4, "x: y": 5}),
            json!({"a": "one\ntwo\n", "b": "one\n\n  two", "c": "\n", "d": "tab\there", "e": "ends \n"}),
            json!({"a": "x".repeat(300) + " " + &"y".repeat(300), "b": format!("{}\nlast", "long line ".repeat(40))}),
            json!({"a": "\u{0}\u{7f}\u{85}\u{2028}ä\u{feff}"}),
            json!({"\u{202e}": "\u{202e}\n  \u{9b}\\ \"\u{e0041}\" \u{fdd0}", "b": "\u{7f}"}),
            json!([[1, [2]], [], {}]),
        ] {
            assert_eq!(serde_saphyr::from_str::<Value>(&yaml(&value)).unwrap(), value, "{}", yaml(&value));
        }
    }

    #[test]
    fn items_are_those_of_a_document() {
        let items = [
            json!({"a": "one\n\n  two\n", "b": {"c": [1, [2], {}], "d": " x"}, "e": []}),
            json!({"a": "\u{85}", "b": [{"c": "  first\nlast"}]}),
            json!("text"),
        ];
        let mut written = b"items:\n".to_vec();
        items.iter().for_each(|item| write_item(item, &mut written).unwrap());
        assert_eq!(String::from_utf8(written).unwrap(), yaml(&json!({ "items": items })));
        let unsafe_name = json!({"\u{202e}": ["\u{9b}"]});
        let mut written = b"a:\n- 1\n".to_vec();
        write_item(&unsafe_name, &mut written).unwrap();
        let read: Value = serde_saphyr::from_str(std::str::from_utf8(&written).unwrap()).unwrap();
        assert_eq!(read, json!({"a": [1, unsafe_name]}));
    }

    #[test]
    fn numbers() {
        let value: Value = serde_json::from_str(
            r#"{"a":9223372036854775807,"b":-9223372036854775808,"c":12345678901234567890123,"d":1.5,"e":1e+21,"f":1e-7}"#,
        )
        .unwrap();
        let written = yaml(&value);
        for line in ["a: 9223372036854775807\n", "b: -9223372036854775808\n", "c: 12345678901234567890123\n", "d: 1.5\n"] {
            assert!(written.contains(line), "{written}");
        }
        // YAML 1.1 takes an exponent for a number only after a point and with a sign.
        assert!(written.contains("e: 1.0e+21\n") && written.contains("f: 1.0e-7\n"), "{written}");
    }

    proptest! {
        #[test]
        fn strings_read_back(text in any::<String>()) {
            let value = json!({ text.clone(): [text] });
            prop_assert_eq!(serde_saphyr::from_str::<Value>(&yaml(&value)).unwrap(), value);
        }
    }
}

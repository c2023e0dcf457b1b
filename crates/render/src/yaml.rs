//! YAML that reads back as the same JSON, by readers of YAML 1.1 (kubectl's) as of 1.2: text that either would read as another type is quoted.
//!
//! The layout is kubectl's. A text is written without quotes, as lines behind `|`, or in double quotes, in which everything can be said; `|` is for
//! text whose first line shows how far it is indented.

use std::io::{self, Write};

use serde_json::{Map, Number, Value};

use super::visible::{is_unsafe, write_escaped};

/// Writes `value` as one document.
///
/// # Errors
/// The stream's.
pub fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut text = YamlWriter(String::new());
    match value {
        Value::Object(members) if !members.is_empty() => text.members(members, 0, true),
        Value::Array(items) if !items.is_empty() => text.items(items, 0, true),
        scalar => text.scalar(scalar, 0),
    }
    out.write_all(text.0.as_bytes())
}

/// Writes `value` as an item of a list: the lines that [`write()`] gives it where the list is a member of a document.
///
/// # Errors
/// The stream's.
pub fn write_item(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut text = YamlWriter(String::new());
    text.items(std::slice::from_ref(value), 0, true);
    out.write_all(text.0.as_bytes())
}

/// A document while it is written. Columns count from 0.
struct YamlWriter(String);

impl YamlWriter {
    fn indent(&mut self, column: usize) {
        self.0.extend(std::iter::repeat_n(' ', column));
    }

    /// Writes members whose names begin at `column`; the first one where the line stands if `is_begun`.
    fn members(&mut self, members: &Map<String, Value>, column: usize, is_begun: bool) {
        /// Readers look no further than 1,024 characters for the colon behind a name.
        const MAX_INLINE_NAME_CHARS: usize = 1000;
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 || !is_begun {
                self.indent(column);
            }
            let start = self.0.len();
            if is_plain(name) && !name.contains(':') {
                self.0.push_str(name)
            } else {
                self.quoted(name)
            }
            if self.0.len() - start > MAX_INLINE_NAME_CHARS {
                self.0.insert_str(start, "? ");
                self.0.push('\n');
                self.indent(column);
                self.0.push_str(": ");
                self.nested(value, column);
                continue;
            }
            self.0.push(':');
            match value {
                Value::Object(members) if !members.is_empty() => {
                    self.0.push('\n');
                    self.members(members, column + 2, false);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.0.push('\n');
                    self.items(items, column, false);
                }
                scalar => {
                    self.0.push(' ');
                    self.scalar(scalar, column);
                }
            }
        }
    }

    /// Writes items whose dashes stand at `column`; the first one where the line stands if `is_begun`.
    fn items(&mut self, items: &[Value], column: usize, is_begun: bool) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 || !is_begun {
                self.indent(column);
            }
            self.0.push_str("- ");
            self.nested(item, column);
        }
    }

    /// Writes a value behind an indicator and a blank that stand at `column`.
    fn nested(&mut self, value: &Value, column: usize) {
        match value {
            Value::Object(members) if !members.is_empty() => self.members(members, column + 2, true),
            Value::Array(items) if !items.is_empty() => self.items(items, column + 2, true),
            scalar => self.scalar(scalar, column),
        }
    }

    /// Writes a scalar to the end of its line; further lines of text are indented by two columns from `column`.
    fn scalar(&mut self, value: &Value, column: usize) {
        match value {
            Value::Null => self.0.push_str("null"),
            Value::Bool(flag) => self.0.push_str(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.number(number),
            Value::String(text) if is_plain(text) => self.0.push_str(text),
            Value::String(text) if is_lines(text) => return self.lines(text, column + 2),
            Value::String(text) => self.quoted(text),
            Value::Array(_) => self.0.push_str("[]"),
            Value::Object(_) => self.0.push_str("{}"),
        }
        self.0.push('\n');
    }

    fn lines(&mut self, text: &str, column: usize) {
        let content = text.trim_end_matches('\n');
        self.0.push_str(match text.len() - content.len() {
            0 => "|-\n",
            1 => "|\n",
            _ => "|+\n",
        });
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if !line.is_empty() {
                self.indent(column);
                self.0.push_str(line);
            }
            self.0.push('\n');
        }
    }

    fn quoted(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => self.0.extend(['\\', c]),
                // Writing to a string cannot fail.
                c if is_unsafe(c) => {
                    let _ = write_escaped(c, &mut self.0);
                }
                c => self.0.push(c),
            }
        }
        self.0.push('"');
    }

    /// Whole numbers stay whole; others are what the API server holds, 64-bit floats.
    fn number(&mut self, number: &Number) {
        match (number.as_str().parse::<i128>(), number.as_f64()) {
            (Ok(whole), _) => self.0.push_str(&whole.to_string()),
            // YAML 1.1 takes an exponent for a number only after a point and with a sign.
            (Err(_), Some(float)) => match format!("{float:?}").split_once('e') {
                Some((mantissa, exponent)) => {
                    let point = if mantissa.contains('.') { "" } else { ".0" };
                    let sign = if exponent.starts_with('-') { "" } else { "+" };
                    self.0.extend([mantissa, point, "e", sign, exponent]);
                }
                None => self.0.push_str(&format!("{float:?}")),
            },
            (Err(_), None) => self.quoted(number.as_str()),
        }
    }
}

/// Whether a text can stand as lines: the first of them is not indented itself, and the last does not end with a blank.
fn is_lines(text: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace();
    text.contains('\n')
        && !text.starts_with(is_blank)
        && !text.trim_end_matches('\n').ends_with(is_blank)
        && !text.chars().any(|c| is_unsafe(c) && !matches!(c, '\n' | '\t'))
}

/// Whether a text is the same without quotes.
fn is_plain(text: &str) -> bool {
    let mut after_blank = true;
    let is_comment = text.chars().any(|c| std::mem::replace(&mut after_blank, c.is_whitespace()) && c == '#');
    let begins = match text.as_bytes() {
        [] => return false,
        [b'-' | b'?'] | [b'-' | b'?', b' ', ..] => false,
        [first, ..] => !b",:[]{}#&*!|>'\"%@`".contains(first),
    };
    begins
        && !is_comment
        && text.trim().len() == text.len()
        && !text.contains(": ")
        && !text.ends_with(':')
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !text.chars().any(is_unsafe)
        && !is_word(text)
        && !is_like_number(text)
}

/// Whether any reader would read a text as a boolean, null or an indicator.
fn is_word(text: &str) -> bool {
    const AMBIGUOUS_WORDS: [&str; 14] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "~", "<<", "=", "inf", "nan"];
    AMBIGUOUS_WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether any reader would read a text as a number or a time. This quotes more than any single reader needs.
fn is_like_number(text: &str) -> bool {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-._".contains(c)) {
        return false;
    }
    let text = text.replace('_', "");
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let all = |text: &str, more: &str| text.chars().all(|c| c.is_ascii_digit() || more.contains(c));
    let is_name = ["inf", "nan"].iter().any(|name| digits.trim_start_matches('.').eq_ignore_ascii_case(name));
    let is_of_base = ["0x", "0X", "0o", "0O", "0b", "0B"].iter().any(|base| {
        digits.strip_prefix(base).is_some_and(|digits| digits.trim_start_matches(['+', '-']).chars().all(|c| c.is_ascii_hexdigit()))
    });
    let is_decimal = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => all(mantissa, ".") && all(exponent.trim_start_matches(['+', '-']), ""),
        None => all(digits, ".:"),
    };
    is_name || is_of_base || is_decimal || is_like_time(&text)
}

/// Whether a text begins as a date does, and ends there or continues with a time.
fn is_like_time(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return false };
    let is_number = |text: &str, longest: usize| (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let day = rest.split(['T', 't', ' ']).next().unwrap_or_default();
    year.len() == 4 && is_number(year, 4) && is_number(month, 2) && is_number(day, 2)
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

    /// The documents of all strings of the table: as a value, a name, within lists and alone. Which of them kubectl's reader reads as what was written
    /// is recorded for exactly these documents.
    #[test]
    fn kubectl_reads_what_is_written() {
        use std::fmt::Write as _;
        use std::fs;

        use ketcd_testing::testdata;
        use sha2::{Digest, Sha256};

        let table = testdata::read("yaml/strings.ndjson.zst");
        let (mut sum, mut pairs, mut count) = (Sha256::new(), String::new(), 0);
        for line in table.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let line: Value = serde_json::from_slice(line).unwrap();
            let text = line["text"].as_str().unwrap();
            for value in [
                json!({ "k": text, text: "v" }),
                json!({"a": [text, {text: [text]}, [[text]]], "b": {"c": text}, "d": 1}),
                json!([text]),
                json!(text),
            ] {
                let document = yaml(&value);
                sum.update(&document);
                count += 1;
                writeln!(pairs, "{}", json!({"yaml": document, "json": value})).unwrap();
            }
        }
        let found = format!("{:x} {count} documents, 0 read as something else\n", sum.finalize());
        if fs::read_to_string(testdata::path("yaml/written.txt")).unwrap_or_default() != found {
            let path = format!("{}/documents.ndjson", std::env::temp_dir().display());
            fs::write(&path, pairs).unwrap();
            panic!("other documents than kubectl's reader was asked about: oracle/run yaml check < {path} > testdata/yaml/written.txt");
        }
    }

    #[test]
    fn lines_are_kept_as_lines_where_their_indentation_shows() {
        for (text, wanted) in [
            ("a:\n\tb\n", "k: |\n  a:\n  \tb\n"),
            ("\ta\n\tb\n", "k: \"\\ta\\n\\tb\\n\"\n"),
            (" a\nb", "k: \" a\\nb\"\n"),
            ("a\n\n  b", "k: |-\n  a\n\n    b\n"),
            ("a\n\n", "k: |+\n  a\n\n"),
            ("\na", "k: \"\\na\"\n"),
            ("a\nb ", "k: \"a\\nb \"\n"),
            ("a\u{2028}b\n", "k: \"a\\u2028b\\n\"\n"),
        ] {
            assert_eq!(yaml(&json!({ "k": text })), wanted);
        }
        let name = "n".repeat(2000);
        assert_eq!(yaml(&json!({ name.clone(): {"a": [1]} })), format!("? {name}\n: a:\n  - 1\n"));
    }

    proptest! {
        #[test]
        fn strings_read_back(text in any::<String>()) {
            let value = json!({ text.clone(): [text] });
            prop_assert_eq!(serde_saphyr::from_str::<Value>(&yaml(&value)).unwrap(), value);
        }
    }
}

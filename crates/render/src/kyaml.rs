//! KYAML, a strict subset of YAML, to the letter as kubectl 1.34 to 1.37 print it (sigs.k8s.io/yaml 1.6.0, package `kyaml`).

use std::io::{self, Write};

use serde_json::{Map, Number, Value};
use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Writes `value` as one document, with the line that begins it.
///
/// # Errors
/// The stream's.
pub fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Kyaml(String::from("---\n"));
    text.node(value, 0);
    text.0.push('\n');
    out.write_all(text.0.as_bytes())
}

/// Writes `value` as it stands within a document whose indentation there is of `level` levels, without a line end.
///
/// # Errors
/// The stream's.
pub fn write_nested(value: &Value, level: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Kyaml(String::new());
    text.node(value, level);
    out.write_all(text.0.as_bytes())
}

/// A document while it is written. Levels of indentation are of two columns.
struct Kyaml(String);

impl Kyaml {
    fn indent(&mut self, level: usize) {
        self.0.extend(std::iter::repeat_n("  ", level));
    }

    fn node(&mut self, value: &Value, level: usize) {
        match value {
            Value::Null => self.0.push_str("null"),
            Value::Bool(flag) => self.0.push_str(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.0.push_str(&number_text(number)),
            Value::String(text) => self.text(text, level + 1),
            Value::Array(items) => self.items(items, level),
            Value::Object(members) => self.members(members, level),
        }
    }

    fn members(&mut self, members: &Map<String, Value>, level: usize) {
        if members.is_empty() {
            return self.0.push_str("{}");
        }
        self.0.push_str("{\n");
        for (name, value) in members {
            self.indent(level + 1);
            if needs_quotes(name) {
                self.quoted(name)
            } else {
                self.0.push_str(name)
            }
            self.0.push_str(": ");
            self.node(value, level + 1);
            self.0.push_str(",\n");
        }
        self.indent(level);
        self.0.push('}');
    }

    /// Writes a list. Lists and objects alone stand one behind the other; else each item has a line of its own.
    fn items(&mut self, items: &[Value], level: usize) {
        let are_nested = items.iter().all(|item| item.is_array() || item.is_object());
        if are_nested {
            self.0.push('[');
            for (index, item) in items.iter().enumerate() {
                self.0.push_str(if index > 0 { ", " } else { "" });
                self.node(item, level);
            }
            return self.0.push(']');
        }
        self.0.push_str("[\n");
        for item in items {
            self.indent(level + 1);
            self.node(item, level + 1);
            self.0.push_str(",\n");
        }
        self.indent(level);
        self.0.push(']');
    }

    /// Writes a text as a value: in quotes, and where it has lines each of them on one of its own, folded.
    fn text(&mut self, text: &str, level: usize) {
        const LINE_FOLD: &str = "\\\n";
        let has_lines = text.contains('\n');
        self.0.push('"');
        self.0.push_str(if has_lines { LINE_FOLD } else { "" });
        for c in text.chars() {
            if self.0.ends_with('\n') {
                self.indent(level);
                // Blanks that begin a line of YAML do not count, unless the first is escaped.
                self.0.push(if c.is_whitespace() && c != '\n' { '\\' } else { ' ' });
            }
            match c {
                '\n' => self.0.extend(["\\n", LINE_FOLD]),
                '\t' => self.0.push('\t'),
                c => self.character(c),
            }
        }
        if has_lines {
            self.0.push_str(if self.0.ends_with('\n') { "" } else { LINE_FOLD });
            self.indent(level);
        }
        self.0.push('"');
    }

    fn quoted(&mut self, text: &str) {
        self.0.push('"');
        text.chars().for_each(|c| self.character(c));
        self.0.push('"');
    }

    fn character(&mut self, c: char) {
        let short = match c {
            '"' | '\\' => return self.0.extend(['\\', c]),
            c if is_printable(c) => return self.0.push(c),
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{b}' => 'v',
            '\0' => '0',
            '\u{1b}' => 'e',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            c => {
                let code = u32::from(c);
                return self.0.push_str(&match code {
                    ..0x20 | 0x7f => format!("\\x{code:02x}"),
                    0x80..0x1_0000 => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        };
        self.0.extend(['\\', short]);
    }
}

/// Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the blank.
fn is_printable(c: char) -> bool {
    use Category as C;
    let is_hidden = matches!(
        get_general_category(c),
        C::Control
            | C::Format
            | C::LineSeparator
            | C::ParagraphSeparator
            | C::PrivateUse
            | C::SpaceSeparator
            | C::Surrogate
            | C::Unassigned
    );
    c == ' ' || !is_hidden
}

/// Go's `unicode.IsLetter` or `unicode.IsNumber`.
fn is_letter_or_number(c: char) -> bool {
    use Category as C;
    matches!(
        get_general_category(c),
        C::UppercaseLetter
            | C::LowercaseLetter
            | C::TitlecaseLetter
            | C::ModifierLetter
            | C::OtherLetter
            | C::DecimalNumber
            | C::LetterNumber
            | C::OtherNumber
    )
}

/// Whether the name of a member is quoted: it is not a plain word, or readers of YAML could take it for something other than text.
fn needs_quotes(name: &str) -> bool {
    let last = name.chars().count().saturating_sub(1);
    let is_allowed =
        |(place, c): (usize, char)| is_letter_or_number(c) || c == '_' || (place > 0 && place < last && matches!(c, '-' | '.' | '/'));
    name.is_empty() || !name.chars().enumerate().all(is_allowed) || is_ambiguous(name)
}

/// Whether a text of such characters is like null, a truth value, a number or a date to readers of YAML 1.1 or to Go.
fn is_ambiguous(text: &str) -> bool {
    const AMBIGUOUS_WORDS: [&str; 11] = ["null", "true", "y", "yes", "on", "false", "n", "no", "off", "t", "f"];
    let lower = text.to_lowercase();
    // "T" and "F" are short forms of Go's truth values too.
    if AMBIGUOUS_WORDS.contains(&lower.as_str()) {
        return true;
    }
    let digits = text.replace('_', "");
    is_integer(&digits) || is_float(&digits) || is_date(text)
}

/// Go's `strconv.ParseInt` to base 0.
fn is_integer(text: &str) -> bool {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, &lower[..]),
    };
    digits.starts_with(|c: char| c.is_ascii_alphanumeric()) && i64::from_str_radix(&format!("{sign}{digits}"), base).is_ok()
}

/// Go's `strconv.ParseFloat`, whose numbers are those of Rust, and hexadecimal ones; what is too large for a float is none.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text).to_ascii_lowercase();
    if let Some(hexadecimal) = unsigned.strip_prefix("0x") {
        let Some((mantissa, exponent)) = hexadecimal.split_once('p') else { return false };
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let digits = mantissa.replacen('.', "", 1);
        return !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !exponent.is_empty()
            && exponent.bytes().all(|byte| byte.is_ascii_digit());
    }
    let is_word = ["inf", "infinity", "nan"].contains(&unsigned.as_str());
    is_word || text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether a text is a date, such as `2006-1-2`.
fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else { return false };
    let number = |text: &str, longest: usize| -> Option<i16> {
        let is_number = (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { text.parse().ok() } else { None }
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4).filter(|_| year.len() == 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let [month, day] = [month, day].map(|number| i8::try_from(number).unwrap_or(0));
    jiff::civil::Date::new(year, month, day).is_ok()
}

/// A number as Go's `encoding/json` writes it: whole ones as they are, others as the shortest decimal of a 64-bit float.
fn number_text(number: &Number) -> String {
    let text = number.as_str();
    let is_whole = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    let Some(float) = number.as_f64().filter(|_| !is_whole) else { return text.to_owned() };
    match float.abs() {
        0.0 | 1e-6..1e21 => float.to_string(),
        _ => {
            let text = format!("{float:e}");
            if text.contains("e-") { text } else { text.replace('e', "e+") }
        }
    }
}

#[cfg(test)]
mod tests {
    use ketcd_testing::testdata;

    use super::*;

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        write(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The answers of upstream's own code (testdata/yaml/README.md). It fails for texts with characters that its reader of YAML refuses.
    #[test]
    fn as_kubectl_writes_it() {
        let answers = testdata::read("yaml/kyaml.ndjson.zst");
        let (mut compared, mut refused, mut wrong) = (0, 0, Vec::new());
        for line in answers.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let line: Value = serde_json::from_slice(line).unwrap();
            let found = written(&line["json"]);
            match line["kyaml"].as_str() {
                Some(wanted) if found == wanted => compared += 1,
                Some(wanted) => wrong.push(format!("{found:?} is not {wanted:?}")),
                None => refused += 1,
            }
        }
        assert!(wrong.is_empty(), "{} differ: {:#?}", wrong.len(), wrong.iter().take(10).collect::<Vec<_>>());
        assert_eq!((compared, refused), (11_714, 737));
    }

    #[test]
    fn names_that_are_like_something_else_are_quoted() {
        for name in
            ["0x1p-2", "0x1P4", "0X_F", "2026-11-20", "1e3", "0o7", "0b1", "Infinity", "nan", "T", "on", "1_000", "-1", "a b", "", "a:"]
        {
            assert!(needs_quotes(name), "{name}");
        }
        for name in ["app.kubernetes.io/name", "f1", "0x1p", "2026-13-1", "2026-02-30", "1e999", "_", "ü", "not", "0b2"] {
            assert!(!needs_quotes(name), "{name}");
        }
    }

    #[test]
    fn numbers_are_those_of_go() {
        for (number, wanted) in
            [("1.50", "1.5"), ("1e3", "1000"), ("1E-7", "1e-7"), ("-2.5e+22", "-2.5e+22"), ("18446744073709551616", "18446744073709551616")]
        {
            assert_eq!(number_text(&serde_json::from_str(number).unwrap()), wanted);
        }
    }
}

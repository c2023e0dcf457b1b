//! Whole objects as documents: what is left out of them, and how many become one `List`.

use std::io::{self, Write};

use serde_json::Value;

use crate::render::{json, secret, yaml};

/// Takes out of an object what is not to be shown: `managedFields`, and the values of a Secret.
pub fn prepare(object: &mut Value, hides_managed_fields: bool, hides_secrets: bool) {
    if hides_managed_fields && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    if hides_secrets {
        secret::mask(object);
    }
}

/// As [`prepare`], on an object as compact JSON text; only a Secret that must be masked is read into an object.
pub fn prepare_text(text: Vec<u8>, hides_managed_fields: bool, hides_secrets: bool) -> Vec<u8> {
    if hides_secrets
        && contains(&text, br#""kind":"Secret""#)
        && let Ok(mut object) = serde_json::from_slice::<Value>(&text)
    {
        prepare(&mut object, hides_managed_fields, hides_secrets);
        return json::compact(&object).into_bytes();
    }
    if hides_managed_fields { without_managed_fields(text) } else { text }
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// Cuts the member `managedFields` out of `metadata`.
fn without_managed_fields(mut text: Vec<u8>) -> Vec<u8> {
    let found = member(&text, 0, b"metadata").and_then(|(_, metadata)| member(&text, metadata.start, b"managedFields"));
    if let Some((name, value)) = found {
        let (mut start, mut end) = (name, value.end);
        match text.get(end) {
            Some(b',') => end += 1,
            _ if start > 0 && text[start - 1] == b',' => start -= 1,
            _ => {}
        }
        text.drain(start..end);
    }
    text
}

/// Finds a member of the object that begins at `start`: where its name begins, and its value.
fn member(text: &[u8], start: usize, wanted: &[u8]) -> Option<(usize, std::ops::Range<usize>)> {
    let mut at = start + 1;
    while *text.get(at)? == b'"' {
        let name = at;
        let value = value_end(text, name)? + 1;
        let end = value_end(text, value)?;
        if &text[name + 1..value - 2] == wanted {
            return Some((name, value..end));
        }
        at = end + usize::from(text.get(end) == Some(&b','));
    }
    None
}

/// Returns where the value that begins at `start` ends. The text is valid and compact.
fn value_end(text: &[u8], start: usize) -> Option<usize> {
    let (mut depth, mut at) = (0usize, start);
    loop {
        match *text.get(at)? {
            b'"' => {
                at += 1;
                while *text.get(at)? != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return Some(at),
            _ => {}
        }
        at += 1;
        let is_whole = depth == 0 && matches!(text[at - 1], b'"' | b'}' | b']');
        if is_whole {
            return Some(at);
        }
    }
}

/// How a `v1 List` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListForm {
    /// JSON, indented by four.
    Json,
    /// YAML.
    Yaml,
}

impl ListForm {
    /// Writes an item, and before the first one the list's head.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_item(self, object: &Value, is_first: bool, out: &mut dyn Write) -> io::Result<()> {
        if is_first {
            out.write_all(match self {
                Self::Json => b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [",
                Self::Yaml => b"apiVersion: v1\nitems:\n".as_slice(),
            })?;
        }
        let mut text = Vec::new();
        match self {
            Self::Json => {
                out.write_all(if is_first { b"\n" } else { b",\n" })?;
                json::write_pretty(object, &mut text)?;
                write_indented(&text, b"        ", b"        ", out)
            }
            Self::Yaml => {
                yaml::write(object, &mut text)?;
                let text = text.strip_suffix(b"\n").unwrap_or(&text);
                write_indented(text, b"- ", b"  ", out)?;
                out.write_all(b"\n")
            }
        }
    }

    /// Writes the list's end.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_end(self, is_empty: bool, out: &mut dyn Write) -> io::Result<()> {
        let head: &[u8] = match (self, is_empty) {
            (Self::Json, true) => b"{\n    \"apiVersion\": \"v1\",\n    \"items\": []",
            (Self::Json, false) => b"\n    ]",
            (Self::Yaml, true) => b"apiVersion: v1\nitems: []\n",
            (Self::Yaml, false) => b"",
        };
        out.write_all(head)?;
        out.write_all(match self {
            Self::Json => b",\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n".as_slice(),
            Self::Yaml => b"kind: List\nmetadata:\n  resourceVersion: \"\"\n",
        })
    }
}

/// Writes lines, the first after `first`, the others after `other`; empty lines stay empty.
fn write_indented(text: &[u8], first: &[u8], other: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        if index > 0 {
            out.write_all(b"\n")?;
        }
        if index == 0 || !line.is_empty() {
            out.write_all(if index == 0 { first } else { other })?;
        }
        out.write_all(line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str) {
        let mut wanted: Value = serde_json::from_str(text).unwrap();
        prepare(&mut wanted, true, true);
        let found = prepare_text(text.as_bytes().to_vec(), true, true);
        assert_eq!(serde_json::from_slice::<Value>(&found).unwrap(), wanted, "{text}");
    }

    #[test]
    fn text_and_object_lose_the_same() {
        check(
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"}\"]"},"managedFields":[{"a":"]}"}],"name":"x"},"spec":{"managedFields":1}}"#,
        );
        check(r#"{"metadata":{"managedFields":[],"name":"x"}}"#);
        check(r#"{"metadata":{"annotations":{"managedFields":"kept"},"managedFields":[[{}]]}}"#);
        check(r#"{"metadata":{"managedFields":[{"x":1}]}}"#);
        check(r#"{"metadata":{"name":"x"},"n":-1.5e3,"t":true}"#);
        check(r#"{"metadata":{},"items":[]}"#);
        check(r#"{"n":1}"#);
        check(r#"{}"#);
        check(r#"{"data":{"a":"c2VjcmV0"},"kind":"Secret","metadata":{"managedFields":[1],"name":"x"}}"#);
    }

    #[test]
    fn lists_are_whole_documents() {
        for count in 0..3 {
            let items: Vec<Value> = (0..count).map(|n| json!({"kind": "Pod", "text": "a\n\nb\n", "n": n})).collect();
            let wanted = json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}});
            let whole = |form: ListForm| {
                let mut out = Vec::new();
                items.iter().enumerate().for_each(|(index, item)| form.write_item(item, index == 0, &mut out).unwrap());
                form.write_end(items.is_empty(), &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            let mut pretty = Vec::new();
            json::write_pretty(&wanted, &mut pretty).unwrap();
            assert_eq!(whole(ListForm::Json), String::from_utf8(pretty).unwrap() + "\n");
            assert_eq!(serde_saphyr::from_str::<Value>(&whole(ListForm::Yaml)).unwrap(), wanted, "{}", whole(ListForm::Yaml));
        }
    }
}

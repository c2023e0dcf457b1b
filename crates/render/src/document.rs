//! Whole objects as documents: which fields are left out, and how several of them become one `List`.

use std::io::{self, Write};

use serde_json::Value;

use crate::contract::window::HistoryWindow;
use crate::{json, kyaml, yaml};
use ketcd_history::diff::ManagedFields;
use ketcd_kube::Object;

/// An object as it is shown: without `managedFields`, unless they are asked for.
pub fn shown(mut object: Object, managed_fields: ManagedFields) -> Value {
    if managed_fields == ManagedFields::Hidden {
        object.remove_managed_fields();
    }
    object.into_value()
}

/// How a `v1 List` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListForm {
    /// JSON, indented by four.
    Json,
    /// YAML.
    Yaml,
    /// KYAML.
    Kyaml,
}

impl ListForm {
    /// Writes an item; the first one is preceded by the head of the list.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_item(self, object: &Value, is_first: bool, out: &mut dyn Write) -> io::Result<()> {
        if is_first {
            out.write_all(match self {
                Self::Json => b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [",
                Self::Yaml => b"apiVersion: v1\nitems:\n".as_slice(),
                Self::Kyaml => b"---\n{\n  apiVersion: \"v1\",\n  items: [",
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
            Self::Kyaml => {
                out.write_all(if is_first { b"" } else { b", " })?;
                kyaml::write_nested(object, 1, out)
            }
        }
    }

    /// Writes the list's end; JSON says in it which stretch of history was asked for.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_end(self, is_empty: bool, window: Option<HistoryWindow>, out: &mut dyn Write) -> io::Result<()> {
        let head: &[u8] = match (self, is_empty) {
            (Self::Json, true) => b"{\n    \"apiVersion\": \"v1\",\n    \"items\": []",
            (Self::Json, false) => b"\n    ]",
            (Self::Yaml, true) => b"apiVersion: v1\nitems: []\n",
            (Self::Yaml, false) => b"",
            (Self::Kyaml, true) => b"---\n{\n  apiVersion: \"v1\",\n  items: []",
            (Self::Kyaml, false) => b"]",
        };
        out.write_all(head)?;
        out.write_all(match self {
            Self::Yaml => return out.write_all(b"kind: List\nmetadata:\n  resourceVersion: \"\"\n"),
            Self::Kyaml => return out.write_all(b",\n  kind: \"List\",\n  metadata: {\n    resourceVersion: \"\",\n  },\n}\n"),
            Self::Json => b",\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }",
        })?;
        if let Some(window) = window {
            let mut text = Vec::new();
            json::write_pretty(&window, &mut text)?;
            out.write_all(b",\n    \"window\": ")?;
            write_indented(&text, b"", b"    ", out)?;
        }
        out.write_all(b"\n}\n")
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

    #[test]
    fn lists_are_whole_documents() {
        for count in 0..3 {
            let items: Vec<Value> = (0..count).map(|n| json!({"kind": "Pod", "text": "a\n\nb\n", "n": n})).collect();
            let wanted = json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}});
            let whole = |form: ListForm| {
                let mut out = Vec::new();
                items.iter().enumerate().for_each(|(index, item)| form.write_item(item, index == 0, &mut out).unwrap());
                form.write_end(items.is_empty(), None, &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            let mut pretty = Vec::new();
            json::write_pretty(&wanted, &mut pretty).unwrap();
            assert_eq!(whole(ListForm::Json), String::from_utf8(pretty).unwrap() + "\n");
            assert_eq!(serde_saphyr::from_str::<Value>(&whole(ListForm::Yaml)).unwrap(), wanted, "{}", whole(ListForm::Yaml));
            let mut strict = Vec::new();
            kyaml::write(&wanted, &mut strict).unwrap();
            assert_eq!(whole(ListForm::Kyaml), String::from_utf8(strict).unwrap());
        }
    }
}

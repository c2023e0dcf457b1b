//! Any other object: its fields as YAML, without what stands elsewhere on the page.

use std::io;

use serde_json::{Map, Value};

use super::page::Page;
use crate::yaml;

pub(super) fn add(object: &Value, page: &mut Page) -> io::Result<()> {
    let mut fields: Map<String, Value> = object.as_object().cloned().unwrap_or_default();
    ["apiVersion", "kind", "metadata"].iter().for_each(|field| drop(fields.remove(*field)));
    if let Some(status) = fields.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("conditions");
        if status.is_empty() {
            fields.remove("status");
        }
    }
    if fields.is_empty() {
        return Ok(());
    }
    let mut text = Vec::new();
    yaml::write(&Value::Object(fields), &mut text)?;
    page.text(String::from_utf8(text).map_err(io::Error::other)?);
    Ok(())
}

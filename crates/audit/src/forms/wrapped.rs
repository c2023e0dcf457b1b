//! Events that are text in a member of another document: CloudWatch, and Azure's diagnostic settings.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Record, read_at};
use crate::names::Names;

/// Members that hold an event as text: of CloudWatch's events and queries, of Azure's older table.
const TEXTS: [&str; 4] = ["message", "@message", "log_s", "log"];

/// The event that is in a member of a document.
pub(super) fn of_members(
    members: &HashMap<&str, &RawValue>,
    names: &mut Names,
    read: impl Fn(&[u8], &mut Names) -> Record,
) -> Option<Record> {
    if let Some(found) = TEXTS.iter().find_map(|name| members.get(name)) {
        return Some(of_text(found, names, &read));
    }
    // Azure's diagnostic settings to a storage account or an event hub: {"category": "kube-audit", "properties": {"log": "…"}}.
    let properties: HashMap<&str, &RawValue> = serde_json::from_str(members.get("properties")?.get()).ok()?;
    properties.get("log").map(|log| of_text(log, names, &read))
}

/// An event in a text, or in the place of one.
fn of_text(text: &RawValue, names: &mut Names, read: impl Fn(&[u8], &mut Names) -> Record) -> Record {
    if text.get().starts_with('{') {
        return read(text.get().as_bytes(), names);
    }
    match serde_json::from_str::<Cow<'_, str>>(text.get()) {
        Ok(text) if text.trim_start().starts_with('{') => read(text.trim().as_bytes(), names),
        // A line of another component's log, which CloudWatch and Azure keep with it.
        Ok(_) => Record::Other,
        Err(_) => Record::Unknown("has no event in it".to_owned()),
    }
}

/// A member of what a query of CloudWatch returns.
#[derive(Deserialize)]
struct Field<'a> {
    #[serde(borrow)]
    field: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

/// The event in what a query of CloudWatch returns of it: `[{"field": "@message", "value": "…"}]`.
pub(super) fn of_fields(record: &[u8], names: &mut Names, depth: usize) -> Record {
    let Ok(fields) = serde_json::from_slice::<Vec<Field<'_>>>(record) else {
        return Record::Unknown("is not an audit event".to_owned());
    };
    match fields.iter().find(|field| field.field == "@message") {
        Some(field) => of_line(&field.value, names, depth + 1),
        None => Record::Unknown("has no @message".to_owned()),
    }
}

/// The event in a row of a table with columns of these names, where one of them holds it as text.
pub(crate) fn event_in_row<'r>(columns: &[String], cell: impl Fn(usize) -> &'r str, names: &mut Names) -> Option<Record> {
    let column = columns.iter().position(|column| TEXTS.contains(&column.as_str()))?;
    Some(of_line(cell(column), names, 1))
}

/// An event, or a line of another component's log.
fn of_line(text: &str, names: &mut Names, depth: usize) -> Record {
    if text.trim_start().starts_with('{') { read_at(text.trim().as_bytes(), names, depth) } else { Record::Other }
}

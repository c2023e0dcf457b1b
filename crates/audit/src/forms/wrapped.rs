//! Events that are text in a member of another document: CloudWatch, and Azure's diagnostic settings.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Record, read_at};
use crate::container_log::{self, LinePart};
use crate::names::Names;

/// Members that hold an event as text: of CloudWatch's events and queries, of Azure's older table, of what Loki and Splunk print of a line.
const TEXT_MEMBERS: [&str; 6] = ["message", "@message", "log_s", "log", "line", "_raw"];

/// Columns of tables that do so too: Grafana's, and those of Kibana.
const TEXT_COLUMNS: [&str; 3] = ["Line", "event.original", "_source"];

/// Whether a column of a table holds events as text, by its name.
pub(crate) fn is_text_column(name: &str) -> bool {
    TEXT_MEMBERS.contains(&name) || TEXT_COLUMNS.contains(&name)
}

/// The event that is in a member of a document.
pub(super) fn of_members(
    members: &HashMap<&str, &RawValue>,
    names: &mut Names,
    read: impl Fn(&[u8], &mut Names) -> Record,
) -> Option<Record> {
    if let Some(found) = TEXT_MEMBERS.iter().find_map(|name| members.get(name)) {
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
        Ok(text) if program_line(&text).starts_with('{') => read(program_line(&text).as_bytes(), names),
        // A line of another component's log, which CloudWatch and Azure keep with it.
        Ok(_) => Record::Line,
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

/// The event in what a query of CloudWatch returns of it: `[{"field": "@message", "value": "…"}]`; of Loki `["TIME", "…"]`, perhaps with labels.
pub(super) fn of_fields(record: &[u8], names: &mut Names, depth: usize) -> Record {
    if let Ok([_, line, ..]) = serde_json::from_slice::<Vec<&RawValue>>(record).as_deref()
        && let Ok(line) = serde_json::from_str::<Cow<'_, str>>(line.get())
    {
        return of_line(&line, names, depth + 1);
    }
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
    let column = columns.iter().position(|column| is_text_column(column))?;
    Some(of_line(cell(column), names, 1))
}

/// An event, or a line of another component's log.
fn of_line(text: &str, names: &mut Names, depth: usize) -> Record {
    let text = program_line(text);
    if text.starts_with('{') { read_at(text.as_bytes(), names, depth) } else { Record::Line }
}

/// What a program wrote, of a line as it is or as a container's runtime keeps it.
pub(super) fn program_line(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with('{') {
        return text;
    }
    match container_log::part(text.as_bytes()) {
        Some(LinePart { content: Cow::Borrowed(content), .. }) => std::str::from_utf8(content).unwrap_or(text),
        _ => text,
    }
}

//! Exports as tables: Azure's with a column for each member, CloudWatch's queries with the event as text in one. As CSV, or as JSON whose rows are
//! lists, as Azure Monitor's REST interface answers a query.

use std::borrow::Cow;
use std::io::Read;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::forms::{Record, event_in_row, event_of_row, is_text_column};
use crate::names::Names;
use crate::splitter::is_of_event;

/// Whether a line is the header of a table that has one column, which holds events as text.
pub(crate) fn is_column_of_events(header: &[u8]) -> bool {
    let name = header.trim_ascii();
    let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name);
    std::str::from_utf8(name).is_ok_and(is_text_column)
}

/// Reads the rows of a table; `take` gets each with the line it begins on, and whether an event is in it.
pub(crate) fn read(from: impl Read, names: &mut Names, take: &mut dyn FnMut(u64, Record, bool)) {
    let mut table = csv::ReaderBuilder::new().flexible(true).from_reader(from);
    let columns: Vec<String> = match table.headers() {
        Ok(headers) => headers.iter().map(|name| name.trim_start_matches('\u{feff}').trim_end_matches(" [UTC]").to_owned()).collect(),
        Err(error) => return take(1, Record::Unknown(format!("has no header: {error}")), true),
    };
    let mut row = csv::StringRecord::new();
    loop {
        let line = table.position().line();
        match table.read_record(&mut row) {
            Ok(false) => return,
            Ok(true) => {
                let found = event(&columns, |column| row.get(column).unwrap_or_default(), names);
                take(line, found, is_of_event(row.as_slice().as_bytes()));
            }
            Err(error) => {
                let is_text = matches!(error.kind(), csv::ErrorKind::Utf8 { .. });
                take(line, Record::Unknown(format!("cannot be read: {error}")), true);
                if !is_text {
                    return;
                }
            }
        }
    }
}

/// The names of the columns that a heading of JSON has; nothing where it has none.
pub(crate) fn columns(heading: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Heading {
        columns: Vec<Column>,
    }
    #[derive(Deserialize)]
    struct Column {
        name: String,
    }
    let mut whole = heading.trim_ascii_end().to_vec();
    whole.pop_if(|last| *last == b',');
    whole.push(b'}');
    serde_json::from_slice(&whole)
        .map_or_else(|_| Vec::new(), |Heading { columns }| columns.into_iter().map(|column| column.name).collect())
}

pub(crate) fn read_row(row: &[u8], columns: &[String], names: &mut Names) -> Record {
    let cells: Vec<&RawValue> = match serde_json::from_slice(row) {
        Ok(cells) => cells,
        Err(error) => return Record::Unknown(format!("is not JSON: {error}")),
    };
    let text = |cell: &&'_ RawValue| match cell.get() {
        "null" => Cow::Borrowed(""),
        text if text.starts_with('"') => serde_json::from_str(text).map_or(Cow::Borrowed(""), Cow::Owned),
        text => Cow::Owned(text.to_owned()),
    };
    let cells: Vec<Cow<'_, str>> = cells.iter().map(text).collect();
    event(columns, |column| cells.get(column).map_or("", |cell| cell), names)
}

fn event<'r>(columns: &[String], cell: impl Fn(usize) -> &'r str, names: &mut Names) -> Record {
    let found = event_in_row(columns, &cell, names).or_else(|| event_of_row(columns, &cell, names));
    found.unwrap_or_else(|| Record::Unknown("is not an audit event".to_owned()))
}

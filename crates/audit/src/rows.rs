//! Exports as tables: Azure's with a column for each member, CloudWatch's queries with the event as text in one. As CSV, or as JSON whose rows are
//! lists, as Azure Monitor's REST interface answers a query.

use std::borrow::Cow;
use std::io::Read;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::forms::{Record, event_in_row, event_of_row};
use crate::names::Names;

/// Reads the rows of a table; `take` gets each with the line it begins on.
pub(crate) fn read(from: impl Read, names: &mut Names, take: &mut dyn FnMut(u64, Record)) {
    let mut table = csv::ReaderBuilder::new().flexible(true).from_reader(from);
    let columns: Vec<String> = match table.headers() {
        Ok(headers) => headers.iter().map(|name| name.trim_start_matches('\u{feff}').trim_end_matches(" [UTC]").to_owned()).collect(),
        Err(error) => return take(1, Record::Unknown(format!("has no header: {error}"))),
    };
    let mut row = csv::StringRecord::new();
    loop {
        let line = table.position().line();
        match table.read_record(&mut row) {
            Ok(false) => return,
            Ok(true) => {
                take(line, event(&columns, |column| row.get(column).unwrap_or_default(), names));
            }
            Err(error) => {
                let is_text = matches!(error.kind(), csv::ErrorKind::Utf8 { .. });
                take(line, Record::Unknown(format!("cannot be read: {error}")));
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

/// Reads a row of JSON.
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

//! Exports as CSV: Azure's tables with a column for each member, CloudWatch's queries with the event as text in one.

use std::io::Read;

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
                let cell = |column: usize| row.get(column).unwrap_or_default();
                let found = event_in_row(&columns, cell, names).or_else(|| event_of_row(&columns, cell, names));
                take(line, found.unwrap_or_else(|| Record::Unknown("is not an audit event".to_owned())));
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

//! Rows whose last column is prose: on a terminal it is broken into lines that stay in their column.

use std::io::{self, Write};

use super::tab_writer::{ColumnWidths, TabbedLines};
use crate::value::{broken, columns};

/// Prose does not fit a column narrower than this: it goes below its row.
const MIN_PROSE_COLUMNS: usize = 20;

/// What stands before prose that has a line of its own.
const PROSE_MARGIN: &str = "    ";

/// Writes rows below earlier ones, which had these widths, within this many columns.
///
/// # Errors
/// The stream's.
pub fn write_wrapped(rows: Vec<Vec<String>>, widths: &mut ColumnWidths, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let Some(width) = width else { return write_rows(&rows, widths, out) };
    let room = width.saturating_sub(widths.before_last(&rows));
    let below = width.saturating_sub(PROSE_MARGIN.len()).max(MIN_PROSE_COLUMNS);
    let mut lines = TabbedLines::default();
    for mut row in rows {
        let prose = row.pop().unwrap_or_default();
        if room < MIN_PROSE_COLUMNS && columns(&prose) > room {
            lines.push(&row);
            broken(&prose, below).iter().for_each(|part| lines.push([format!("{PROSE_MARGIN}{part}")]));
            continue;
        }
        let parts = if columns(&prose) > room { broken(&prose, room) } else { vec![prose] };
        for (place, part) in parts.into_iter().enumerate() {
            let cells = row.iter().map(|cell| if place == 0 { cell.as_str() } else { "" });
            lines.push(cells.chain([part.as_str()]));
        }
    }
    lines.write_below(widths, out)
}

fn write_rows(rows: &[Vec<String>], widths: &mut ColumnWidths, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = TabbedLines::default();
    rows.iter().for_each(|row| lines.push(row));
    lines.write_below(widths, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(width: Option<usize>, wanted: &str) {
        let rows = [["NAME", "MESSAGE"], ["web-0", "one two three four five six"]];
        let rows = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        let mut out = Vec::new();
        write_wrapped(rows, &mut ColumnWidths::default(), width, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn prose_stays_in_its_column_or_goes_below() {
        check(None, "NAME    MESSAGE\nweb-0   one two three four five six\n");
        check(Some(30), "NAME    MESSAGE\nweb-0   one two three four\n        five six\n");
        check(Some(25), "NAME   MESSAGE\nweb-0\n    one two three four\n    five six\n");
    }
}

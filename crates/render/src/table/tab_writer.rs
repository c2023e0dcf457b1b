//! Aligning cells as kubectl's tab writer does: each column is as wide as its widest cell and three blanks, at least six.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::style::{Style, paint};
use crate::value::padded;
use crate::visible::visible;

/// Width that every column has at least, and blanks after its widest cell (cli-runtime pkg/printers/tabwriter.go).
const MIN_COLUMN_WIDTH: usize = 6;
const COLUMN_PADDING: usize = 3;

/// Writes the rows. A cell ends at its first line end (then `...` follows), and a tab in a cell begins another cell, as in kubectl; what
/// could drive a terminal is escaped.
///
/// # Errors
/// The stream's.
pub fn write_aligned(rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let mut lines = TabbedLines::default();
    rows.iter().for_each(|row| lines.push(row));
    lines.write(out)
}

/// What becomes of text in cells that is not one harmless line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellText {
    /// It ends at the first line end; what is left is escaped. A tab begins another cell.
    #[default]
    Cut,
    /// It is escaped, line ends and tabs too.
    Escaped,
    /// It stays as it is: a line end begins another row, a tab another cell.
    Raw,
}

/// How wide the columns of earlier rows were, so that later rows align with them.
#[derive(Clone, Debug, Default)]
pub struct ColumnWidths(Vec<usize>);

impl ColumnWidths {
    /// How wide all columns but the last are together, with these rows and those before them.
    pub fn before_last(&self, rows: &[Vec<String>]) -> usize {
        let count = rows.iter().map(|row| row.len().saturating_sub(1)).max().unwrap_or(0);
        let cell = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| visible(cell).chars().count());
        let own = |column: usize| rows.iter().map(|row| cell(row, column) + COLUMN_PADDING).max().unwrap_or(0).max(MIN_COLUMN_WIDTH);
        (0..count).map(|column| own(column).max(self.0.get(column).copied().unwrap_or(0))).sum()
    }
}

/// Rows on their way to being aligned, as text: cells with tabs between them.
#[derive(Default)]
pub struct TabbedLines {
    cell_text: CellText,
    text: String,
    /// Where each line ends in `text`.
    ends: Vec<usize>,
    /// The styles of cells: by line, the cell's place and its style.
    styles: BTreeMap<usize, (usize, Style)>,
}

/// A line on its way to being aligned.
#[derive(Clone, Copy)]
struct AlignedLine<'a> {
    text: &'a str,
    style: Option<(usize, Style)>,
}

impl TabbedLines {
    /// No rows yet, of cells that hold text of this kind.
    pub fn of(cell_text: CellText) -> Self {
        Self { cell_text, ..Self::default() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                self.text.push('\t');
            }
            self.push_cell(cell.as_ref());
        }
        self.ends.push(self.text.len());
    }

    /// Adds a row of which one cell has a style.
    pub(crate) fn push_styled(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>, cell: usize, style: Style) {
        self.styles.insert(self.ends.len(), (cell, style));
        self.push(cells);
    }

    fn push_cell(&mut self, cell: &str) {
        match self.cell_text {
            CellText::Escaped => self.text.push_str(&visible(cell)),
            CellText::Raw => {
                for (index, line) in cell.split('\n').enumerate() {
                    if index > 0 {
                        self.ends.push(self.text.len());
                    }
                    self.text.push_str(line);
                }
            }
            CellText::Cut => {
                let end = cell.find(['\u{c}', '\n', '\r']);
                for (index, part) in cell[..end.unwrap_or(cell.len())].split('\t').enumerate() {
                    self.text.push_str(if index > 0 { "\t" } else { "" });
                    self.text.push_str(&visible(part));
                }
                self.text.push_str(if end.is_some() { "..." } else { "" });
            }
        }
    }

    /// Writes all rows, as [`write_aligned`].
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_block(&self.lines(), &mut Vec::new(), out)
    }

    /// Writes all rows in columns at least as wide as those of earlier rows, as kubectl does while it watches.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_below(&self, widths: &mut ColumnWidths, out: &mut dyn Write) -> io::Result<()> {
        let lines = self.lines();
        for line in &lines {
            // The last cell of a line belongs to no column.
            let cells: Vec<&str> = line.text.split('\t').collect();
            for (column, cell) in cells[..cells.len() - 1].iter().enumerate() {
                let width = (cell.chars().count() + COLUMN_PADDING).max(MIN_COLUMN_WIDTH);
                match widths.0.get_mut(column) {
                    Some(known) => *known = width.max(*known),
                    None => widths.0.push(width),
                }
            }
        }
        lines.iter().try_for_each(|line| {
            let columns = line.text.matches('\t').count().min(widths.0.len());
            write_line(*line, &widths.0[..columns], out)
        })
    }

    fn lines(&self) -> Vec<AlignedLine<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lines = starts.zip(&self.ends).enumerate();
        lines.map(|(place, (start, &end))| AlignedLine { text: &self.text[start..end], style: self.styles.get(&place).copied() }).collect()
    }
}

/// Writes lines whose first columns have the widths known so far. Neighbouring lines that go on with another column form a block,
/// and share that column's width.
fn write_block(lines: &[AlignedLine<'_>], widths: &mut Vec<usize>, out: &mut dyn Write) -> io::Result<()> {
    let column = widths.len();
    // The last cell of a line belongs to no column.
    let cell = |line: &AlignedLine<'_>| {
        let (end, _) = line.text.match_indices('\t').nth(column)?;
        Some(line.text[..end].rsplit('\t').next().unwrap_or("").chars().count())
    };
    let mut rest = lines;
    while let Some(line) = rest.first() {
        let (mut widest, mut length) = (0, 0);
        while let Some(width) = rest.get(length).and_then(&cell) {
            widest = widest.max(width);
            length += 1;
        }
        if length == 0 {
            write_line(*line, widths, out)?;
            rest = &rest[1..];
            continue;
        }
        widths.push((widest + COLUMN_PADDING).max(MIN_COLUMN_WIDTH));
        write_block(&rest[..length], widths, out)?;
        widths.pop();
        rest = &rest[length..];
    }
    Ok(())
}

fn write_line(line: AlignedLine<'_>, widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
    for (place, cell) in line.text.split('\t').enumerate() {
        let padded = widths.get(place).map_or(Cow::Borrowed(cell), |&width| Cow::Owned(padded(cell, width)));
        match line.style.filter(|(styled, _)| *styled == place && !cell.is_empty()) {
            // Blanks have no style.
            Some((_, style)) => write!(out, "{}{}", paint(style, cell), &padded[cell.len()..])?,
            None => out.write_all(padded.as_bytes())?,
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[&[&str]], wanted: &str) {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        let mut out = Vec::new();
        write_aligned(&rows, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn tab_writer_aligns_columns() {
        check(&[&["NAME", "AGE"], &["web-0-long", "5s"]], "NAME         AGE\nweb-0-long   5s\n");
        check(&[&["A", "B", "C"], &["x", "", ""]], "A     B     C\nx           \n");
        check(&[&["ä", "b"]], "ä     b\n");
    }

    #[test]
    fn a_style_takes_no_columns() {
        let mut lines = TabbedLines::default();
        lines.push(["NAME", "STATUS", "AGE"]);
        lines.push_styled(["a", "Failed", "5s"], 1, crate::style::REMOVED);
        let mut out = Vec::new();
        lines.write(&mut out).unwrap();
        let painted = paint(crate::style::REMOVED, "Failed");
        assert_eq!(String::from_utf8(out).unwrap(), format!("NAME   STATUS   AGE\na      {painted}   5s\n"));
    }

    #[test]
    fn later_rows_stand_below_earlier_ones() {
        let mut widths = ColumnWidths::default();
        let mut out = Vec::new();
        for row in [["NAME", "STATUS", "AGE"], ["web-0", "Pending", "5s"], ["web-0", "Running", "6s"]] {
            let mut lines = TabbedLines::default();
            lines.push(row);
            lines.write_below(&mut widths, &mut out).unwrap();
        }
        let wanted = "NAME   STATUS   AGE\nweb-0   Pending   5s\nweb-0   Running   6s\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn tab_writer_aligns_odd_cells() {
        check(&[&["A", "B"], &["x\ny", "\u{1b}[31m"]], "A      B\nx...   \\x1b[31m\n");
        check(&[&["A", "MESSAGE"], &["x", "a\tb"], &["y", "c"]], "A     MESSAGE\nx     a     b\ny     c\n");
    }

    #[test]
    fn a_cell_may_be_of_any_width() {
        let wide = "x".repeat(70_000);
        check(&[&[&wide, "b"]], &format!("{wide}   b\n"));
    }

    #[test]
    fn text_of_users_own_columns_stays_whole() {
        let lines = |cell_text| {
            let mut lines = TabbedLines::of(cell_text);
            lines.push(["a\nb\u{1b}", "c"]);
            let mut out = Vec::new();
            lines.write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(lines(CellText::Raw), "a\nb\u{1b}     c\n".replace("     c", "    c"));
        assert_eq!(lines(CellText::Escaped), "a\\nb\\x1b   c\n");
    }
}

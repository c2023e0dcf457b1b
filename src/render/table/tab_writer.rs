//! Aligning cells as kubectl's tab writer does: each column is as wide as its widest cell and three blanks, at least six.

use std::io::{self, Write};

/// Width that every column has at least, and blanks after its widest cell (cli-runtime pkg/printers/tabwriter.go).
const MINIMUM: usize = 6;
const PADDING: usize = 3;

/// Writes the rows. A cell ends at its first line end (then `...` follows); control sequences are made harmless; a tab in a cell
/// begins another cell, as it does in kubectl.
///
/// # Errors
/// The stream's.
pub fn write_aligned(rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let lines: Vec<Vec<String>> = rows.iter().map(|row| row.iter().flat_map(|cell| clean(cell)).collect()).collect();
    write_block(&lines, &mut Vec::new(), out)
}

fn clean(cell: &str) -> Vec<String> {
    let end = cell.find(['\u{c}', '\n', '\r']);
    let shown = cell[..end.unwrap_or(cell.len())].replace('\u{1b}', "^[");
    let shown = if end.is_some() { shown + "..." } else { shown };
    shown.split('\t').map(str::to_owned).collect()
}

/// Writes lines whose first columns have the widths known so far. Neighbouring lines that go on with another column form a block,
/// and share that column's width.
fn write_block(lines: &[Vec<String>], widths: &mut Vec<usize>, out: &mut dyn Write) -> io::Result<()> {
    let column = widths.len();
    let mut rest = lines;
    while let Some(line) = rest.first() {
        // The last cell of a line belongs to no column.
        let is_inside = |line: &Vec<String>| column + 1 < line.len();
        if !is_inside(line) {
            write_line(line, widths, out)?;
            rest = &rest[1..];
            continue;
        }
        let block = &rest[..rest.iter().position(|line| !is_inside(line)).unwrap_or(rest.len())];
        let widest = block.iter().map(|line| line[column].chars().count() + PADDING).max().unwrap_or(0);
        widths.push(widest.max(MINIMUM));
        write_block(block, widths, out)?;
        widths.pop();
        rest = &rest[block.len()..];
    }
    Ok(())
}

fn write_line(line: &[String], widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
    for (cell, &width) in line.iter().zip(widths) {
        write!(out, "{cell:width$}")?;
    }
    line.iter().skip(widths.len()).try_for_each(|cell| out.write_all(cell.as_bytes()))?;
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
    fn alignment() {
        check(&[&["NAME", "AGE"], &["web-0-long", "5s"]], "NAME         AGE\nweb-0-long   5s\n");
        check(&[&["A", "B", "C"], &["x", "", ""]], "A     B     C\nx           \n");
        check(&[&["ä", "b"]], "ä     b\n");
    }

    #[test]
    fn odd_cells() {
        check(
            &[&["A", "B"], &["x\ny", "\u{1b}[31m"]],
            "A         B\nx...      ^[[31m\n".replace("A         B", "A      B").replace("x...      ", "x...   ").as_str(),
        );
        check(&[&["A", "MESSAGE"], &["x", "a\tb"], &["y", "c"]], "A     MESSAGE\nx     a     b\ny     c\n");
    }
}

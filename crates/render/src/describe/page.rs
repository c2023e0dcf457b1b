//! Fields under headings: labels in one column, values in the next, broken into lines at the terminal's width.

use std::io;

use crate::style::{STRONG, StyledWrite, paint};
use crate::value::{broken, columns, padded};
use crate::visible::visible;

/// Blanks before what stands under a heading, for each level.
const INDENT_COLUMNS: usize = 2;
/// Narrower than this, values are not broken into lines.
const MIN_VALUE_COLUMNS: usize = 20;

/// Lines that are not aligned yet.
pub(super) struct Page {
    width: Option<usize>,
    lines: Vec<DescribedLine>,
    /// What stands below the lines.
    text: Vec<String>,
}

struct DescribedLine {
    level: usize,
    label: String,
    /// One entry per line; `None` for a heading.
    values: Option<Vec<String>>,
}

impl Page {
    /// An empty page of this many columns.
    pub(super) fn new(width: Option<usize>) -> Self {
        Self { width, lines: Vec::new(), text: Vec::new() }
    }

    /// Adds a heading; what follows on deeper levels stands under it.
    pub(super) fn heading(&mut self, level: usize, text: impl Into<String>) {
        self.lines.push(DescribedLine { level, label: text.into(), values: None });
    }

    /// Adds a field, unless its value is empty.
    pub(super) fn field(&mut self, level: usize, label: &str, value: impl Into<String>) {
        self.list(level, label, vec![value.into()]);
    }

    /// Adds a field with several values, one per line; empty ones are left out.
    pub(super) fn list(&mut self, level: usize, label: &str, mut values: Vec<String>) {
        values.retain(|value| !value.is_empty());
        if !values.is_empty() {
            self.lines.push(DescribedLine { level, label: format!("{label}:"), values: Some(values) });
        }
    }

    /// Adds text as it is, after an empty line. It comes from a renderer, so it is already escaped.
    pub(super) fn text(&mut self, text: String) {
        self.text.push(text);
    }

    /// Writes all of it.
    pub(super) fn write(&self, out: &mut dyn StyledWrite) -> io::Result<()> {
        for (place, line) in self.lines.iter().enumerate() {
            let Some(values) = &line.values else {
                let before = if line.level == 0 { "\n" } else { "" };
                let margin = " ".repeat(line.level * INDENT_COLUMNS);
                writeln!(out, "{before}{margin}{}", paint(STRONG, &line.label))?;
                continue;
            };
            let labels = self.beside(place).map(|line| columns(&line.label)).max().unwrap_or(0);
            let margin = line.level * INDENT_COLUMNS;
            let indent = margin + labels + 2;
            let room = self.width.and_then(|width| width.checked_sub(indent)).filter(|&room| room >= MIN_VALUE_COLUMNS);
            let parts = values.iter().flat_map(|value| {
                let value = visible(value);
                room.map_or_else(|| vec![value.clone().into_owned()], |room| broken(&value, room))
            });
            for (place, part) in parts.enumerate() {
                let lead = if place == 0 { format!("{}{}  ", " ".repeat(margin), padded(&line.label, labels)) } else { " ".repeat(indent) };
                writeln!(out, "{}", format!("{lead}{part}").trim_end())?;
            }
        }
        self.text.iter().try_for_each(|text| write!(out, "\n{text}"))
    }

    /// The fields of the same block: those of the same level with no heading between.
    fn beside(&self, place: usize) -> impl Iterator<Item = &DescribedLine> {
        let level = self.lines[place].level;
        let belongs = move |line: &&DescribedLine| line.values.is_some() && line.level == level;
        let before = self.lines[..place].iter().rev().take_while(belongs);
        before.chain(self.lines[place..].iter().take_while(belongs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::plain;

    #[test]
    fn values_stand_in_a_column_and_are_broken_where_the_terminal_ends() {
        let mut page = Page::new(Some(34));
        page.field(0, "A", "x");
        page.list(0, "Long label", vec!["one".to_owned(), "two three four five six seven".to_owned()]);
        page.field(0, "Empty", "");
        page.heading(0, "Below\u{1b}");
        page.field(1, "B", "y\nz");
        let wanted =
            "A:           x\nLong label:  one\n             two three four five\n             six seven\n\nBelow\\x1b\n  B:  y\\nz\n";
        assert_eq!(plain(|out| page.write(out)), wanted);
    }
}

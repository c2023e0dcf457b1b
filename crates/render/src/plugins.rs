//! The scheduling rules as a list and as a page.

use std::io;

use super::style::{FAINT, STRONG, StyledWrite, paint};
use super::value::columns;

pub use super::page::PluginRow;

/// One line a rule; on a terminal of so few columns (`width`) that summaries do not fit, two.
pub fn list(rows: &[PluginRow], width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let name = rows.iter().map(|row| row.name().len()).max().unwrap_or_default().max(4);
    let spans: Vec<[String; 2]> = rows.iter().map(|row| [spans(row.filters()), spans(row.scores())]).collect();
    let widest = |at: usize, least: usize| spans.iter().map(|row| columns(&row[at])).max().unwrap_or_default().max(least);
    let (filters, scores) = (widest(0, 7), widest(1, 6));
    let summary = rows.iter().map(|row| columns(row.summary())).max().unwrap_or_default();
    let is_narrow = width.is_some_and(|width| width < name + filters + scores + 6 + summary);
    let mut line = |head: String, summary: &str| match is_narrow {
        true => writeln!(out, "{}\n    {summary}", head.trim_end()),
        false => writeln!(out, "{head}  {summary}"),
    };
    line(format!("{:name$}  {:filters$}  {:scores$}", "NAME", "FILTERS", "SCORES"), "SUMMARY")?;
    for (row, [filter, score]) in rows.iter().zip(&spans) {
        line(format!("{:name$}  {filter:filters$}  {score:scores$}", row.name()), row.summary())?;
    }
    Ok(())
}

/// The page of one rule; on a terminal of fewer columns (`width`) than the page's, lines are joined to be broken anew.
pub fn page(row: &PluginRow, width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
    writeln!(out, "{}", paint(STRONG, row.name()))?;
    let is_narrow = width.is_some_and(|width| row.page().lines().any(|line| columns(line) > width));
    for line in if is_narrow { joined(row.page()) } else { row.page().lines().map(str::to_owned).collect() } {
        let line = line.as_str();
        let heading = matches!(line, "Checks" | "Reads" | "History" | "Differs from upstream");
        if heading {
            writeln!(out, "\n{}", paint(STRONG, line))?
        } else if !line.is_empty() {
            writeln!(out, "{line}")?
        }
    }
    writeln!(out, "\n{}", paint(STRONG, "In the defaults"))?;
    for (what, minors) in [("filters", row.filters()), ("scores", row.scores())] {
        if !minors.is_empty() {
            writeln!(out, "  {what} {}", spans(minors))?;
        }
    }
    if row.filters().is_empty() && row.scores().is_empty() {
        writeln!(out, "  {}", paint(FAINT, "never"))?;
    }
    Ok(())
}

/// The lines of a page, with those joined that were broken as the next word did not fit; what begins with a release begins a line.
fn joined(page: &str) -> Vec<String> {
    const BROKEN_AT: usize = 120;
    let mut lines: Vec<String> = Vec::new();
    let mut last = 0;
    for line in page.lines() {
        let text = line.trim_start();
        let word = text.split(' ').next().unwrap_or_default();
        let goes_on = last + 1 + columns(word) > BROKEN_AT && !text.starts_with("1.");
        match lines.last_mut().filter(|_| goes_on && !text.is_empty()) {
            Some(before) => before.extend([" ", text]),
            None => lines.push(line.to_owned()),
        }
        last = columns(line);
    }
    lines
}

/// `1.18–1.36`, or several of those.
fn spans(minors: &[u16]) -> String {
    let mut spans: Vec<(u16, u16)> = Vec::new();
    for minor in minors {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == *minor => *last = *minor,
            _ => spans.push((*minor, *minor)),
        }
    }
    let spell = |(first, last): (u16, u16)| if first == last { format!("1.{first}") } else { format!("1.{first}–1.{last}") };
    if spans.is_empty() { "–".to_owned() } else { spans.into_iter().map(spell).collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::spans;

    #[test]
    fn releases_are_joined() {
        assert_eq!(spans(&[18, 19, 20, 22, 25, 26]), "1.18–1.20, 1.22, 1.25–1.26");
        assert_eq!(spans(&[]), "–");
    }
}

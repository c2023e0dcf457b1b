//! Words on a page of limited width: folding, hanging lines, counts.

use std::io;

use crate::style::{Style, StyledWrite, paint};
use crate::value::{beginning, columns};
use crate::visible::visible;
use crate::words::grouped;

/// `1 node`, `4,812 nodes`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// The first of some names, and how many more there are: `n1 n2 n3 and 12 more`; at most this many, and no more than fit into `width` columns.
pub(super) fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>, shown: usize, width: usize) -> String {
    const AND_MORE: usize = "and 1,000 more".len();
    let count = all.len();
    let mut text: Vec<&str> = Vec::new();
    let mut taken = AND_MORE;
    for name in all.take(shown) {
        taken += columns(name) + 1;
        if taken > width && !text.is_empty() {
            break;
        }
        text.push(name);
    }
    let more = count - text.len();
    let text = text.join(" ");
    if more > 0 { format!("{text} and {} more", grouped(more)) } else { text }
}

/// Breaks a text between words so that no line is longer than `width` columns; a word that is longer is cut. What data could do to a
/// terminal is escaped.
pub(super) fn fold(text: &str, width: usize) -> Vec<String> {
    let (text, width) = (visible(text), width.max(1));
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        while columns(word) > width {
            let fits = beginning(word, width);
            // A letter two columns wide does not fit into one column, but must go somewhere.
            let cut = if fits.is_empty() { word.chars().next().map_or(0, char::len_utf8) } else { fits.len() };
            lines.push(word[..cut].to_owned());
            word = &word[cut..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Writes a text after `lead` (already written on its first line where it is not blank), folded, each further line `hang` columns in.
pub(super) fn hanging(lead: &str, text: &str, hang: usize, width: usize, style: Style, out: &mut dyn StyledWrite) -> io::Result<()> {
    let first = width.saturating_sub(columns(lead));
    let mut lines = fold(text, first.max(1)).into_iter();
    let head = lines.next().unwrap_or_default();
    writeln!(out, "{lead}{}", paint(style, &head))?;
    let rest = lines.collect::<Vec<_>>().join(" ");
    if !rest.is_empty() {
        for line in fold(&rest, width.saturating_sub(hang)) {
            writeln!(out, "{:hang$}{}", "", paint(style, line))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([1, 12, 4812, 1_234_567].map(|number| count(number, "node")), ["1 node", "12 nodes", "4,812 nodes", "1,234,567 nodes"]);
        assert_eq!(names(["a", "b", "c"].into_iter(), 2, 80), "a b and 1 more");
        assert_eq!(names(["a", "b"].into_iter(), 2, 80), "a b");
        assert_eq!(names(["long-name", "other-name"].into_iter(), 2, 30), "long-name and 1 more");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(fold("one two three", 7), ["one two", "three"]);
        assert_eq!(fold("an unbreakable", 6), ["an", "unbrea", "kable"]);
        let text = crate::style::plain(|out| hanging("- ", "one two three four", 4, 9, crate::style::PLAIN, out));
        assert_eq!(text, "- one two\n    three\n    four\n");
    }
}

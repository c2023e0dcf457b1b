//! Breaks a line that is wider than the terminal between words, with the rest indented below its beginning.

use unicode_width::UnicodeWidthChar;

use super::style::MARK_CHAR;
use super::visible::is_unsafe;

/// How far a continued line is indented beyond its first.
const HANGING_INDENT: usize = 4;

/// Breaks `line`, which may hold marks of styles, between words into lines of `width` columns; a longer word is broken itself, and
/// continued after `…`. What is continued is indented. A line that fits is returned as it is.
pub fn fold(line: &str, width: usize) -> String {
    let pieces = pieces(line);
    if pieces.iter().map(|piece| piece.width).sum::<usize>() <= width {
        return line.to_owned();
    }
    let own = pieces.iter().take_while(|piece| piece.text == " ").count();
    let indent = (own + HANGING_INDENT).min(width / 2);
    let (mut folded, mut column, mut blanks) = (" ".repeat(own), own, 0);
    let mut rest = &pieces[own..];
    while let Some(first) = rest.first() {
        if first.text == " " {
            (blanks, rest) = (blanks + 1, &rest[1..]);
            continue;
        }
        let (word, after) = rest.split_at(rest.iter().position(|piece| piece.text == " ").unwrap_or(rest.len()));
        let columns: usize = word.iter().map(|piece| piece.width).sum();
        if columns > 0 && column + blanks + columns > width && column > indent {
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            folded.push_str(&" ".repeat(blanks));
            column += blanks;
        }
        blanks = 0;
        for piece in word {
            if column + piece.width > width {
                // Text from data must not look like the beginning of a line.
                folded.push('\n');
                folded.push_str(&" ".repeat(indent));
                folded.push('…');
                column = indent + 1;
            }
            folded.push_str(piece.text);
            column += piece.width;
        }
        rest = after;
    }
    folded
}

/// A character or a mark.
struct StyledChar<'a> {
    text: &'a str,
    width: usize,
}

/// The characters of a line with the columns they take: 0 for a mark, the width of its number for a character shown by number.
fn pieces(line: &str) -> Vec<StyledChar<'_>> {
    let mut pieces = Vec::with_capacity(line.len());
    let mut characters = line.char_indices().peekable();
    while let Some((start, c)) = characters.next() {
        let is_mark = c == MARK_CHAR;
        let second = if is_mark { characters.next() } else { None };
        let end = second.map_or(start + c.len_utf8(), |(at, second)| at + second.len_utf8());
        let width = if is_mark {
            0
        } else if is_unsafe(c) {
            // `\x1b`, `\u202e` or `\U000e0041`.
            match u32::from(c) {
                ..=0xff => 4,
                0x100..=0xffff => 6,
                _ => 10,
            }
        } else {
            c.width().unwrap_or(0)
        };
        pieces.push(StyledChar { text: &line[start..end], width });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{FAINT, paint, plain};

    #[test]
    fn lines_are_broken_between_words_and_hang() {
        assert_eq!(fold("one two three", 13), "one two three");
        assert_eq!(fold("  one  two three four", 14), "  one  two\n      three\n      four");
        assert_eq!(fold("unbreakable-word x", 12), "unbreakable-\n    …word x");
        assert_eq!(fold("a unbreakable-word", 12), "a unbreakabl\n    …e-word");
    }

    #[test]
    fn marks_take_no_columns_and_stay() {
        let line = format!("{} two", paint(FAINT, "one"));
        assert_eq!(fold(&line, 7), line);
        let folded = fold(&format!("{} two", paint(FAINT, "one and")), 9);
        assert_eq!(plain(|out| write!(out, "{folded}")), "one and\n    two");
        assert_eq!(folded.matches(MARK_CHAR).count(), 2);
    }

    #[test]
    fn what_is_shown_by_its_number_takes_its_columns() {
        assert_eq!(fold("abc \u{1b}[x", 10), "abc \u{1b}[x");
        assert_eq!(fold("abc \u{1b}xx", 9), "abc \u{1b}x\n    …x");
    }
}

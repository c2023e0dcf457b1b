//! What colours mean; renderers name the meaning, never the colour.
//!
//! A renderer writes no escape sequence: `paint` puts marks around the text, two noncharacters of Unicode each. It writes to a
//! [`StyledWrite`], which drops the marks ([`Plain`]) or makes them a terminal's sequences ([`Ansi`]), so that none leaves this crate.
//! Text from data cannot imitate a style, because it is escaped.

mod screen;

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style as Sequence};

use super::visible::Visible;
use ketcd_history::state::Tone;

pub use screen::{Ansi, Content, Plain, Screen, StyledWrite};

/// A meaning that a terminal shows by colour or weight: a place in the table of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style(usize);

/// Something was created: an object, a field.
pub(crate) const ADDED: Style = Style(0);
/// Something went away, or is refused.
pub(crate) const REMOVED: Style = Style(1);
pub(crate) const CHANGED: Style = Style(2);
/// What a reader should see first: the answer, a column's header.
pub(crate) const STRONG: Style = Style(3);
/// Context that may be skipped.
pub(crate) const FAINT: Style = Style(4);
pub(crate) const ACTOR: Style = Style(5);
/// A doubt or a gap that must not be overlooked.
pub(crate) const WARNING: Style = Style(6);
/// Nothing in particular.
pub(crate) const PLAIN: Style = Style(7);
/// A state that is on its way to another, and nobody's fault.
pub(crate) const UNDER_WAY: Style = Style(8);

/// The style of a state: broken is red, held up yellow, on its way blue, being deleted faint; what is as it should be stands out nowhere.
pub(crate) fn of_tone(tone: Tone) -> Style {
    match tone {
        Tone::Bad => REMOVED,
        Tone::Waiting => CHANGED,
        Tone::Working => UNDER_WAY,
        Tone::Ending => FAINT,
        Tone::Good | Tone::Done | Tone::Neutral => PLAIN,
    }
}

/// The style of a sign before a change.
pub(crate) fn of_sign(sign: char) -> Style {
    match sign {
        '+' => ADDED,
        '-' => REMOVED,
        '~' => CHANGED,
        '?' | '!' => WARNING,
        _ => FAINT,
    }
}

/// The mark that begins each style, and what a terminal shows.
const STYLE_MARKS: [(&str, Sequence); 9] = [
    ("\u{fdd0}\u{fde0}", AnsiColor::Green.on_default()),
    ("\u{fdd0}\u{fde1}", AnsiColor::Red.on_default()),
    ("\u{fdd0}\u{fde2}", AnsiColor::Yellow.on_default()),
    ("\u{fdd0}\u{fde3}", Sequence::new().bold()),
    ("\u{fdd0}\u{fde4}", Sequence::new().dimmed()),
    ("\u{fdd0}\u{fde5}", AnsiColor::Cyan.on_default()),
    ("\u{fdd0}\u{fde6}", AnsiColor::Magenta.on_default()),
    ("\u{fdd0}\u{fde7}", Sequence::new()),
    ("\u{fdd0}\u{fde8}", AnsiColor::BrightBlue.on_default()),
];

pub(crate) const MARK_CHAR: char = '\u{fdd0}';

const END_MARK: &str = "\u{fdd0}\u{fdef}";

/// What a mark stands for, shown as a terminal's sequence: the beginning of a style, or the end of any.
struct Mark(Option<Style>);

impl Mark {
    /// The mark whose second character this is; `None` if there is no such mark.
    fn of(second: char) -> Option<Self> {
        if END_MARK.ends_with(second) {
            return Some(Self(None));
        }
        STYLE_MARKS.iter().position(|(mark, _)| mark.ends_with(second)).map(|place| Self(Some(Style(place))))
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Style(place)) => write!(f, "{}", STYLE_MARKS[place].1.render()),
            None => write!(f, "{}", anstyle::Reset.render()),
        }
    }
}

/// `text` in `style`, on one line and with unsafe characters escaped, for use in a format string.
pub(crate) fn paint<T: fmt::Display>(style: Style, text: T) -> impl fmt::Display {
    Painted { style, text }
}

struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STYLE_MARKS[self.style.0].0)?;
        write!(Visible(&mut *f), "{}", self.text)?;
        f.write_str(END_MARK)
    }
}

/// What is written, as plain text.
#[cfg(test)]
pub(crate) fn plain(write: impl FnOnce(&mut dyn StyledWrite) -> std::io::Result<()>) -> String {
    let mut out = Plain::new(Vec::new());
    write(&mut out).unwrap();
    String::from_utf8(out.into_inner()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_or_begin_a_style() {
        let painted = paint(FAINT, "a\u{1b}[1m\u{fdd0}\u{fdef}\nb").to_string();
        assert_eq!(painted, "\u{fdd0}\u{fde4}a\\x1b[1m\\ufdd0\\ufdef\\nb\u{fdd0}\u{fdef}");
        assert_eq!(plain(|out| out.write_all(painted.as_bytes())), "a\\x1b[1m\\ufdd0\\ufdef\\nb");
    }
}

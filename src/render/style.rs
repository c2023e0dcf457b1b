//! What colours mean; renderers name the meaning, never the colour.

use std::fmt;

use anstyle::{AnsiColor, Style};

/// Something came into being: an object, a field.
pub const ADDED: Style = AnsiColor::Green.on_default();
/// Something went away, or is refused.
pub const REMOVED: Style = AnsiColor::Red.on_default();
/// Something changed.
pub const CHANGED: Style = AnsiColor::Yellow.on_default();
/// What the eye should find first: the answer, a column's header.
pub const STRONG: Style = Style::new().bold();
/// Context that may be skipped.
pub const FAINT: Style = Style::new().dimmed();
/// Who did it.
pub const ACTOR: Style = AnsiColor::Cyan.on_default();
/// A doubt or a gap that must not be overlooked.
pub const WARNING: Style = AnsiColor::Magenta.on_default();

/// `text` in `style`, for use in a format string.
pub fn paint<T: fmt::Display>(style: Style, text: T) -> impl fmt::Display {
    Painted { style, text }
}

struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.style.render(), self.text, self.style.render_reset())
    }
}

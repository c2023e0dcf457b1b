//! The terminal: its size, and how a line is broken to it.

use std::io::{self, IsTerminal};

use terminal_size::{Height, Width};

use crate::cli::invocation::invocation;
use ketcd_render::fit;

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// The columns that the variable `COLUMNS` asks for.
pub(super) fn columns_asked() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns: &usize| columns > 0)
}

/// The size that was found of a stream, if that is a terminal.
pub(super) fn size(stream: &impl IsTerminal, found: Option<(Width, Height)>) -> Option<Size> {
    let (width, height) = found.filter(|_| stream.is_terminal())?;
    Some(Size { columns: width.0.into(), rows: height.0.into() })
}

/// Whether both the output and messages go to a terminal.
pub(in crate::cli) fn are_on_terminal() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// A line in lines of `width` columns. A command at its end stays whole, for it is there to be copied: the terminal breaks it and gives it back whole.
pub(super) fn folded(line: &str, width: usize) -> String {
    let folded = fit::fold(line, width);
    let name = format!("{} ", invocation().program());
    match line.rfind(&name) {
        _ if folded == line => folded,
        Some(at) if line[..at].ends_with(": ") => format!("{}\n    {}", fit::fold(&line[..at - 1], width), &line[at..]),
        // Marks of styles stand before it, and the indent.
        Some(at) if !line[..at].contains(|c: char| c.is_alphanumeric() || c.is_ascii_punctuation()) => line.to_owned(),
        _ => folded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_broken_but_the_command_to_copy_is_not() {
        let note = "ketcd: error: pod \"a\" not found; it exists in namespace \"lab\": ketcd -f some/file.db get pod/lab/a";
        assert_eq!(folded(note, 200), note);
        let broken = "ketcd: error: pod \"a\" not found; it\n    exists in namespace \"lab\":\n    ketcd -f some/file.db get pod/lab/a";
        assert_eq!(folded(note, 36), broken);
        assert_eq!(folded("ketcd: one two", 10), "ketcd: one\n    two");
        let alone = "  ketcd -f some/file.db describe pod/lab/a";
        assert_eq!(folded(alone, 20), alone);
    }
}

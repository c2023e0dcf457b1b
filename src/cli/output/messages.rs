//! Messages on standard error; while text may go through a pager they are kept until that has ended.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use terminal_size::terminal_size_of;

use super::{progress, terminal};
use crate::cli::invocation::spelling;
use crate::cli::outcome::Error;
use ketcd_render::visible::visible;

/// Messages that wait for the text before them, which may go through a pager; `None` where they need not.
static HELD_MESSAGES: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Writes an error as one line on standard error, and below it the commands that help, each as it is to be copied.
pub(in crate::cli) fn report_error(error: &Error) {
    progress::end();
    note(&format!("error: {error}"));
    for command in error.commands_to_copy() {
        emit(&format!("    {}", bounded(&visible(command))));
    }
}

/// Writes how ketcd is used on standard error, where clap writes it too when a command is missing.
pub(in crate::cli) fn report_usage(page: &str) {
    let _ = io::stderr().write_all(page.as_bytes());
}

/// Writes that a panic happened. Nothing is locked, as it may have happened anywhere.
pub(in crate::cli) fn report_panic(place: &str) {
    let problem = "ketcd panicked: this is a bug in ketcd; please report it with the command and the release";
    let _ = writeln!(io::stderr(), "ketcd: error: {problem}: panicked{place}");
}

/// Writes one line on standard error, whatever data is in it; a closed standard error is nobody's problem. On a terminal a line that is
/// too wide is broken between words, but not the command that a hint ends with: it is there to be copied.
pub(in crate::cli) fn note(line: &str) {
    let line = format!("ketcd: {}", bounded(&visible(&spelling::spelled(line))));
    let width = terminal::size(&io::stderr(), terminal_size_of(io::stderr())).map(|size| terminal::columns_asked().unwrap_or(size.columns));
    let line = width.map_or_else(|| line.clone(), |width| terminal::folded(&line, width));
    emit(&line);
}

/// Writes a line of a message as it is; behind text that may be paged, when that has ended.
fn emit(line: &str) {
    if !holds(line) {
        progress::beside(|| {
            let _ = writeln!(io::stderr(), "{line}");
        });
    }
}

/// Keeps messages from now on until the text has ended.
pub(in crate::cli) fn hold() {
    HELD_MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Writes the messages that waited: the text has ended.
pub(super) fn release() {
    let messages = HELD_MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).take();
    messages.into_iter().flatten().for_each(|message| emit(&message));
}

/// Takes the messages that waited: another part of the program passes them on.
pub(in crate::cli) fn taken() -> Vec<String> {
    HELD_MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
}

/// Keeps a message until the text has ended. Returns whether it is kept.
fn holds(message: &str) -> bool {
    let mut held = HELD_MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    held.as_mut().map(|held| held.push(message.to_owned())).is_some()
}

/// A message of no more characters than anyone reads; of a longer one the middle is left out, as its end says what to do.
fn bounded(line: &str) -> Cow<'_, str> {
    const MAX_ERROR_CHARS: usize = 2000;
    const END_CHARS: usize = 400;
    let length = line.chars().count();
    if length <= MAX_ERROR_CHARS {
        return Cow::Borrowed(line);
    }
    let start: String = line.chars().take(MAX_ERROR_CHARS - END_CHARS).collect();
    let end: String = line.chars().skip(length - END_CHARS).collect();
    Cow::Owned(format!("{start} [… {} characters …] {end}", length - MAX_ERROR_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_bounded() {
        assert_eq!(bounded("short"), "short");
        let long = format!("what{}; what to do", "ä".repeat(100_000));
        let said = bounded(&long);
        assert!(said.chars().count() < 2100 && said.starts_with("what") && said.ends_with("what to do"), "{said}");
    }
}

//! What is longer than the terminal goes through a pager, as in git: `KETCD_PAGER`, `PAGER`, else `less`, where there is one.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::messages;
use super::terminal::Size;
use crate::cli::invocation::credential_variables;
use crate::cli::system::process;

/// Where the pager's name is looked for, in this order. One that is empty, or `cat`, says that there is none.
const PAGER_VARIABLES: [&str; 2] = ["KETCD_PAGER", "PAGER"];
/// The pager where no variable names one.
const DEFAULT_PAGER: &str = "less";
/// How `less` behaves where `LESS_FLAGS` does not say it: it ends at once if all fits, shows colours, and leaves the text on the screen.
const LESS_FLAGS: &str = "FRX";

/// Standard output behind a pager that begins when the text is longer than the terminal; until then the text is held back.
pub(in crate::cli) struct Paged<W> {
    inner: W,
    /// The size of the terminal, where a pager may begin.
    size: Option<Size>,
    held: Vec<u8>,
    rows: RowCounter,
    pager: Option<Pager>,
    /// Whether a pager has ended: nothing goes past it to the terminal.
    is_over: bool,
}

struct Pager {
    name: OsString,
    child: Child,
    input: ChildStdin,
}

impl<W: Write> Paged<W> {
    /// Text goes to `inner` until it is paged.
    pub(in crate::cli) fn new(inner: W) -> Self {
        Self { inner, size: None, held: Vec::new(), rows: RowCounter::default(), pager: None, is_over: false }
    }

    /// Pages what is written from now on, if it is longer than a terminal of this size.
    pub(in crate::cli) fn page(&mut self, size: Size) {
        self.size = Some(size);
    }

    /// Writes what is held back; a pager that began is waited for. Then come the messages that waited.
    ///
    /// # Errors
    /// The stream's, or a pager that cannot be run.
    pub(in crate::cli) fn end(&mut self) -> io::Result<()> {
        self.size = None;
        let ended = self.end_pager();
        messages::release();
        ended
    }

    fn end_pager(&mut self) -> io::Result<()> {
        let Some(Pager { name, mut child, input }) = self.pager.take() else {
            self.write_held()?;
            return self.inner.flush();
        };
        self.is_over = true;
        drop(input);
        // What a shell ends with that finds no such program, or may not run it.
        match child.wait()?.code() {
            Some(126 | 127) => {
                let problem = format!("the pager {} cannot be run; --no-pager prints without one", name.display());
                Err(io::Error::other(problem))
            }
            _ => Ok(()),
        }
    }

    fn write_held(&mut self) -> io::Result<()> {
        self.inner.write_all(&std::mem::take(&mut self.held))
    }

    /// Begins a pager with what was held back; without one the text goes on to the terminal.
    fn begin(&mut self) -> io::Result<()> {
        self.size = None;
        match pager() {
            None => self.write_held(),
            Some((name, mut command)) => {
                process::ignore_interrupts();
                let mut child = command.stdin(Stdio::piped()).spawn()?;
                let input = child.stdin.take();
                let Some(mut input) = input else { return self.write_held() };
                let written = input.write_all(&std::mem::take(&mut self.held));
                self.pager = Some(Pager { name, child, input });
                written
            }
        }
    }
}

impl<W: Write> Write for Paged<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(pager) = &mut self.pager {
            return pager.input.write(bytes);
        }
        if self.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let Some(size) = self.size else { return self.inner.write(bytes) };
        self.held.extend_from_slice(bytes);
        self.rows.add(bytes, size.columns);
        // The prompt takes the last row.
        if self.rows.count >= size.rows {
            self.begin()?;
        }
        Ok(bytes.len())
    }

    /// What is held back stays: how long the whole is, is not known before its end.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.pager {
            Some(pager) => pager.input.flush(),
            None if self.size.is_some() => Ok(()),
            None => self.inner.flush(),
        }
    }
}

/// The pager's name and how it is run; `None` if there is none. It gets no credentials of ketcd's sources.
fn pager() -> Option<(OsString, Command)> {
    let named = PAGER_VARIABLES.iter().find_map(env::var_os);
    let name = match named {
        Some(name) => name,
        None if is_in_path(DEFAULT_PAGER) => DEFAULT_PAGER.into(),
        None => return None,
    };
    if name.is_empty() || name == "cat" {
        return None;
    }
    // The name may have arguments.
    let mut command = process::shell(&name);
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS_FLAGS);
    }
    for (name, _) in env::vars_os().filter(|(name, _)| credential_variables::is_variable(name)) {
        command.env_remove(name);
    }
    Some((name, command))
}

fn is_in_path(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder: std::path::PathBuf| Path::new(&folder).join(program).is_file())
}

/// Counts the rows that text takes on a terminal.
#[derive(Default)]
struct RowCounter {
    /// Rows that are full or ended.
    count: usize,
    column: usize,
    /// Whether a terminal's sequence is being passed over.
    in_sequence: bool,
}

impl RowCounter {
    fn add(&mut self, bytes: &[u8], columns: usize) {
        for &byte in bytes {
            match byte {
                b'\n' => {
                    self.count += 1;
                    self.column = 0;
                }
                0x1b => self.in_sequence = true,
                _ if self.in_sequence => self.in_sequence = !byte.is_ascii_alphabetic(),
                // Later bytes of a character.
                0x80..=0xbf => {}
                _ => {
                    if self.column == columns {
                        self.count += 1;
                        self.column = 0;
                    }
                    self.column += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_a_terminal_shows_them() {
        let rows = |text: &str| {
            let mut rows = RowCounter::default();
            text.as_bytes().chunks(2).for_each(|piece| rows.add(piece, 5));
            rows.count
        };
        assert_eq!([rows(""), rows("abc"), rows("abc\n"), rows("abcde\n"), rows("abcdef\n"), rows("a\nb\n")], [0, 0, 1, 1, 2, 2]);
        assert_eq!([rows("\u{1b}[1;31mabcde\u{1b}[0m\n"), rows("äöüßé\n")], [1, 1]);
    }

    #[test]
    fn what_fits_is_written_as_it_is() {
        let mut paged = Paged::new(Vec::new());
        paged.page(Size { columns: 80, rows: 3 });
        paged.write_all(b"a\nb\n").unwrap();
        paged.flush().unwrap();
        assert_eq!(paged.inner, b"");
        paged.end().unwrap();
        assert_eq!(paged.inner, b"a\nb\n");
    }
}

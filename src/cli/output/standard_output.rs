//! Standard output: what a command answers, and the only place that prints it.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anstream::{AutoStream, ColorChoice};
use terminal_size::terminal_size;

use super::format::Color;
use super::pager::Paged;
use super::{messages, progress, terminal};
use crate::cli::system::closed;
use ketcd_render::style::{Content, Screen, StyledWrite};

/// Standard output, buffered. Renderers write to it as to any [`Write`]; what is written is shown as [`Content`] says.
pub(in crate::cli) struct Output {
    /// Buffered on both sides: the screen looks at much text at once, and the terminal gets much at once.
    stream: BufWriter<Screen<Paged<BufWriter<ByteSink>>>>,
    /// Whether a part of the program takes what is written.
    is_kept: bool,
    is_terminal: bool,
    /// Whether it is a pipe, whose reader may write to the same terminal as we do, and may go.
    is_pipe: bool,
    /// How many bytes were written into the pipe.
    piped: usize,
    has_begun: bool,
    /// Whether progress is shown no more.
    is_alone: bool,
    /// Whether progress stays on the screen while something is written.
    is_beside: bool,
    width: Option<usize>,
    /// Where text is broken: at the columns that `COLUMNS` asks for, else at the terminal's.
    edge: Option<usize>,
    /// Whether lines are broken that are wider than that.
    folds: bool,
    /// The beginning of a line that may have to be broken.
    line: Vec<u8>,
    /// Whether it may go through a pager.
    is_paged: bool,
}

/// Where the bytes go.
enum ByteSink {
    StandardOutput(io::Stdout),
    Memory(Kept),
}

/// What is written for a part of the program that passes it on: so many bytes of it.
#[derive(Clone)]
pub(in crate::cli) struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl Kept {
    /// Takes what was written, and whether there was more than room.
    pub(in crate::cli) fn take(&self) -> (Vec<u8>, bool) {
        let mut bytes = std::mem::take(&mut *self.bytes());
        let is_cut = bytes.len() > self.room;
        bytes.truncate(self.room);
        (bytes, is_cut)
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for ByteSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let kept = match self {
            Self::StandardOutput(stdout) => return stdout.write(bytes),
            Self::Memory(kept) => kept,
        };
        let mut held = kept.bytes();
        // Nobody takes the rest, as behind `| head`.
        if held.len() > kept.room {
            return Err(ErrorKind::BrokenPipe.into());
        }
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::StandardOutput(stdout) => stdout.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// Bytes that are gathered.
const BUFFER_BYTES: usize = 1 << 16;

/// The bytes that a pipe gets at once at the beginning: `head` takes what it wants of them, and goes.
const AT_ONCE: usize = 1 << 12;

/// The bytes after which a pipe gets as much at once as a file.
const MAX_EAGER_BYTES: usize = 1 << 17;

impl Output {
    pub(in crate::cli) fn new(color: Color) -> Self {
        let stdout = io::stdout();
        let choice = match color {
            Color::Auto => AutoStream::choice(&stdout),
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        let is_terminal = stdout.is_terminal();
        let columns = terminal::size(&stdout, terminal_size()).map(|size| size.columns);
        let edge = terminal::columns_asked().or(columns);
        let stdout = Paged::new(BufWriter::with_capacity(BUFFER_BYTES, ByteSink::StandardOutput(stdout)));
        let stream = Screen::new(stdout, is_terminal, choice != ColorChoice::Never);
        Self { is_terminal, is_pipe: closed::is_pipe(), width: columns.and(edge), edge, ..Self::plain(stream, false) }
    }

    /// Keeps what is written, `room` bytes of it, as a pipe would get it. What is left is said to be a closed pipe.
    pub(in crate::cli) fn in_memory(room: usize) -> (Self, Kept) {
        let kept = Kept { bytes: Arc::default(), room };
        let stream = Screen::new(Paged::new(BufWriter::with_capacity(BUFFER_BYTES, ByteSink::Memory(kept.clone()))), false, false);
        (Self::plain(stream, true), kept)
    }

    /// No terminal and no pipe.
    fn plain(stream: Screen<Paged<BufWriter<ByteSink>>>, is_kept: bool) -> Self {
        Self {
            stream: BufWriter::with_capacity(BUFFER_BYTES, stream),
            is_kept,
            is_terminal: false,
            is_pipe: false,
            piped: 0,
            has_begun: false,
            is_alone: false,
            is_beside: false,
            width: None,
            edge: None,
            folds: false,
            line: Vec::new(),
            is_paged: false,
        }
    }

    /// Whether it is kept for a part of the program that passes it on: nobody is at a terminal then.
    pub(in crate::cli) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Shows what is longer than the terminal through a pager. Asked before anything is written.
    pub(in crate::cli) fn page(&mut self) {
        if let Some(size) = terminal::size(&io::stdout(), terminal_size()) {
            self.stream.get_mut().get_mut().page(size);
            self.is_paged = true;
        }
    }

    /// Writes a part of the answer that is known already, and shows it at once; progress is shown further.
    pub(in crate::cli) fn write_part(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let mut written = Ok(());
        self.is_beside = true;
        progress::beside(|| written = write(self).and_then(|()| self.flush()));
        self.is_beside = false;
        written
    }

    /// Ends the output: what is left is written, and a pager is waited for.
    ///
    /// # Errors
    /// The stream's, or a pager that cannot be run.
    pub(in crate::cli) fn end(&mut self) -> io::Result<()> {
        let flushed = self.flush();
        if self.is_kept() {
            return flushed.and_then(|()| self.stream.get_mut().get_mut().flush());
        }
        // That a pager could not be run says more than its closed pipe.
        self.stream.get_mut().get_mut().end().and(flushed)
    }

    /// Says what is written from now on; text until then. Asked before anything is written.
    pub(in crate::cli) fn set_content(&mut self, content: Content) {
        debug_assert!(self.stream.buffer().is_empty(), "some output is written already");
        self.stream.get_mut().set_content(content);
    }

    /// Breaks lines that are wider than the terminal from now on, between words: for text, not for tables as kubectl's or documents.
    pub(in crate::cli) fn fold_lines(&mut self) {
        self.folds = self.edge.is_some();
    }

    /// Writes the line that has come together.
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match (self.edge, std::str::from_utf8(&line)) {
            (Some(width), Ok(text)) if self.folds => self.stream.write_all(terminal::folded(text, width).as_bytes()),
            _ => self.stream.write_all(&line),
        }
    }

    pub(in crate::cli) fn has_begun(&self) -> bool {
        self.has_begun
    }

    pub(in crate::cli) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Columns of the terminal, or those that `COLUMNS` asks for there. `None` where the output is no terminal: then nothing is cut.
    pub(in crate::cli) fn width(&self) -> Option<usize> {
        self.width
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_begun = true;
        // What is written may go out at any moment.
        if (self.is_terminal || self.is_pipe) && !self.is_beside && !std::mem::replace(&mut self.is_alone, true) {
            progress::end();
            if self.is_terminal && self.is_paged {
                // What comes after text is said after it.
                messages::hold();
            }
        }
        let written = self.write_folded(bytes)?;
        if self.is_pipe && self.piped < MAX_EAGER_BYTES {
            let before = self.piped / AT_ONCE;
            self.piped += written;
            if self.piped / AT_ONCE > before {
                self.stream.flush()?;
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_terminal {
            progress::end();
        }
        self.end_line()?;
        self.stream.flush()
    }
}

impl StyledWrite for Output {}

impl Output {
    /// Writes bytes, line by line where lines are broken.
    fn write_folded(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.folds {
            return self.stream.write(bytes);
        }
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let whole = piece.strip_suffix(b"\n");
            self.line.extend_from_slice(whole.unwrap_or(piece));
            if whole.is_some() {
                self.end_line()?;
                self.stream.write_all(b"\n")?;
            }
        }
        Ok(bytes.len())
    }
}

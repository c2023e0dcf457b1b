//! Lines of JSON on their way to Python.

use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::SyncSender;

use ketcd_render::style::StyledWrite;

use crate::failure::Failure;

/// What a question sends.
pub(crate) enum Message {
    /// A line of JSON, or a whole document, without its line end.
    Line(Vec<u8>),
    /// Why there is no more.
    Failed(Failure),
    /// That this was all.
    Done,
}

/// Sends each line that is written, once it is whole.
pub(crate) struct Lines {
    sender: SyncSender<Message>,
    begun: Vec<u8>,
}

impl Lines {
    /// Sends lines to `sender`.
    pub(crate) fn new(sender: SyncSender<Message>) -> Self {
        Self { sender, begun: Vec::new() }
    }

    /// Sends a document, which may have many lines.
    ///
    /// # Errors
    /// Nobody waits for it.
    pub(crate) fn send(&self, mut document: Vec<u8>) -> io::Result<()> {
        document.truncate(document.trim_ascii_end().len());
        self.sender.send(Message::Line(document)).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut parts = bytes.split_inclusive(|&byte| byte == b'\n');
        parts.try_for_each(|part| {
            self.begun.extend_from_slice(part);
            if !part.ends_with(b"\n") {
                return Ok(());
            }
            let line = std::mem::take(&mut self.begun);
            self.send(line)
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// JSON has no styles.
impl StyledWrite for Lines {}

/// JSON as Python takes it.
pub(crate) fn text(json: Vec<u8>) -> String {
    String::from_utf8(json).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

//! The lines of a watch: one JSON document each.

use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transport::Failure;

/// Splits the bytes of a watch into lines.
pub(super) struct Lines {
    longest: usize,
    held: BytesMut,
    /// How much of it has no end of a line.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    Added(&'a str),
    Modified(&'a str),
    Deleted(&'a str),
    Bookmark(&'a str),
    /// The server ends the watch: the code and the message.
    Error(u16, String),
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FrameStatus {
    code: u16,
    message: String,
}

impl Lines {
    /// Lines of at most this many bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, held: BytesMut::new(), searched: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line.
    ///
    /// # Errors
    ///
    /// It does not end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            match self.held[self.searched..].iter().position(|&byte| byte == b'\n') {
                None if self.held.len() > self.longest => {
                    return Err(Failure::Untrue(format!("a watch sent a line of more than {} MiB", self.longest >> 20)));
                }
                None => {
                    self.searched = self.held.len();
                    return Ok(None);
                }
                Some(end) => {
                    let line = self.held.split_to(self.searched + end);
                    self.held.advance(1);
                    self.searched = 0;
                    if !line.iter().all(u8::is_ascii_whitespace) {
                        return Ok(Some(line.freeze()));
                    }
                }
            }
        }
    }
}

/// Reads a line; `None` where it is not one of a watch.
pub(super) fn frame(line: &[u8]) -> Option<Frame<'_>> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let object = line.object.get();
    Some(match line.r#type {
        "ADDED" => Frame::Added(object),
        "MODIFIED" => Frame::Modified(object),
        "DELETED" => Frame::Deleted(object),
        "BOOKMARK" => Frame::Bookmark(object),
        "ERROR" => {
            let status: FrameStatus = serde_json::from_str(object).unwrap_or_default();
            Frame::Error(status.code, status.message)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let text = b"{\"a\":1}\n\n{\"b\":2}\n{\"c\"";
        for size in 1..text.len() {
            let (mut lines, mut found) = (Lines::new(100), Vec::new());
            for piece in text.chunks(size) {
                lines.push(piece);
                while let Some(line) = lines.next().unwrap() {
                    found.push(line);
                }
            }
            assert_eq!(found, ["{\"a\":1}", "{\"b\":2}"], "{size}");
        }
    }

    #[test]
    fn a_line_that_does_not_end_is_refused() {
        let mut lines = Lines::new(10);
        lines.push(&[b'x'; 11]);
        assert!(matches!(lines.next(), Err(Failure::Untrue(_))));
    }

    #[test]
    fn frame_reads_events_and_errors_and_refuses_others() {
        assert_eq!(frame(br#"{"type":"ADDED","object":{"kind":"Pod"}}"#), Some(Frame::Added(r#"{"kind":"Pod"}"#)));
        let expired = frame(br#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version: 1 (5)"}}"#);
        assert_eq!(expired, Some(Frame::Error(410, "too old resource version: 1 (5)".to_owned())));
        assert_eq!(frame(br#"{"type":"NEW","object":{}}"#), None);
        assert_eq!(frame(b"not json"), None);
    }
}

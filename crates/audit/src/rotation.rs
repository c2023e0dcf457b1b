//! A line that a container's runtime split over two files of a log that was rotated in between: the last pieces of one file, and the first of the next.

use std::io::{self, BufRead, Read as _};

use serde::de::IgnoredAny;

use crate::container_log::{STREAM_NAMES, begins_so, part};
use crate::splitter::LONGEST_RECORD;

/// Among this many lines at the beginning of the next file the rest is looked for; those of another stream may come in between.
const MAX_JOIN_LINES: u64 = 10_000;

/// Follows a container's log to its end, to know of which lines the rest is missing. Of other logs it keeps nothing.
#[derive(Debug, Default)]
pub struct UnfinishedLines {
    /// Whether it is the log of a container; `None` before the first bytes.
    is_log: Option<bool>,
    /// The beginning of the line that is not read to its end.
    begun: Vec<u8>,
    /// The pieces of the line of each stream whose last has not come.
    pieces: [Vec<u8>; STREAM_NAMES.len()],
}

impl UnfinishedLines {
    /// Takes the next bytes of the log.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !*self.is_log.get_or_insert_with(|| begins_so(bytes)) {
            return;
        }
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.begun.pop();
                self.end_line();
            } else if self.begun.len() > LONGEST_RECORD {
                // It is damaged, and said to be where it is read.
                (self.is_log, self.begun) = (Some(false), Vec::new());
                return;
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        let Some(found) = part(&line) else { return };
        let pieces = &mut self.pieces[found.stream];
        if found.goes_on && pieces.len() + found.content.len() <= LONGEST_RECORD {
            pieces.extend_from_slice(&found.content);
        } else {
            pieces.clear();
        }
    }

    /// Whether the rest of a line is missing so far.
    pub fn is_open(&self) -> bool {
        self.is_within_a_line() || self.pieces.iter().any(|pieces| !pieces.is_empty())
    }

    /// Whether the last line of a file has no line end.
    pub fn is_within_a_line(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Returns the lines at the beginning of the next file that are the rest of lines of this one, each with its number from 1, where together they are a
    /// whole document of JSON.
    ///
    /// # Errors
    /// The stream's.
    pub fn rest_in(&mut self, next: &mut dyn BufRead) -> io::Result<Vec<(u64, Vec<u8>)>> {
        if self.is_within_a_line() {
            self.end_line();
        }
        let mut open: [Option<Vec<u8>>; STREAM_NAMES.len()] =
            std::mem::take(&mut self.pieces).map(|pieces| Some(pieces).filter(|pieces| !pieces.is_empty()));
        let (mut found, mut kept): ([Vec<(u64, Vec<u8>)>; STREAM_NAMES.len()], Vec<_>) = Default::default();
        for number in 1..=MAX_JOIN_LINES {
            if open.iter().all(Option::is_none) {
                break;
            }
            let mut line = Vec::new();
            let length = (&mut *next).take(LONGEST_RECORD as u64).read_until(b'\n', &mut line)?;
            if length == 0 || length == LONGEST_RECORD {
                break;
            }
            if line.ends_with(b"\n") {
                line.pop();
            }
            let Some((stream, goes_on, content)) = part(&line).map(|piece| (piece.stream, piece.goes_on, piece.content.into_owned()))
            else {
                continue;
            };
            let Some(joined) = &mut open[stream] else { continue };
            joined.extend_from_slice(&content);
            let is_whole = !goes_on && serde_json::from_slice::<IgnoredAny>(joined).is_ok();
            if !goes_on || joined.len() > LONGEST_RECORD {
                open[stream] = None;
            }
            found[stream].push((number, line));
            if is_whole {
                kept.append(&mut found[stream]);
            }
        }
        kept.sort_unstable();
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_TIME: &str = "2026-11-24T18:37:19.698533123Z";

    fn rest(first: &str, next: &str) -> Vec<(u64, String)> {
        let mut lines = UnfinishedLines::default();
        lines.feed(first.as_bytes());
        let found = lines.rest_in(&mut next.as_bytes()).unwrap();
        found.into_iter().map(|(number, line)| (number, String::from_utf8(line).unwrap())).collect()
    }

    #[test]
    fn the_rest_of_a_line_is_found_in_the_next_file() {
        let first = format!("{SAMPLE_TIME} stdout F {{\"a\":1}}\n{SAMPLE_TIME} stdout P {{\"b\":\n");
        let next = format!(
            "{SAMPLE_TIME} stderr F I1124 started\n{SAMPLE_TIME} stdout P 2\n{SAMPLE_TIME} stdout F 3}}\n{SAMPLE_TIME} stdout F {{\"c\":4}}\n"
        );
        assert_eq!(rest(&first, &next), [(2, format!("{SAMPLE_TIME} stdout P 2")), (3, format!("{SAMPLE_TIME} stdout F 3}}"))]);
        assert_eq!(rest(first.trim_end(), &next).len(), 2, "the last line may lack its end");
    }

    #[test]
    fn what_does_not_fit_stays_where_it_is() {
        let open = format!("{SAMPLE_TIME} stdout P {{\"b\":\n");
        for (first, next) in [
            // A file between them is missing.
            (open.clone(), format!("{SAMPLE_TIME} stdout F {{\"c\":4}}\n")),
            (open.clone(), format!("{SAMPLE_TIME} stdout P 2\n")),
            (open.clone(), String::new()),
            (format!("{SAMPLE_TIME} stdout F {{\"b\":2}}\n"), format!("{SAMPLE_TIME} stdout F 3}}\n")),
            ("{\"b\":\n".to_owned(), format!("{SAMPLE_TIME} stdout F 3}}\n")),
        ] {
            assert_eq!(rest(&first, &next), [], "{first}{next}");
        }
    }
}

//! Logs of containers as the runtime keeps them on a node: each line of the program behind a time and the name of its stream, a long one in several
//! pieces. The pieces of a line are joined, of each stream apart.
//!
//! Source: kubernetes 1.36 `pkg/kubelet/kuberuntime/logs/logs.go` (`parseCRILog`, `parseDockerJSONLog`): in the form of CRI a piece that is not the last
//! has the tag `P`; in Docker's it has no line end. Fluent Bit's parser of CRI keeps the tag in `logtag` or `_p`.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::splitter::{LONGEST_RECORD, Piece, Splitter, is_of_event};

/// The streams of a container. Lines without a stream are of the last.
pub(crate) const STREAM_NAMES: [&str; 2] = ["stdout", "stderr"];

/// What a runtime wrote of a line of the program, all or a part of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LinePart<'l> {
    /// The place of its stream among [`STREAM_NAMES`].
    pub(crate) stream: usize,
    /// Whether more of the line follows.
    pub(crate) goes_on: bool,
    /// What the program wrote, without a line end.
    pub(crate) content: Cow<'l, [u8]>,
}

/// Reads a line of a container's log; `None` if it is not one.
pub(crate) fn part(line: &[u8]) -> Option<LinePart<'_>> {
    match line.first()? {
        b'{' => of_json(line),
        b'0'..=b'9' => of_cri(line),
        _ => None,
    }
}

/// `2026-11-24T18:37:19.698533123Z stdout P CONTENT`; behind the first tag there may be others, after colons.
fn of_cri(line: &[u8]) -> Option<LinePart<'_>> {
    let mut words = line.splitn(4, |&byte| byte == b' ');
    let (time, stream, tags) = (words.next()?, words.next()?, words.next()?);
    let content = words.next().unwrap_or_default();
    let is_time = time.len() >= 20 && time.get(10) == Some(&b'T') && time.iter().all(|byte| byte.is_ascii_graphic());
    let goes_on = match tags.split(|&byte| byte == b':').next()? {
        b"P" => true,
        b"F" => false,
        _ => return None,
    };
    let content = Cow::Borrowed(content.strip_suffix(b"\r").unwrap_or(content));
    is_time.then_some(LinePart { stream: stream_of(stream)?, goes_on, content })
}

fn stream_of(name: &[u8]) -> Option<usize> {
    STREAM_NAMES.iter().position(|stream| stream.as_bytes() == name)
}

/// A line of Docker's driver `json-file`. Other programs wrap lines in the same members and more, and without their line ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DockerLine<'l> {
    #[serde(borrow)]
    log: Cow<'l, str>,
    #[serde(borrow)]
    stream: Cow<'l, str>,
    #[serde(rename = "time")]
    _time: IgnoredAny,
    #[serde(default, rename = "attrs")]
    _attributes: IgnoredAny,
}

/// A line of CRI that Fluent Bit made JSON of.
#[derive(Deserialize)]
struct TaggedLine<'l> {
    #[serde(borrow, alias = "message")]
    log: Cow<'l, str>,
    #[serde(borrow)]
    stream: Cow<'l, str>,
    #[serde(borrow, alias = "_p")]
    logtag: Cow<'l, str>,
}

fn of_json(line: &[u8]) -> Option<LinePart<'_>> {
    if let Ok(DockerLine { log, stream, .. }) = serde_json::from_slice(line) {
        // A whole document needs no line end to be the whole line.
        let goes_on = !log.ends_with('\n') && !is_document(&log);
        let end = log.trim_end_matches(['\r', '\n']).len();
        return Some(LinePart { stream: stream_of(stream.as_bytes())?, goes_on, content: bytes(log, end) });
    }
    let TaggedLine { log, stream, logtag } = serde_json::from_slice(line).ok()?;
    let end = log.trim_end_matches(['\r', '\n']).len();
    Some(LinePart { stream: stream_of(stream.as_bytes())?, goes_on: logtag.starts_with('P'), content: bytes(log, end) })
}

fn is_document(text: &str) -> bool {
    text.starts_with('{') && text.ends_with('}') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn bytes(text: Cow<'_, str>, end: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text.as_bytes()[..end]),
        Cow::Owned(text) => {
            let mut bytes = text.into_bytes();
            bytes.truncate(end);
            Cow::Owned(bytes)
        }
    }
}

/// Whether a text is the log of a container, by its first lines: a header of `tail` or a line of another program may come first.
pub(crate) fn begins_so(beginning: &[u8]) -> bool {
    const MAX_PROBED_LINES: usize = 20;
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    beginning.split(|&byte| byte == b'\n').take(MAX_PROBED_LINES).any(|line| part(line).is_some())
}

/// Takes the log of a container apart, and splits what each of its streams says into records.
#[derive(Default)]
pub(crate) struct ContainerLog {
    /// The beginning of a line that is not read to its end.
    begun: Vec<u8>,
    /// Whether the rest of that line is skipped, as it is too long.
    skips: bool,
    line: u64,
    streams: [Stream; STREAM_NAMES.len() + 1],
}

#[derive(Default)]
struct Stream {
    splitter: Splitter,
    /// The pieces of a line whose last has not come yet, and where the first is.
    pieces: Vec<u8>,
    began: u64,
}

impl ContainerLog {
    pub(crate) fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let Some(end) = piece.strip_suffix(b"\n") else {
                self.begin(piece, take);
                continue;
            };
            if self.begun.is_empty() && !self.skips {
                self.take_line(end, take);
                continue;
            }
            self.begin(end, take);
            let line = std::mem::take(&mut self.begun);
            if std::mem::take(&mut self.skips) {
                self.line += 1;
            } else {
                self.take_line(&line, take);
            }
        }
    }

    /// Says what is left at the end of the log.
    pub(crate) fn end(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        if !self.begun.is_empty() {
            let line = std::mem::take(&mut self.begun);
            self.take_line(&line, take);
        }
        for stream in &mut self.streams {
            if !stream.pieces.is_empty() {
                stream.flush(take);
            }
            stream.splitter.end(take);
        }
    }

    fn begin(&mut self, piece: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        if self.skips {
            return;
        }
        self.begun.extend_from_slice(piece);
        if self.begun.len() > 2 * LONGEST_RECORD {
            take(Piece::Damage { line: self.line + 1, why: "is longer than 64 MiB", loses: is_of_event(&self.begun) });
            self.begun = Vec::new();
            self.skips = true;
        }
    }

    fn take_line(&mut self, line: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        self.line += 1;
        let found = part(line);
        let (stream, goes_on, content) = match &found {
            Some(LinePart { stream, goes_on, content }) => (*stream, *goes_on, &content[..]),
            None => (STREAM_NAMES.len(), false, line),
        };
        self.streams[stream].take(self.line, content, goes_on, take);
    }
}

impl Stream {
    fn take(&mut self, line: u64, content: &[u8], goes_on: bool, take: &mut dyn FnMut(Piece<'_>)) {
        if self.pieces.is_empty() && !goes_on {
            self.splitter.feed_line(line, content, take);
            return;
        }
        if self.pieces.is_empty() {
            self.began = line;
        }
        self.pieces.extend_from_slice(content);
        // What is too long is given to the splitter, which says so.
        if !goes_on || self.pieces.len() > LONGEST_RECORD {
            self.flush(take);
        }
    }

    fn flush(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        let line = std::mem::take(&mut self.pieces);
        self.splitter.feed_line(self.began, &line, take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records and damages of a log, fed in pieces of one size.
    fn split(text: &str, size: usize) -> Vec<String> {
        let (mut log, mut found) = (ContainerLog::default(), Vec::new());
        let mut take = |piece: Piece<'_>| {
            found.push(match piece {
                Piece::Record(line, bytes) => format!("{line}:{}", String::from_utf8_lossy(bytes)),
                Piece::Heading(bytes) => format!("#{}", String::from_utf8_lossy(bytes)),
                Piece::Damage { line, why, loses } => format!("{line}!{why}{}", if loses { ", lost" } else { "" }),
            });
        };
        text.as_bytes().chunks(size).for_each(|bytes| log.feed(bytes, &mut take));
        log.end(&mut take);
        found
    }

    #[test]
    fn pieces_are_joined_of_each_stream_apart() {
        const SAMPLE_TIME: &str = "2026-11-24T18:37:19.698533123Z";
        let cri = format!(
            "{SAMPLE_TIME} stdout F {{\"a\":1}}\n{SAMPLE_TIME} stdout P {{\"b\":\"x\n{SAMPLE_TIME} stderr P I1124 \n{SAMPLE_TIME} stdout P:tag y\n\n{SAMPLE_TIME} stderr F started\n{SAMPLE_TIME} stdout F z\"}}\r\n"
        );
        let wanted = ["1:{\"a\":1}", "3!has text that is not JSON", "2:{\"b\":\"xyz\"}"];
        for size in [1, 7, 40, 4096] {
            assert_eq!(split(&cri, size), wanted, "in pieces of {size}");
        }
        let docker = |log: &str| format!("{}\n", serde_json::json!({"log": log, "stream": "stdout", "time": SAMPLE_TIME}));
        let tagged =
            |log: &str, tag: &str| format!("{}\n", serde_json::json!({"log": log, "stream": "stdout", "logtag": tag, "kubernetes": {}}));
        for text in [
            [docker("{\"a\":1}\n"), docker("{\"b\":\"x"), docker("y\"}\n")].concat(),
            [docker("{\"a\":1}"), docker("{\"b\":\"x"), docker("y\"}\n")].concat(),
            [tagged("{\"a\":1}", "F"), tagged("{\"b\":\"x", "P"), tagged("y\"}", "F")].concat(),
        ] {
            assert!(begins_so(text.as_bytes()));
            assert_eq!(split(&text, 30), ["1:{\"a\":1}", "2:{\"b\":\"xy\"}"], "{text}");
        }
    }

    #[test]
    fn a_line_without_its_other_pieces_is_lost() {
        let log = "2026-11-24T18:37:19.1Z stdout F x\",\"stageTimestamp\":\"y\",\"annotations\":{}}\n2026-11-24T18:37:19.1Z stdout P {\"auditID\":\"a";
        assert_eq!(split(log, 9), ["1:{}", "1!has text that is not JSON, lost", "2!is cut short, lost"]);
    }

    #[test]
    fn only_lines_of_a_runtime_are_taken_for_such() {
        for line in [
            "2026-11-24T18:37:19.1Z {\"a\":1}",
            "2026-11-24T18:37:19.1Z stdout X a",
            "2026-11-24T18:37:19.1Z host F a",
            "1 stdout F a",
            "{\"log\":\"{\",\"stream\":\"stdout\"}",
            "{\"log\":\"{\",\"stream\":\"stdout\",\"time\":1,\"kubernetes\":{}}",
            "{\"kind\":\"Event\"}",
            "",
        ] {
            assert_eq!(part(line.as_bytes()), None, "{line}");
        }
    }
}

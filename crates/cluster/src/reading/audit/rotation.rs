//! Reads audit logs one after the other, the files of a container's log that was rotated from the oldest on: of a line that the runtime split over two of
//! them, the rest is read with the first.
//!
//! Kubernetes 1.36: pkg/kubelet/logs/container_log_manager.go, `rotateLatestLog` and `compressLog`: `0.log` becomes `0.log.20261124-183719`, and later that
//! with `.gz`. Docker's driver `json-file` numbers them, the youngest `.1`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Cursor, Read};

use ketcd_audit::{LONGEST_RECORD, UnfinishedLines};
use ketcd_store::load::AuditLogs;

use crate::error::Result;

/// A log that is being read.
type Stream = Box<dyn Read + Send>;

/// Hands out one log after the other, with its name.
///
/// # Errors
/// One cannot be opened.
pub(crate) fn read(logs: &AuditLogs, each: &mut dyn FnMut(&str, &mut dyn Read)) -> Result<()> {
    let names: Vec<&str> = logs.names().collect();
    let mut taken = BTreeSet::new();
    for (place, next) in ordered(&names) {
        let mut stream = without(logs.stream(place)?, std::mem::take(&mut taken));
        let Some(next) = next else {
            each(names[place], &mut stream);
            continue;
        };
        let mut followed =
            FollowedLog { stream, lines: UnfinishedLines::default(), open: &|| logs.stream(next), rest: None, taken: BTreeSet::new() };
        each(names[place], &mut followed);
        taken = followed.taken;
    }
    Ok(())
}

/// The places of the logs in the order in which they are read, each with that of the file in which it continues.
fn ordered(names: &[&str]) -> Vec<(usize, Option<usize>)> {
    let mut files: BTreeMap<&str, Vec<(Age<'_>, usize)>> = BTreeMap::new();
    for (place, name) in names.iter().enumerate() {
        let (log, age) = age(name);
        files.entry(log).or_default().push((age, place));
    }
    files.values_mut().for_each(|files| files.sort());
    let mut found = Vec::new();
    for name in names {
        // All files of a log come where the first of them is named.
        let Some(files) = files.remove(age(name).0) else { continue };
        let places: Vec<usize> = files.into_iter().map(|(_, place)| place).collect();
        let next = places.iter().copied().skip(1).map(Some).chain([None]);
        found.extend(places.iter().copied().zip(next));
    }
    found
}

/// How old a file of a log is, the oldest first: numbers, which grow with it, times, and the one that is written.
type Age<'n> = (bool, Reverse<u32>, &'n str);

/// The log that a file is of, and its age.
fn age(name: &str) -> (&str, Age<'_>) {
    let rotated = name.strip_suffix(".gz").unwrap_or(name);
    let parts = rotated.rsplit_once('.').filter(|(log, _)| log.ends_with(".log"));
    let is_time = |text: &str| {
        text.len() == 15 && text.bytes().enumerate().all(|(at, byte)| if at == 8 { byte == b'-' } else { byte.is_ascii_digit() })
    };
    match parts {
        Some((log, time)) if is_time(time) => (log, (false, Reverse(0), time)),
        Some((log, number)) if number.len() < 6 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            (log, (false, Reverse(number.parse().unwrap_or(0)), ""))
        }
        _ => (name, (true, Reverse(0), "")),
    }
}

/// A log, and behind its end the rest of its last lines, which is in the file that follows.
struct FollowedLog<'l> {
    stream: Without,
    lines: UnfinishedLines,
    open: &'l dyn Fn() -> ketcd_store::Result<Stream>,
    rest: Option<Cursor<Vec<u8>>>,
    /// The lines of the next file that were read with this one.
    taken: BTreeSet<u64>,
}

impl FollowedLog<'_> {
    /// The rest. What is wrong with the next file is said when it is read itself.
    fn rest(&mut self) -> Cursor<Vec<u8>> {
        let (mut text, is_within_a_line) = (Vec::new(), self.lines.is_within_a_line());
        if !self.lines.is_open() {
            return Cursor::default();
        }
        let found = (self.open)().ok().and_then(|next| self.lines.rest_in(&mut BufReader::new(next)).ok()).unwrap_or_default();
        if is_within_a_line && !found.is_empty() {
            text.push(b'\n');
        }
        for (number, line) in found {
            self.taken.insert(number);
            text.extend(line);
            text.push(b'\n');
        }
        Cursor::new(text)
    }
}

impl Read for FollowedLog<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_none() {
            let length = self.stream.read(into)?;
            if length > 0 || into.is_empty() {
                self.lines.feed(&into[..length]);
                return Ok(length);
            }
            let rest = self.rest();
            self.rest = Some(rest);
        }
        self.rest.as_mut().map_or(Ok(0), |rest| rest.read(into))
    }
}

/// A log of which some lines, that were read with another file, are empty: so the others keep their numbers.
struct Without {
    from: BufReader<Stream>,
    taken: BTreeSet<u64>,
    line: u64,
    held: Cursor<Vec<u8>>,
}

fn without(from: Stream, taken: BTreeSet<u64>) -> Without {
    Without { from: BufReader::new(from), taken, line: 0, held: Cursor::default() }
}

impl Read for Without {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.held.read(into)?;
            if length > 0 || into.is_empty() {
                return Ok(length);
            }
            if self.taken.is_empty() {
                return self.from.read(into);
            }
            let mut line = Vec::new();
            if (&mut self.from).take(LONGEST_RECORD as u64).read_until(b'\n', &mut line)? == 0 {
                return Ok(0);
            }
            self.line += 1;
            self.held = Cursor::new(if self.taken.remove(&self.line) { b"\n".to_vec() } else { line });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_log_are_read_from_the_oldest_on() {
        let names = [
            "a/0.log",
            "a/0.log.20261124-190000",
            "a/0.log.20261124-183719.gz",
            "b/0.log",
            "c-json.log.1",
            "c-json.log.10.gz",
            "c-json.log",
        ];
        let order = [(2, Some(1)), (1, Some(0)), (0, None), (3, None), (5, Some(4)), (4, Some(6)), (6, None)];
        assert_eq!(ordered(&names), order);
        let apart = ["audit.log", "audit-2026-11-24T18-37-19.000.log", "audit.log.old", "events.1"];
        assert!(ordered(&apart).iter().all(|(_, next)| next.is_none()), "{:?}", ordered(&apart));
    }

    #[test]
    fn lines_that_were_read_are_empty() {
        let mut text = String::new();
        let from: Stream = Box::new(&b"one\ntwo\nthree\nfour"[..]);
        without(from, BTreeSet::from([1, 3])).read_to_string(&mut text).unwrap();
        assert_eq!(text, "\ntwo\n\nfour");
    }
}

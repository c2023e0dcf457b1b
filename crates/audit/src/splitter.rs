//! Splits a stream of JSON into records without holding more than one: a document each, or the elements of the lists that exports wrap them in.
//!
//! Lines are not trusted to be whole: a log that was cut and goes on has half a document before a line that begins with the next one. A string of JSON
//! has no line end in it, and inside an object no document begins, so the damage is found, named, and the next line is read.

use memchr::{memchr3, memmem};

/// The lists that wrap records: `items` of an EventList, `events` and `logEvents` of CloudWatch, `results` of its queries and of Splunk's, `tables` and
/// their rows of Azure's, `values` of Loki's streams, `responses` of Elasticsearch, `value`, `records` and `entries` of other exports.
const RECORD_LISTS: [&[u8]; 11] =
    [b"items", b"events", b"logEvents", b"results", b"tables", ROW_LIST, b"values", b"responses", b"value", b"records", b"entries"];

/// Lists that lie in a member of the document: of an answer of Elasticsearch, and of Loki.
const LISTS_WITHIN: [(&[u8], &[u8]); 2] = [(b"hits", b"hits"), (b"data", b"result")];

/// The list whose records have no names: what stands before it has those of their columns.
const ROW_LIST: &[u8] = b"rows";

/// The longest record that is read, in bytes: API servers take requests of 3 MiB, but answers may be longer.
pub const LONGEST_RECORD: usize = 64 << 20;

const MAX_LIST_DEPTH: usize = 3;

#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'b> {
    /// A record that begins on this line, from 1.
    Record(u64, &'b [u8]),
    /// What stands before the rows of a table, cut off there: an object without its end.
    Heading(&'b [u8]),
    /// Something that is not a record.
    Damage {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it: a fragment.
        why: &'static str,
        /// Whether it was an event, or a part of one.
        loses: bool,
    },
}

/// Whether bytes are of an event, whole or in part: what stands only in events, and in what exports make of them.
pub(crate) fn is_of_event(bytes: &[u8]) -> bool {
    const EVENT_MARKS: [&[u8]; 6] =
        [b"auditID", b"AuditId", b"audit.k8s.io/v1", b"requestReceivedTimestamp", b"stageTimestamp", b"protoPayload"];
    EVENT_MARKS.iter().any(|mark| memmem::find(bytes, mark).is_some())
}

/// Whether text outside of documents has the name of a member that only events have.
fn is_rest_of_event(bytes: &[u8]) -> bool {
    const LATE_EVENT_MEMBERS: [&[u8]; 2] = [b"requestReceivedTimestamp\":", b"stageTimestamp\":"];
    LATE_EVENT_MEMBERS.iter().any(|name| memmem::find(bytes, name).is_some())
}

/// Whether what looks like an object is the labels of a stream, which `logcli` writes before each line: `{job="audit"}`.
fn is_labels(record: &[u8]) -> bool {
    let is_name = record.get(1).is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_');
    is_name && memmem::find(record, b"=\"").is_some() && !is_of_event(record)
}

/// What surrounds the records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// A list whose elements are records.
    List,
    Object,
}

#[derive(Default)]
pub(crate) struct Splitter {
    around: Vec<Around>,
    /// What was read of the value at hand.
    buffer: Vec<u8>,
    /// The open brackets of the value at hand: whether each is an object.
    open: Vec<bool>,
    /// Whether the value at hand is the rest of an object around lists, and is not kept.
    is_rest: bool,
    in_string: bool,
    escaped: bool,
    /// Where the last string of the outermost object begins and ends in the buffer.
    last_string: (usize, usize),
    /// Whether that string is the name of a member whose value comes next.
    is_name: bool,
    /// The list that would wrap records in the object within the outermost one.
    list_within: Option<&'static [u8]>,
    /// The last byte that is not a space.
    last: u8,
    /// Whether the last byte was a line end.
    at_line_start: bool,
    line: u64,
    began: u64,
    skips_line: bool,
    /// What the text on this line outside of documents is.
    text: Text,
    /// Whether a document began on this line.
    has_document: bool,
    /// The end of the text on this line outside of documents.
    outside: Vec<u8>,
}

/// So much text outside of documents is looked at.
const LOOKED_AT: usize = 4096;

/// Text on a line that is of no document.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    /// There is none.
    #[default]
    None,
    /// It stands before whatever comes: what a collector writes before each event, such as the time and the host.
    Before,
    /// It stands behind a document: the rest of a line that was cut, perhaps.
    After,
}

impl Splitter {
    /// Takes the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        if self.line == 0 {
            (self.line, self.at_line_start) = (1, true);
        }
        let mut at = 0;
        while at < bytes.len() {
            at += match (self.open.is_empty(), self.in_string) {
                (true, _) => self.outside(bytes[at], take),
                (false, true) => self.string(&bytes[at..], take),
                (false, false) => self.inside(bytes[at], take),
            };
        }
    }

    /// Says what is left at the end of the stream.
    pub(crate) fn end(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        self.tell_text(take);
        if !self.open.is_empty() && !self.is_rest {
            take(Piece::Damage { line: self.began, why: "is cut short", loses: is_of_event(&self.buffer) });
        }
    }

    /// Takes a line without its end, of which the number is known.
    pub(crate) fn feed_line(&mut self, line: u64, bytes: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        if self.line == 0 {
            self.at_line_start = true;
        }
        self.line = line;
        self.feed(bytes, take);
        self.feed(b"\n", take);
    }

    fn newline(&mut self) {
        self.line += 1;
        (self.at_line_start, self.skips_line, self.text) = (true, false, Text::None);
        self.has_document = false;
        self.outside.clear();
    }

    /// Reports text that belongs to no document.
    fn tell_text(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        if std::mem::take(&mut self.text) != Text::None {
            // Behind documents it may be what a program writes about them.
            let loses = if self.has_document { is_rest_of_event(&self.outside) } else { is_of_event(&self.outside) };
            take(Piece::Damage { line: self.line, why: "has text that is not JSON", loses });
        }
    }

    fn outside(&mut self, byte: u8, take: &mut dyn FnMut(Piece<'_>)) -> usize {
        match byte {
            b'\n' => {
                self.tell_text(take);
                self.newline();
            }
            _ if self.skips_line => {}
            b'{' => self.begin(true),
            // What CloudWatch's queries return of one event is a list.
            b'[' if self.around.last() == Some(&Around::List) && self.around.len() > 1 => self.begin(false),
            b'[' if self.around.is_empty() && self.text == Text::None => self.around.push(Around::List),
            b']' if self.around.last() == Some(&Around::List) => {
                self.around.pop();
                while self.around.pop_if(|around| *around == Around::Object).is_some() {
                    (self.is_rest, self.began) = (true, self.line);
                    self.open.push(true);
                    self.buffer.clear();
                }
                // `[pod/kube-apiserver-cp1/kube-apiserver] {…}`, as `kubectl logs --prefix` writes it: no list, but a name before a document.
                if self.text == Text::After && self.around.is_empty() && self.open.is_empty() && !self.has_document {
                    self.text = Text::Before;
                }
            }
            _ if self.text != Text::None && !byte.is_ascii_whitespace() => self.keep_outside(byte),
            _ if byte.is_ascii_whitespace() || byte == b',' || self.text != Text::None => {}
            // Exports to a bucket have the time before each event; the mark of an encoding is nothing either.
            _ if byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b'T' | b'Z' | 0xef | 0xbb | 0xbf) => {}
            _ => {
                self.text = if self.around.is_empty() && !self.has_document { Text::Before } else { Text::After };
                self.keep_outside(byte);
            }
        }
        1
    }

    fn keep_outside(&mut self, byte: u8) {
        if self.outside.len() >= 2 * LOOKED_AT {
            self.outside.drain(..LOOKED_AT);
        }
        self.outside.push(byte);
    }

    fn begin(&mut self, is_object: bool) {
        self.buffer.clear();
        self.buffer.push(if is_object { b'{' } else { b'[' });
        self.open.clear();
        self.open.push(is_object);
        (self.is_rest, self.in_string, self.escaped, self.is_name) = (false, false, false, false);
        (self.last, self.began, self.at_line_start) = (self.buffer[0], self.line, false);
        self.has_document = true;
        if self.text == Text::Before {
            self.text = Text::None;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if !self.is_rest || self.open.len() == 1 {
            self.buffer.extend_from_slice(bytes);
        }
        if self.is_rest && self.buffer.len() > 4096 {
            self.buffer.clear();
            self.is_name = false;
        }
    }

    fn string(&mut self, bytes: &[u8], take: &mut dyn FnMut(Piece<'_>)) -> usize {
        if self.escaped && bytes[0] != b'\n' {
            self.escaped = false;
            self.keep(&bytes[..1]);
            return 1;
        }
        let Some(end) = memchr3(b'"', b'\\', b'\n', bytes) else {
            self.keep(bytes);
            self.bound(take);
            return bytes.len();
        };
        self.keep(&bytes[..end]);
        match bytes[end] {
            b'\n' => {
                self.give_up("is cut short", take);
                self.tell_text(take);
                self.newline();
                return end + 1;
            }
            b'\\' => self.escaped = true,
            _ => {
                self.in_string = false;
                self.last_string.1 = self.buffer.len();
            }
        }
        self.keep(&bytes[end..=end]);
        self.last = bytes[end];
        end + 1
    }

    /// A byte inside a value and outside of its strings. Returns how many were taken.
    fn inside(&mut self, byte: u8, take: &mut dyn FnMut(Piece<'_>)) -> usize {
        let is_outermost = self.open.len() == 1 && self.open[0];
        let began_line = std::mem::take(&mut self.at_line_start);
        match byte {
            b'\n' => {
                self.tell_text(take);
                self.newline();
                self.keep(b"\n");
                return 1;
            }
            b'{' if began_line && self.breaks_off() => {
                self.give_up("is cut short", take);
                return 0;
            }
            b'"' => {
                self.in_string = true;
                self.keep(b"\"");
                self.last_string = (self.buffer.len(), self.buffer.len());
                self.last = byte;
                return 1;
            }
            b':' if is_outermost || self.is_within() => self.is_name = true,
            b'[' if self.is_name && self.wraps() => {
                let (from, to) = self.last_string;
                if &self.buffer[from..to] == ROW_LIST {
                    take(Piece::Heading(&self.buffer[..from - 1]));
                }
                self.around.extend(self.open.drain(..).map(|_| Around::Object));
                self.around.push(Around::List);
                self.buffer.clear();
                self.is_name = false;
                return 1;
            }
            b'{' | b'[' => {
                if is_outermost {
                    let name = self.name().filter(|_| byte == b'{' && self.is_name);
                    self.list_within = LISTS_WITHIN.iter().find(|(outer, _)| name == Some(*outer)).map(|(_, list)| *list);
                }
                self.open.push(byte == b'{');
                self.is_name = false;
            }
            b'}' | b']' => {
                if self.open.pop() != Some(byte == b'}') {
                    self.give_up("is not JSON", take);
                    self.skips_line = true;
                    return 1;
                }
                self.keep(&[byte]);
                if self.open.is_empty() {
                    self.finish(take);
                }
                self.last = byte;
                return 1;
            }
            b',' => self.is_name = false,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            self.last = byte;
        }
        self.keep(&[byte]);
        self.bound(take);
        1
    }

    /// Whether a document that begins here cannot be inside the value at hand.
    fn breaks_off(&self) -> bool {
        match self.open.last() {
            Some(true) => self.last != b':',
            _ => !matches!(self.last, b'[' | b','),
        }
    }

    fn name(&self) -> Option<&[u8]> {
        let (from, to) = self.last_string;
        self.buffer.get(from..to)
    }

    /// Whether the members at hand are of an object within the outermost one that may hold a list that wraps records.
    fn is_within(&self) -> bool {
        self.list_within.is_some() && self.open[..] == [true, true]
    }

    /// Whether the last name is that of a list that wraps records.
    fn wraps(&self) -> bool {
        let lists = self.around.iter().filter(|around| **around == Around::List).count();
        let Some(name) = self.name().filter(|_| lists < MAX_LIST_DEPTH) else { return false };
        match self.open[..] {
            [true] => RECORD_LISTS.contains(&name),
            _ => self.is_within() && self.list_within == Some(name),
        }
    }

    fn finish(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        if !self.is_rest && is_labels(&self.buffer) {
            self.has_document = false;
        } else if !self.is_rest {
            take(Piece::Record(self.began, &self.buffer));
        }
        self.is_rest = false;
        self.buffer.clear();
    }

    fn give_up(&mut self, why: &'static str, take: &mut dyn FnMut(Piece<'_>)) {
        take(Piece::Damage { line: self.began, why, loses: is_of_event(&self.buffer) });
        self.open.clear();
        self.buffer.clear();
        (self.in_string, self.escaped, self.is_rest, self.is_name) = (false, false, false, false);
    }

    fn bound(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        if self.buffer.len() > LONGEST_RECORD {
            self.give_up("is longer than 64 MiB", take);
            self.skips_line = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records and damages of a text, fed in pieces of one size.
    fn split(text: &str, size: usize) -> Vec<String> {
        let (mut splitter, mut found) = (Splitter::default(), Vec::new());
        let mut take = |piece: Piece<'_>| {
            found.push(match piece {
                Piece::Record(line, bytes) => format!("{line}:{}", String::from_utf8_lossy(bytes)),
                Piece::Heading(bytes) => format!("#{}", String::from_utf8_lossy(bytes)),
                Piece::Damage { line, why, loses } => format!("{line}!{why}{}", if loses { ", lost" } else { "" }),
            });
        };
        text.as_bytes().chunks(size).for_each(|bytes| splitter.feed(bytes, &mut take));
        splitter.end(&mut take);
        found
    }

    #[test]
    fn records_are_found_in_every_wrapping_whatever_the_pieces() {
        for (text, wanted) in [
            ("{\"a\":1}\n{\"b\":\"}\\\"\"}\n", &["1:{\"a\":1}", "2:{\"b\":\"}\\\"\"}"][..]),
            (
                "{\"kind\":\"EventList\",\"items\":[{\"a\":{\"items\":[1]}},\n{\"b\":2}],\"x\":{}}{\"c\":3}",
                &["1:{\"a\":{\"items\":[1]}}", "2:{\"b\":2}", "2:{\"c\":3}"],
            ),
            ("[\n  {\"a\":1},\n  {\"b\":2}\n]\n", &["2:{\"a\":1}", "3:{\"b\":2}"]),
            (
                "{\"messageType\":\"DATA\",\"logEvents\":[{\"message\":\"x\"}]}{\"logEvents\":[{\"message\":\"y\"}]}",
                &["1:{\"message\":\"x\"}", "1:{\"message\":\"y\"}"],
            ),
            (
                "{\"results\":[[{\"field\":\"@message\"}],[{\"field\":\"z\"}]],\"status\":\"Complete\"}",
                &["1:[{\"field\":\"@message\"}]", "1:[{\"field\":\"z\"}]"],
            ),
            (
                "{\"tables\":[{\"columns\":[{\"name\":\"a\"}],\"rows\":[[1,[2]],[3]]}]}",
                &["#{\"columns\":[{\"name\":\"a\"}],", "1:[1,[2]]", "1:[3]"],
            ),
            (
                "{\"took\":1,\"hits\":{\"total\":{\"hits\":[3]},\"hits\":[{\"a\":{\"hits\":[1]}},{\"b\":2}]},\"x\":[1]}{\"c\":3}",
                &["1:{\"a\":{\"hits\":[1]}}", "1:{\"b\":2}", "1:{\"c\":3}"],
            ),
            (
                "{\"status\":\"success\",\"data\":{\"resultType\":\"streams\",\"result\":[{\"stream\":{},\"values\":[[\"1\",\"a\"],[\"2\",\"b\"]]}],\"stats\":{}}}",
                &["1:[\"1\",\"a\"]", "1:[\"2\",\"b\"]"],
            ),
            ("{\"data\":{\"a\":[1]},\"hits\":[1]}", &["1:{\"data\":{\"a\":[1]},\"hits\":[1]}"]),
            ("2026-11-24T18:36:56.000Z {\"a\":1}\n", &["1:{\"a\":1}"]),
            ("Nov 24 host api[1]: {\"a\":1}\nnode-1.x {\"b\":1}\n", &["1:{\"a\":1}", "2:{\"b\":1}"]),
            ("2026-11-24T18:36:56Z {job=\"audit\", x=\"}\"} {\"a\":1}\n", &["1:{\"a\":1}"]),
            ("[pod/api-1/api] {\"a\":1}\n[pod/api-1/api] {\"b\":[1]}\n", &["1:{\"a\":1}", "2:{\"b\":[1]}"]),
            ("EVENTS\t7\tx\t{\"a\":1}\t9\nEVENTS\t8\tx\t{\"b\":1}\t9\n", &["1:{\"a\":1}", "2:{\"b\":1}"]),
            ("{\n \"a\": [\n  {\n  }\n ]\n}\n", &["1:{\n \"a\": [\n  {\n  }\n ]\n}"]),
        ] {
            for size in [1, 2, 7, 4096] {
                assert_eq!(split(text, size), wanted, "{text} in pieces of {size}");
            }
        }
    }

    #[test]
    fn damage_is_named_and_the_next_line_is_read() {
        for (text, wanted) in [
            ("{\"a\":\"cut\n{\"b\":1}\n", &["1!is cut short", "2:{\"b\":1}"][..]),
            ("{\"a\":1,\n{\"b\":1}\n", &["1!is cut short", "2:{\"b\":1}"]),
            ("{\"a\":{\"c\":[1\n{\"b\":1}\n", &["1!is cut short", "2:{\"b\":1}"]),
            ("{\"a\":1}}\n{\"b\":1}\n", &["1:{\"a\":1}", "1!has text that is not JSON", "2:{\"b\":1}"]),
            ("{\"a\":[1}\n{\"b\":1}\n{\"c", &["1!is not JSON", "2:{\"b\":1}", "3!is cut short"]),
            ("I0101 started\n{\"b\":1}\n", &["1!has text that is not JSON", "1!", "2:{\"b\":1}"][..1]),
            ("{\"auditID\":\"cut\n{\"b\":1}\n", &["1!is cut short, lost", "2:{\"b\":1}"]),
            ("[x] I0101 started\n{\"b\":1}\n", &["1!has text that is not JSON", "2:{\"b\":1}"]),
            ("x\",\"stageTimestamp\":\"y\"}\n{\"b\":1}\n", &["1!has text that is not JSON, lost", "2:{\"b\":1}"]),
            ("on\",\"data\":{\"v\":1},\"stageTimestamp\":\"y\"}\n", &["1:{\"v\":1}", "1!has text that is not JSON, lost"]),
        ] {
            let found = split(text, 3);
            assert_eq!(&found[..wanted.len()], wanted, "{text}");
        }
        assert_eq!(split("I0101 started\n{\"b\":1}\n", 5), ["1!has text that is not JSON", "2:{\"b\":1}"]);
    }
}

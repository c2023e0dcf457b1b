//! Values out of the events of a YAML parser: anchors, merged members, and what one document may cost.
//!
//! The parser is libyaml's, as kubectl's is: line breaks, tabs and indentation are the same to both. To a parser of YAML 1.2, U+2028 and U+2029 end no
//! line. libyaml's errors are given our words, which repeat nothing of the text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Cursor, Read};

use libyaml_safer::{Encoding, Event, EventData, MappingStyle, Mark, Parser, ScalarStyle, SequenceStyle};
use serde_json::{Map, Value};

use super::scalar::{self, NoValue, Scalar};

/// Bytes that aliases may add to what a document says itself.
const MAX_ALIAS_BYTES: usize = 64 << 20;
/// Levels within one another; serde_json reads no more.
const MAX_DEPTH: usize = 127;
/// What ends a line of YAML 1.1.
const LINE_BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
/// Bytes that the parser looks at once.
const BUFFER_BYTES: usize = 1 << 14;

/// Why something cannot be read, and where: the line and the column count from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct YamlProblem {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) why: &'static str,
    /// Whether nothing behind it can be read.
    pub(super) is_end: bool,
}

impl YamlProblem {
    pub(super) fn at(mark: Mark, why: &'static str) -> Self {
        Self { line: mark.line + 1, column: mark.column + 1, why, is_end: false }
    }
}

/// Composes the values of one document.
pub(super) struct Composer<'t> {
    parser: Parser<Box<dyn BufRead + 't>>,
    /// The length of a text whose last line has no end, which the parser wants.
    unended: Option<u64>,
    ends_blank: bool,
    comma: Option<char>,
    /// Collections in braces or brackets that are open.
    flow: usize,
    anchors: HashMap<String, Value>,
    /// Collections that are open.
    depth: usize,
    /// Bytes that values may still take.
    left: usize,
    last: Mark,
}

impl<'t> Composer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut parser = Parser::new();
        // Asked to find out, it takes some first characters for a broken byte order mark.
        parser.set_encoding(Encoding::Utf8);
        let (text, comma) = without_commas_behind_tags(text);
        let (unended, length) = ((!text.ends_with(LINE_BREAKS)).then_some(text.len() as u64), text.len());
        let ends_blank = text.rsplit(LINE_BREAKS).next().is_some_and(|line| line.trim().is_empty());
        let end: &[u8] = if unended.is_some() { b"\n" } else { b"" };
        let input: Box<dyn BufRead + 't> = match text {
            Cow::Borrowed(text) => Box::new(BufReader::with_capacity(BUFFER_BYTES, text.as_bytes().chain(end))),
            Cow::Owned(text) => Box::new(BufReader::with_capacity(BUFFER_BYTES, Cursor::new(text.into_bytes()).chain(end))),
        };
        parser.set_input(input);
        Self {
            parser,
            unended,
            ends_blank,
            comma,
            flow: 0,
            anchors: HashMap::new(),
            depth: 0,
            left: length + MAX_ALIAS_BYTES,
            last: Mark::default(),
        }
    }

    pub(super) fn next(&mut self) -> Result<Event, YamlProblem> {
        let mut event = self.parser.parse().map_err(|error| {
            let mark = error.problem_mark().unwrap_or(self.last);
            YamlProblem { is_end: true, ..YamlProblem::at(mark, words(error.problem())) }
        })?;
        let is_last = self.unended.is_some_and(|end| event.end_mark.index >= end);
        match &mut event.data {
            EventData::Scalar { value, style, .. } => {
                let is_lines = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                // The line's end that was added is none of the text's.
                if is_last && is_lines && value.ends_with(if self.ends_blank { "\n\n" } else { "\n" }) {
                    value.pop();
                }
                if let Some(comma) = self.comma.filter(|&comma| value.contains(comma)) {
                    if self.flow > 0 && *style == ScalarStyle::Plain {
                        return Err(YamlProblem {
                            is_end: true,
                            ..YamlProblem::at(event.start_mark, "text with ! and a comma needs quotes")
                        });
                    }
                    *value = value.replace(comma, ",");
                }
            }
            EventData::SequenceStart { style, .. } => {
                self.depth += 1;
                self.flow += usize::from(self.flow > 0 || *style == SequenceStyle::Flow);
            }
            EventData::MappingStart { style, .. } => {
                self.depth += 1;
                self.flow += usize::from(self.flow > 0 || *style == MappingStyle::Flow);
            }
            EventData::SequenceEnd | EventData::MappingEnd => {
                self.depth = self.depth.saturating_sub(1);
                self.flow = self.flow.saturating_sub(1);
            }
            _ => {}
        }
        self.last = event.end_mark;
        Ok(event)
    }

    /// Collections that are open.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Passes over what follows until no more than `depth` collections are open.
    pub(super) fn skip_to(&mut self, depth: usize) -> Result<(), YamlProblem> {
        while self.depth > depth {
            self.next()?;
        }
        Ok(())
    }

    /// Composes the value that begins with an event. After an error that is not the end, the rest of the value is still to come.
    pub(super) fn value(&mut self, event: Event) -> Result<Value, YamlProblem> {
        let mark = event.start_mark;
        if self.depth > MAX_DEPTH {
            return Err(YamlProblem::at(mark, "it is nested too deeply"));
        }
        let (anchor, value) = match event.data {
            EventData::Scalar { anchor, tag, value, plain_implicit, .. } => {
                self.take(value.len(), mark)?;
                let value = resolved(mark, tag.as_deref(), value, plain_implicit)?;
                (anchor, value.value().map_err(|refusal| refused(mark, refusal))?)
            }
            EventData::Alias { anchor } => (None, self.aliased(&anchor, mark)?),
            EventData::SequenceStart { anchor, .. } => (anchor, self.list(mark)?),
            EventData::MappingStart { anchor, .. } => (anchor, self.object(mark)?),
            _ => return Err(YamlProblem::at(mark, NOT_YAML)),
        };
        if let Some(anchor) = anchor {
            self.take(size(&value), mark)?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn list(&mut self, mark: Mark) -> Result<Value, YamlProblem> {
        self.take(0, mark)?;
        let mut list = Vec::new();
        loop {
            let event = self.next()?;
            if event.data == EventData::SequenceEnd {
                return Ok(list.into());
            }
            list.push(self.value(event)?);
        }
    }

    fn object(&mut self, mark: Mark) -> Result<Value, YamlProblem> {
        self.take(0, mark)?;
        let mut members = MappingMembers::default();
        loop {
            let event = self.next()?;
            if event.data == EventData::MappingEnd {
                return Ok(members.map.into());
            }
            self.member(event, &mut members)?;
        }
    }

    /// Reads a member whose name begins with an event. After an error that is not the end the whole of it was passed over.
    pub(super) fn member(&mut self, event: Event, members: &mut MappingMembers) -> Result<(), YamlProblem> {
        let mark = event.start_mark;
        let opens = matches!(event.data, EventData::SequenceStart { .. } | EventData::MappingStart { .. });
        let depth = self.depth - usize::from(opens);
        let merges = is_merge(&event.data);
        let name = self.name(event);
        self.skip_to(depth)?;
        let event = self.next()?;
        let value = self.value(event);
        if value.as_ref().is_err_and(|problem| problem.is_end) {
            return value.map(drop);
        }
        self.skip_to(depth)?;
        let added = if merges {
            members.merge(value?).ok_or("<< merges something that is not an object")
        } else {
            members.insert(name?, value?).ok_or(DUPLICATE_MEMBER_ERROR)
        };
        added.map_err(|why| YamlProblem::at(mark, why))
    }

    /// The name of a member that begins with an event.
    pub(super) fn name(&mut self, event: Event) -> Result<String, YamlProblem> {
        const NO_NAME: &str = "a member's name is not text";
        let mark = event.start_mark;
        let (anchor, scalar) = match event.data {
            EventData::Scalar { anchor, tag, value, plain_implicit, .. } => {
                self.take(value.len(), mark)?;
                (anchor, resolved(mark, tag.as_deref(), value, plain_implicit)?)
            }
            EventData::Alias { anchor } => match self.aliased(&anchor, mark)? {
                Value::Bool(value) => (None, Scalar::Bool(value)),
                Value::String(text) => (None, Scalar::Text(text)),
                Value::Number(number) => (None, Scalar::Text(number.to_string())),
                _ => return Err(YamlProblem::at(mark, NO_NAME)),
            },
            _ => return Err(YamlProblem::at(mark, NO_NAME)),
        };
        if let Some(anchor) = anchor {
            let value = scalar.clone().value().map_err(|refusal| refused(mark, refusal))?;
            self.anchors.insert(anchor, value);
        }
        scalar.name().ok_or_else(|| YamlProblem::at(mark, NO_NAME))
    }

    fn aliased(&mut self, anchor: &str, mark: Mark) -> Result<Value, YamlProblem> {
        let Some(value) = self.anchors.get(anchor) else {
            return Err(YamlProblem::at(mark, "an alias names nothing that stands before it"));
        };
        let bytes = size(value);
        let value = value.clone();
        self.take(bytes, mark)?;
        Ok(value)
    }

    fn take(&mut self, bytes: usize, mark: Mark) -> Result<(), YamlProblem> {
        let left = self.left.checked_sub(bytes + 1);
        self.left = left.ok_or_else(|| YamlProblem::at(mark, "its aliases expand to far more than the file holds"))?;
        Ok(())
    }
}

/// A text whose commas directly behind what may be a tag are written as another character, which it does not hold: within brackets the parser panics
/// there. If it is not a tag, they are put back.
fn without_commas_behind_tags(text: &str) -> (Cow<'_, str>, Option<char>) {
    let is_of_tag = |byte: u8| byte.is_ascii_alphanumeric() || b"-_;/?:@&=+$.%!~*'()[]<>#^|`\"".contains(&byte);
    let bytes = text.as_bytes();
    let mut commas = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'!', &bytes[at..]) {
        at += found + 1;
        let begins = bytes[..at - 1].last().is_none_or(|&before| !before.is_ascii() || b" \t\r\n[]{},:?\"'".contains(&before));
        at += bytes[at..].iter().take_while(|&&byte| is_of_tag(byte)).count();
        if begins && bytes.get(at) == Some(&b',') {
            commas.push(at);
        }
    }
    if commas.is_empty() || memchr::memchr2(b'[', b'{', bytes).is_none() {
        return (Cow::Borrowed(text), None);
    }
    let Some(comma) = ('\u{e000}'..='\u{f8ff}').find(|&c| !text.contains(c)) else { return (Cow::Borrowed(""), None) };
    let mut written = String::with_capacity(text.len() + 2 * commas.len());
    let mut from = 0;
    for at in commas {
        written.push_str(&text[from..at]);
        written.push(comma);
        from = at + 1;
    }
    written.push_str(&text[from..]);
    (Cow::Owned(written), Some(comma))
}

/// The members of an object while they are read. As go-yaml does it, what `<<` brings replaces what stands before it.
#[derive(Default)]
pub(super) struct MappingMembers {
    pub(super) map: Map<String, Value>,
    /// Names that came by `<<` alone.
    merged: HashSet<String>,
}

impl MappingMembers {
    /// Adds a member; `None` where one of its name was written before.
    fn insert(&mut self, name: String, value: Value) -> Option<()> {
        if self.map.contains_key(&name) && !self.merged.remove(&name) {
            return None;
        }
        self.map.insert(name, value);
        Some(())
    }

    /// Adds the members of an object, or of a list of objects, of which the first counts.
    fn merge(&mut self, value: Value) -> Option<()> {
        let objects = match value {
            Value::Array(items) => items,
            object => vec![object],
        };
        for object in objects.into_iter().rev() {
            let Value::Object(members) = object else { return None };
            for (name, value) in members {
                if self.map.insert(name.clone(), value).is_none() {
                    self.merged.insert(name);
                }
            }
        }
        Some(())
    }
}

/// Whether the name of a member says that another object's are merged.
fn is_merge(event: &EventData) -> bool {
    matches!(event, EventData::Scalar { value, plain_implicit: true, .. } if value == "<<")
        || matches!(event, EventData::Scalar { value, tag: Some(tag), .. } if value == "<<" && tag == "tag:yaml.org,2002:merge")
}

fn resolved(mark: Mark, tag: Option<&str>, text: String, plain: bool) -> Result<Scalar, YamlProblem> {
    scalar::resolve(tag, text, plain).map_err(|refusal| refused(mark, refusal))
}

fn refused(mark: Mark, refusal: NoValue) -> YamlProblem {
    let why = match refusal {
        NoValue::Tag => "a tag names a type that its value does not have",
        NoValue::NotFinite => "infinity and NaN cannot be written as JSON",
    };
    YamlProblem::at(mark, why)
}

/// The bytes of a value's text, as [`Composer::take`] counts them.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.iter().map(|(name, member)| name.len() + size(member)).sum(),
        _ => 0,
    }
}

const NOT_YAML: &str = "it is not valid YAML";

const DUPLICATE_MEMBER_ERROR: &str = "a member is written twice in one object; a line --- between two objects may be missing";

fn words(problem: &str) -> &'static str {
    const PLAIN_WORDS: [(&str, &str); 16] = [
        ("tab character", "a tab stands where only spaces indent"),
        ("cannot start any token", "no value begins with this character: text needs quotes before it, and spaces indent, not tabs"),
        ("mapping values", "a colon stands where no member can be: text with a colon and a space needs quotes"),
        ("mapping keys", "a member's name stands where none can be"),
        ("expected key", "the lines are not indented alike, or a member lacks its colon"),
        ("expected ':'", "a member lacks its colon"),
        ("'-' indicator", "the items of a list are not indented alike"),
        ("block sequence entries", "an item of a list stands where none can be"),
        ("',' or ']'", "a list in brackets does not end, or lacks a comma"),
        ("',' or '}'", "an object in braces does not end, or lacks a comma"),
        ("unexpected end of stream", "a text in quotes does not end"),
        ("unexpected document indicator", "a text in quotes does not end"),
        ("escape", "a backslash in quotes is followed by what it cannot escape"),
        ("control characters", "a control character stands in it, as the colours of a terminal do"),
        ("tag", "a tag is not valid"),
        ("directive", "a line that begins with % is not valid"),
    ];
    PLAIN_WORDS.iter().find(|(part, _)| problem.contains(part)).map_or(NOT_YAML, |(_, words)| words)
}

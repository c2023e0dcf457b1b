//! A stream of JSON documents; one document and lines of JSON are streams too. Objects stay where they lie in the file.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};

use super::collection::{Collected, Objects, is_list, is_named, name_after, watch_event};
use super::container_log::behind_log;
use super::document::{self, DocumentPart};

/// Reads the documents from `start` on; returns what cannot be read.
pub(super) fn read(objects: &mut Objects<'_>, bytes: &Bytes, start: usize) -> Vec<String> {
    let mut reader = JsonReader { objects, bytes, damage: Vec::new() };
    let mut from = start;
    let mut stream = Deserializer::from_slice(&bytes[from..]).into_iter::<&RawValue>();
    loop {
        let offset = from + stream.byte_offset();
        match behind_log(bytes, offset) {
            Some(end) if end > offset => {
                from = end;
                stream = Deserializer::from_slice(&bytes[from..]).into_iter::<&RawValue>();
                continue;
            }
            Some(_) => {}
            None => {
                reader.damage.push("the log of a container in it has no end; what follows it is missing".to_owned());
                break;
            }
        }
        match stream.next() {
            Some(Ok(document)) => reader.document(document),
            Some(Err(error)) => {
                let above = bytes[start..from].iter().filter(|&&byte| byte == b'\n').count();
                reader.torn(&bytes[offset..], &error, above);
                break;
            }
            None => break,
        }
    }
    reader.damage
}

struct JsonReader<'r, 'k> {
    objects: &'r mut Objects<'k>,
    bytes: &'r [u8],
    damage: Vec<String>,
}

impl<'r> JsonReader<'r, '_> {
    fn document(&mut self, text: &'r RawValue) {
        let damage = self.damage.len();
        let mut reading = ListReader::new(self);
        let read = document::read(&mut Deserializer::from_str(text.get()), |part| reading.take(part));
        let Content { list, mark, items, .. } = reading.finish();
        if items && read.is_ok() && (is_list(&list) || !list.contains_key("kind")) {
            self.objects.add_list(&list);
        } else {
            // An object that is not a list may have a member of that name, too.
            self.objects.back_to(mark);
            self.damage.truncate(damage);
            self.item(text, &Map::new());
        }
    }

    /// The last document, which cannot be read to its end: the items before the break. The error counts from the line after `above`.
    fn torn(&mut self, rest: &'r [u8], error: &serde_json::Error, above: usize) {
        let mut reading = ListReader::new(self);
        // It fails where the whole document did.
        let _ = document::read(&mut Deserializer::from_slice(rest), |part| reading.take(part));
        let Content { list, mark, items, .. } = reading.finish();
        if items && (is_list(&list) || !list.contains_key("kind")) {
            self.objects.add_list(&list);
        } else {
            self.objects.back_to(mark);
        }
        let (line, column) = (above + error.line(), error.column());
        let how = if error.is_eof() { "is cut short" } else { "is damaged" };
        self.damage.push(format!(
            "the JSON {how} at line {line}, column {column} ({}); the object there and whatever follows it are missing",
            reason(error)
        ));
    }

    /// An object, or a list within a list; `list` names it where it does not do so itself.
    fn item(&mut self, text: &'r RawValue, list: &Map<String, Value>) {
        if let Some(object) = self.parse(text) {
            self.add(text, object, list);
        }
    }

    fn parse(&mut self, text: &'r RawValue) -> Option<Value> {
        let why = match serde_json::from_str(text.get()) {
            Ok(object @ Value::Object(_)) => return Some(object),
            Ok(_) => format!("the value at line {} is not an API object", self.line(text)),
            Err(error) => format!("the object that begins at line {} cannot be read: {}", self.line(text), reason(&error)),
        };
        self.damage.push(why);
        None
    }

    fn add(&mut self, text: &'r RawValue, mut object: Value, list: &Map<String, Value>) {
        if object.as_object().is_some_and(is_list) && object["items"].is_array() {
            self.document(text);
        } else if name_after(list, &mut object) || self.objects.complete(&mut object) || watch_event(&object).is_some() {
            self.objects.add_written(&object);
        } else {
            self.objects.add_in_file(&object, self.offset(text), text.get().len());
        }
    }

    fn offset(&self, text: &RawValue) -> usize {
        text.get().as_ptr().addr() - self.bytes.as_ptr().addr()
    }

    fn line(&self, text: &RawValue) -> usize {
        1 + self.bytes[..self.offset(text)].iter().filter(|&&byte| byte == b'\n').count()
    }
}

/// What a document says in addition to its items.
struct Content<'r> {
    list: Map<String, Value>,
    mark: Collected,
    items: bool,
    /// Items that must be named after the list, whose kind has not come yet.
    nameless: Vec<&'r RawValue>,
}

/// Takes the parts of a document that may be a list.
struct ListReader<'p, 'r, 'k> {
    reader: &'p mut JsonReader<'r, 'k>,
    content: Content<'r>,
}

impl<'p, 'r, 'k> ListReader<'p, 'r, 'k> {
    fn new(reader: &'p mut JsonReader<'r, 'k>) -> Self {
        let mark = reader.objects.mark();
        Self { reader, content: Content { list: Map::new(), mark, items: false, nameless: Vec::new() } }
    }

    fn take(&mut self, part: DocumentPart<'r>) {
        match part {
            DocumentPart::Member(name, value) => self.member(name, value),
            DocumentPart::Items => self.content.items = true,
            DocumentPart::Item(item) => self.item(item),
        }
    }

    fn member(&mut self, name: String, value: &'r RawValue) {
        if matches!(name.as_str(), "kind" | "apiVersion" | "metadata")
            && let Ok(value) = serde_json::from_str(value.get())
        {
            self.content.list.insert(name, value);
        }
    }

    fn item(&mut self, item: &'r RawValue) {
        let Some(object) = self.reader.parse(item) else { return };
        if is_named(&object) || self.content.list.contains_key("kind") {
            self.reader.add(item, object, &self.content.list);
        } else {
            self.content.nameless.push(item);
        }
    }

    fn finish(mut self) -> Content<'r> {
        for item in std::mem::take(&mut self.content.nameless) {
            self.reader.item(item, &self.content.list);
        }
        self.content
    }
}

/// An error's words, without its place. Those of a parser repeat nothing of the text; those about a type would.
fn reason(error: &serde_json::Error) -> String {
    if error.is_data() {
        return "an API object or a list of them is expected".to_owned();
    }
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

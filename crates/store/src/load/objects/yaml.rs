//! A stream of YAML documents, each read item by item where it is a list. What is read becomes JSON.

use bytes::Bytes;
use serde::de::DeserializeSeed;
use serde_json::{Map, Value};
use serde_saphyr::{Options, with_deserializer_from_str_with_options};

use super::document::{Document, Parts};
use super::expansion::{EXPANDS, WithAllowance};
use super::{Objects, is_list, is_named, name_after};

/// Bytes that aliases may add to what a document says itself.
const ALIASES: usize = 64 << 20;
/// Levels within one another; serde_json reads no more.
const DEPTH: usize = 127;

/// Reads the documents; returns what cannot be read.
pub(super) fn read(objects: &mut Objects<'_>, bytes: &Bytes) -> Vec<String> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    let end = bytes[..valid].iter().position(|&byte| byte == 0).unwrap_or(valid);
    let text = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    let mut damage = Vec::new();
    let mut line = 1;
    for document in documents(text) {
        damage.extend(read_document(objects, document, line));
        line += lines(document);
    }
    if end < bytes.len() {
        damage.push(format!("line {} holds bytes that are not text; what follows is missing", 1 + lines(text)));
    }
    damage
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// The documents of a stream. A line that begins with `---` or `...` ends one wherever it stands (YAML 1.2, 9.1.2); directives belong to what follows.
fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = 0;
        let mut content = false;
        for line in rest.split_inclusive('\n') {
            let marker = line.get(..3).filter(|_| line[3..].chars().next().is_none_or(char::is_whitespace));
            match marker {
                Some("---") if content => break,
                Some("...") => {
                    end += line.len();
                    break;
                }
                Some("---") => content = true,
                _ => content |= !line.trim().is_empty() && !line.starts_with(['#', '%']),
            }
            end += line.len();
        }
        let (document, after) = rest.split_at(end);
        rest = after;
        Some(document)
    })
}

/// Reads one document that begins at `line`.
fn read_document(objects: &mut Objects<'_>, text: &str, line: usize) -> Vec<String> {
    let content = |line: &str| !matches!(line.trim(), "" | "---" | "...") && !line.trim_start().starts_with('#');
    if !text.lines().any(content) {
        return Vec::new();
    }
    let mark = objects.mark();
    let mut parts = YamlParts { objects, list: Map::new(), items: false, refused: false, nameless: Vec::new(), left: text.len() + ALIASES };
    let read = with_deserializer_from_str_with_options(text, options(), |deserializer| Document(&mut parts).deserialize(deserializer));
    let YamlParts { list, items, refused, nameless, .. } = parts;
    if refused || items && list.contains_key("kind") && !is_list(&list) {
        // What is no list may have a member of that name all the same.
        objects.back_to(mark);
        return whole(objects, text, line);
    }
    let mut damage = Vec::new();
    if items {
        for mut item in nameless {
            name_after(&list, &mut item);
            add(objects, item);
        }
        objects.add_list(&list);
    }
    match read {
        Err(error) => damage.push(torn(&error, line, items)),
        Ok(()) if items && !list.is_empty() && !list.contains_key("kind") => {
            damage.push(format!("the list that begins at line {line} has no kind, which kubectl writes at its end: it is cut short, its last object may lack its end"));
        }
        Ok(()) if items || list.is_empty() => {}
        Ok(()) => add(objects, Value::Object(list)),
    }
    damage
}

/// Reads a document as one object.
fn whole(objects: &mut Objects<'_>, text: &str, line: usize) -> Vec<String> {
    let mut left = text.len() + ALIASES;
    match with_deserializer_from_str_with_options(text, options(), |deserializer| WithAllowance(&mut left).deserialize(deserializer)) {
        Ok(object) => {
            add(objects, object);
            Vec::new()
        }
        Err(error) => vec![torn(&error, line, false)],
    }
}

/// Adds an object, or the objects of a list.
fn add(objects: &mut Objects<'_>, mut object: Value) {
    let is_list = object.as_object().is_some_and(is_list);
    if is_list && let Some(Value::Array(items)) = object.get_mut("items").map(Value::take) {
        let Value::Object(list) = object else { return };
        objects.add_list(&list);
        for mut item in items {
            name_after(&list, &mut item);
            add(objects, item);
        }
        return;
    }
    objects.add_written(&object);
}

/// What is lost of a document that cannot be read to its end.
fn torn(error: &serde_saphyr::Error, line: usize, items: bool) -> String {
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default();
    let (place, reason) = match error.location() {
        Some(location) => {
            let (row, column) = (location.line(), location.column());
            let reason = text.strip_suffix(&format!(" at line {row}, column {column}")).unwrap_or(text);
            (format!("at line {}, column {column}", line as u64 + row - 1), reason)
        }
        None => (format!("in the document that begins at line {line}"), text),
    };
    let reason = match reason.split_once("budget breached: ") {
        Some((_, breach)) if breach.starts_with("Depth") => "it is nested too deeply",
        Some(_) => EXPANDS,
        None => reason,
    };
    let lost = if items { "the object there and the rest of its list are missing" } else { "the document there is missing" };
    format!("the YAML cannot be read {place} ({reason}); {lost}")
}

/// A document of the file's own size is no attack; what its aliases add is counted as it is read.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_depth: DEPTH,
            enforce_alias_anchor_ratio: false,
        },
        emit_comments: false,
        with_snippet: false,
    }
}

struct YamlParts<'p, 'k> {
    objects: &'p mut Objects<'k>,
    list: Map<String, Value>,
    items: bool,
    refused: bool,
    /// Items that must be named after the list, whose kind has not come yet.
    nameless: Vec<Value>,
    /// Bytes that the document may still bring.
    left: usize,
}

impl<'de> Parts<'de> for YamlParts<'_, '_> {
    type Part = Value;

    fn seed(&mut self) -> impl DeserializeSeed<'de, Value = Value> {
        WithAllowance(&mut self.left)
    }

    fn member(&mut self, name: String, value: Value) {
        self.list.insert(name, value);
    }

    fn items(&mut self) {
        self.items = true;
    }

    fn item(&mut self, mut item: Value) {
        if !is_named(&item) {
            if !self.list.contains_key("kind") {
                self.nameless.push(item);
                return;
            }
            name_after(&self.list, &mut item);
        }
        add(self.objects, item);
    }

    fn no_items(&mut self) {
        self.refused = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_at_its_markers() {
        let cut = |text: &'static str| documents(text).collect::<Vec<_>>();
        assert_eq!(cut("a: 1\n---\nb: 2\n"), ["a: 1\n", "---\nb: 2\n"]);
        assert_eq!(
            cut("%YAML 1.2\n---\na: 1\n...\n# c\n---\nb: |\n  ---\n---- 1\n"),
            ["%YAML 1.2\n---\na: 1\n...\n", "# c\n---\nb: |\n  ---\n---- 1\n"]
        );
        assert_eq!(cut("---\n---\n--- {a: 1}\n---"), ["---\n", "---\n", "--- {a: 1}\n", "---"]);
    }
}

//! A stream of YAML documents, each read item by item where it is a list. What is read becomes JSON, and means what it means to kubectl.

mod composer;
mod scalar;
#[cfg(test)]
mod table;

use bytes::Bytes;
use composer::{Composer, MappingMembers, YamlProblem};
use libyaml_safer::{Event, EventData};
use serde_json::Value;

use super::collection::{Objects, is_list, is_named, name_after};
use super::container_log::without_logs;

/// Reads the documents; returns what cannot be read.
pub(super) fn read(objects: &mut Objects<'_>, bytes: &Bytes) -> Vec<String> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    let end = bytes[..valid].iter().position(|&byte| byte == 0).unwrap_or(valid);
    let text = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    let mut damage = Vec::new();
    let (pieces, is_cut) = without_logs(text);
    for (mut line, piece) in pieces {
        for document in documents(piece) {
            damage.extend(read_document(objects, document, line));
            line += lines(document);
        }
    }
    damage.extend(is_cut.then(|| "the log of a container in it has no end; what follows it is missing".to_owned()));
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
    let mut document = YamlDocument::new(Composer::new(text), objects, line);
    document.read();
    let YamlDocument { list: MappingMembers { map: list, .. }, items, mut damage, is_whole, .. } = document;
    if items == ItemsMember::Other || items == ItemsMember::Listed && list.contains_key("kind") && !is_list(&list) {
        // An object that is not a list may have a member of that name, too.
        objects.back_to(mark);
        return whole(objects, text, line);
    }
    if is_whole && items == ItemsMember::Listed && !list.is_empty() && !list.contains_key("kind") {
        damage.push(format!("the list that begins at line {line} has no kind, which kubectl writes at its end: it is cut short, its last object may lack its end"));
    } else if is_whole && items == ItemsMember::None && !list.is_empty() {
        add(objects, Value::Object(list));
    }
    damage
}

/// Reads a document as one object.
fn whole(objects: &mut Objects<'_>, text: &str, line: usize) -> Vec<String> {
    let mut composer = Composer::new(text);
    match begin(&mut composer).and_then(|event| composer.value(event)) {
        Ok(object) => {
            add(objects, object);
            Vec::new()
        }
        Err(problem) => vec![sentence(&problem, line, "the document there is missing")],
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
    objects.complete(&mut object);
    objects.add_written(&object);
}

/// What is lost of a document at a place of it.
fn sentence(problem: &YamlProblem, line: usize, lost: &str) -> String {
    format!("the YAML cannot be read at line {}, column {} ({}); {lost}", line as u64 + problem.line - 1, problem.column, problem.why)
}

/// The event that a document's content begins with.
fn begin(composer: &mut Composer<'_>) -> Result<Event, YamlProblem> {
    loop {
        let event = composer.next()?;
        if !matches!(event.data, EventData::StreamStart { .. } | EventData::DocumentStart { .. }) {
            return Ok(event);
        }
    }
}

/// What the member `items` of a document is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemsMember {
    None,
    Listed,
    /// No list.
    Other,
}

/// A document while it is read: a list's items are added as they come, its other members are kept.
struct YamlDocument<'t, 'o, 'k> {
    composer: Composer<'t>,
    objects: &'o mut Objects<'k>,
    /// The line of the file that it begins at.
    line: usize,
    list: MappingMembers,
    items: ItemsMember,
    /// Items that must be named after the list, whose kind has not come yet.
    nameless: Vec<Value>,
    damage: Vec<String>,
    /// Whether its own members could all be read.
    is_whole: bool,
}

impl<'t, 'o, 'k> YamlDocument<'t, 'o, 'k> {
    fn new(composer: Composer<'t>, objects: &'o mut Objects<'k>, line: usize) -> Self {
        let (list, nameless, damage) = (MappingMembers::default(), Vec::new(), Vec::new());
        Self { composer, objects, line, list, items: ItemsMember::None, nameless, damage, is_whole: true }
    }

    fn read(&mut self) {
        let read = self.content();
        // Items that came before a break are there all the same.
        for mut item in std::mem::take(&mut self.nameless) {
            name_after(&self.list.map, &mut item);
            add(self.objects, item);
        }
        if self.items == ItemsMember::Listed {
            self.objects.add_list(&self.list.map);
        }
        // The end was reported already.
        if let Err(problem) = read
            && self.is_whole
        {
            let _ = self.problem(&problem);
        }
    }

    fn content(&mut self) -> Result<(), YamlProblem> {
        let event = begin(&mut self.composer)?;
        match event.data {
            EventData::MappingStart { .. } => self.members()?,
            EventData::SequenceStart { .. } => self.items()?,
            _ if is_null(&event.data) => {}
            _ => return Err(YamlProblem { is_end: true, ..YamlProblem::at(event.start_mark, "there is text, not an object") }),
        }
        if self.items == ItemsMember::Other {
            return Ok(());
        }
        self.composer.next()?;
        let event = self.composer.next()?;
        if event.data != EventData::StreamEnd {
            let problem = YamlProblem::at(event.start_mark, "a line --- is missing before it");
            self.damage.push(sentence(&problem, self.line, "what follows in the document is missing"));
        }
        Ok(())
    }

    fn members(&mut self) -> Result<(), YamlProblem> {
        loop {
            let event = self.composer.next()?;
            let is_items = matches!(&event.data, EventData::Scalar { value, anchor: None, .. } if value == "items");
            if event.data == EventData::MappingEnd {
                return Ok(());
            }
            if is_items && self.items == ItemsMember::None {
                let event = self.composer.next()?;
                match event.data {
                    EventData::SequenceStart { anchor: None, .. } => self.items()?,
                    EventData::Scalar { .. } if is_null(&event.data) => self.items = ItemsMember::Listed,
                    _ => {
                        self.items = ItemsMember::Other;
                        return Ok(());
                    }
                }
            } else if let Err(problem) = self.composer.member(event, &mut self.list) {
                self.problem(&problem)?;
            }
        }
    }

    /// Reads the items of a list that has begun.
    fn items(&mut self) -> Result<(), YamlProblem> {
        self.items = ItemsMember::Listed;
        let depth = self.composer.depth();
        loop {
            let event = self.composer.next()?;
            if event.data == EventData::SequenceEnd {
                return Ok(());
            }
            match self.composer.value(event) {
                Ok(item) => self.item(item),
                Err(problem) => {
                    self.problem(&problem)?;
                    self.composer.skip_to(depth)?;
                }
            }
        }
    }

    fn item(&mut self, mut item: Value) {
        if !is_named(&item) {
            if !self.list.map.contains_key("kind") {
                self.nameless.push(item);
                return;
            }
            name_after(&self.list.map, &mut item);
        }
        add(self.objects, item);
    }

    /// Reports what is lost; returns the problem where nothing behind it can be read.
    fn problem(&mut self, problem: &YamlProblem) -> Result<(), YamlProblem> {
        let lost = match (self.items, problem.is_end) {
            (ItemsMember::Listed, true) => "the object there and the rest of its list are missing",
            (ItemsMember::Listed, false) => "the object there is missing",
            _ => "the document there is missing",
        };
        // One problem is enough for a single document that is not a list.
        if self.is_whole || self.items == ItemsMember::Listed {
            self.damage.push(sentence(problem, self.line, lost));
        }
        self.is_whole &= self.items == ItemsMember::Listed && !problem.is_end;
        if problem.is_end { Err(*problem) } else { Ok(()) }
    }
}

fn is_null(event: &EventData) -> bool {
    matches!(event, EventData::Scalar { value, plain_implicit: true, .. } if matches!(value.as_str(), "" | "~" | "null" | "Null" | "NULL"))
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

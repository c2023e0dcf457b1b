//! An object as YAML, each line with who last set it.

use std::io::{self, Write};

use serde_json::Value;

use super::change_text::{clock_time, revision_text};
use super::contract::blame as contract;
use super::contract::common::{ActorFrom, KubernetesObject, Time};
use super::request_text;
use super::style::{self, StyledWrite, paint};
use super::value::{self, columns, padded};
use super::visible::visible;
use ketcd_history::blame::{Blamed, Setter, SetterTree};
use ketcd_history::diff::ManagedFields;
use ketcd_kube::Object;

/// Terminals of fewer columns have no room between the columns of the margin.
const MIN_ROOMY_COLUMNS: usize = 100;
/// The least columns of the revision, the time and the manager's name where there is room.
const MIN_MARGIN_COLUMNS: [usize; 3] = [7, 12, 24];
/// The least columns of the object.
const MIN_OBJECT_COLUMNS: usize = 20;

/// Writes the object as YAML with its blame to the left: revision, time, manager. Lines are cut to `width`, where there is one.
///
/// # Errors
/// The stream's.
pub fn write_text(
    object: &Value,
    blamed: &Blamed,
    managed_fields: ManagedFields,
    width: Option<usize>,
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let is_roomy = width.is_none_or(|width| width >= MIN_ROOMY_COLUMNS);
    let margins: Vec<[String; 3]> = blamed.setters.iter().map(|setter| margin(setter, is_roomy)).collect();
    let least = if is_roomy { MIN_MARGIN_COLUMNS } else { [0; 3] };
    let widths = std::array::from_fn(|place| margins.iter().map(|margin| columns(&margin[place])).max().unwrap_or(0).max(least[place]));
    let mut margin = BlameMargin { margins, widths, gap: if is_roomy { "  " } else { " " }, width, out, last: None };
    each_line(object, &blamed.lines, managed_fields, &mut |setter, text| margin.line(setter, text))
}

/// Hands each line of an object's YAML to `take`, with the number of who set it.
///
/// # Errors
/// Those of `take`.
pub(crate) fn each_line(
    object: &Value,
    lines: &SetterTree,
    managed_fields: ManagedFields,
    take: &mut dyn FnMut(usize, &str) -> io::Result<()>,
) -> io::Result<()> {
    BlamedYaml { managed_fields, take }.members(object, lines, 0, "")
}

struct BlamedYaml<'a> {
    managed_fields: ManagedFields,
    take: &'a mut dyn FnMut(usize, &str) -> io::Result<()>,
}

impl BlamedYaml<'_> {
    /// The members of an object, or the items of a list; `lead` stands before the first line in place of its indent.
    fn members(&mut self, value: &Value, lines: &SetterTree, indent: usize, lead: &str) -> io::Result<()> {
        let mut lead = lead.to_owned();
        match (value, lines) {
            (Value::Object(map), SetterTree::Object(known, _)) => {
                for (name, lines) in known {
                    let Some(value) = map.get(name) else { continue };
                    if name == "managedFields" && self.managed_fields == ManagedFields::Hidden {
                        continue;
                    }
                    let start = if lead.is_empty() { " ".repeat(indent) } else { std::mem::take(&mut lead) };
                    self.member(&format!("{start}{}:", scalar_text(name)), value, lines, indent)?;
                }
            }
            (Value::Array(items), SetterTree::List(known, _)) => {
                for (item, lines) in items.iter().zip(known) {
                    let start = format!("{}- ", if lead.is_empty() { " ".repeat(indent) } else { std::mem::take(&mut lead) });
                    match item {
                        Value::Object(map) if !map.is_empty() => self.members(item, lines, indent + 2, &start)?,
                        Value::Array(list) if !list.is_empty() => self.members(item, lines, indent + 2, &start)?,
                        _ => (self.take)(lines.own(), &format!("{start}{}", scalar(item)))?,
                    }
                }
            }
            _ => (self.take)(lines.own(), &format!("{lead}{}", scalar(value)))?,
        }
        Ok(())
    }

    fn member(&mut self, head: &str, value: &Value, lines: &SetterTree, indent: usize) -> io::Result<()> {
        match value {
            Value::Object(map) if !map.is_empty() => {
                (self.take)(lines.own(), head)?;
                self.members(value, lines, indent + 2, "")
            }
            Value::Array(items) if !items.is_empty() => {
                (self.take)(lines.own(), head)?;
                self.members(value, lines, indent, "")
            }
            _ => (self.take)(lines.own(), &format!("{head} {}", scalar(value))),
        }
    }
}

/// The lines of a terminal: who set each, and the line.
struct BlameMargin<'a> {
    /// The revision, the time and the manager of each setter.
    margins: Vec<[String; 3]>,
    /// Their columns: nothing of them is cut.
    widths: [usize; 3],
    /// What stands between the first two.
    gap: &'static str,
    width: Option<usize>,
    out: &'a mut dyn StyledWrite,
    /// The setter named on the line before: it is not repeated.
    last: Option<usize>,
}

impl BlameMargin<'_> {
    fn line(&mut self, setter: usize, text: &str) -> io::Result<()> {
        let [revision_width, time_width, who_width] = self.widths;
        let margin_width = revision_width + self.gap.len() + time_width + 1 + who_width;
        let margin = match &self.margins[setter] {
            _ if self.last == Some(setter) => " ".repeat(margin_width),
            [revision, time, who] => {
                format!("{revision:>revision_width$}{}{time:<time_width$} {}", self.gap, padded(who, who_width))
            }
        };
        self.last = Some(setter);
        let text = visible(text);
        let room = |width: usize| width.saturating_sub(margin_width + 2).max(MIN_OBJECT_COLUMNS);
        let text = self.width.map_or_else(|| text.to_string(), |width| value::cut(&text, room(width)));
        writeln!(self.out, "{}  {text}", paint(style::FAINT, margin))
    }
}

/// The revision, the time and the manager of a setter.
fn margin(setter: &Setter, is_roomy: bool) -> [String; 3] {
    let revision = setter.revision.map_or_else(|| "earlier".to_owned(), |revision| revision_text(revision, setter.is_placed));
    let who = setter.by.as_ref().map(request_text::actor).unwrap_or_default();
    let time = clock_time(setter.dated);
    [revision, if is_roomy { time } else { time.trim().to_owned() }, who]
}

/// A scalar that YAML 1.1 and 1.2 readers read as the same value: text that could be taken for something else is quoted as in JSON.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => scalar_text(text),
        other => other.to_string(),
    }
}

fn scalar_text(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let word = text.to_ascii_lowercase();
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan", ".inf", "-.inf"].contains(&word.as_str());
    let starts_as_word = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    if starts_as_word && !reserved && text.chars().all(plain) { text.to_owned() } else { Value::from(text).to_string() }
}

/// Writes the separator before one of several objects: in a JSON list or between YAML documents.
///
/// # Errors
/// The stream's.
pub fn write_between(is_list: bool, is_first: bool, out: &mut dyn Write) -> io::Result<()> {
    match (is_list, is_first) {
        (true, true) => write!(out, "{{\"items\":["),
        (true, false) => write!(out, ","),
        (false, true) => Ok(()),
        (false, false) => writeln!(out, "---"),
    }
}

/// Ends a list of JSON, which may be empty.
///
/// # Errors
/// The stream's.
pub fn write_end(is_empty: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}],\"kind\":\"List\"}}", if is_empty { "{\"items\":[" } else { "" })
}

/// Writes one JSON document: the object, and for each leaf its path, revision, time and manager.
///
/// # Errors
/// The stream's.
pub fn write_json(object: &Object, blamed: &Blamed, managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Vec::new();
    collect(&blamed.lines, String::new(), blamed, managed_fields, &mut lines);
    serde_json::to_writer(&mut *out, &contract::Blame { lines, object: KubernetesObject { object, managed_fields } })?;
    writeln!(out)
}

fn collect(lines: &SetterTree, path: String, blamed: &Blamed, managed_fields: ManagedFields, leaves: &mut Vec<contract::BlamedLine>) {
    match lines {
        SetterTree::Object(members, _) if !members.is_empty() => {
            for (name, lines) in members {
                if name == "managedFields" && path == "/metadata" && managed_fields == ManagedFields::Hidden {
                    continue;
                }
                collect(lines, format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), blamed, managed_fields, leaves);
            }
        }
        SetterTree::List(items, _) if !items.is_empty() => {
            for (place, lines) in items.iter().enumerate() {
                collect(lines, format!("{path}/{place}"), blamed, managed_fields, leaves);
            }
        }
        _ => {
            let setter = &blamed.setters[lines.own()];
            leaves.push(contract::BlamedLine {
                by: setter.by.as_ref().map(ToString::to_string),
                by_from: ActorFrom::of(setter.by.as_ref()),
                path,
                revision: setter.revision.map(|revision| revision.0),
                time: Time::of(setter.dated),
                time_error_seconds: setter.dated.map(|dated| dated.error),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_could_be_something_else_is_quoted() {
        let scalars: Vec<_> = ["nginx", "true", "1.5", "", "a: b", "app.kubernetes.io/name", "No", "2026-01-01", "- x"]
            .into_iter()
            .map(scalar_text)
            .collect();
        assert_eq!(
            scalars,
            ["nginx", "\"true\"", "\"1.5\"", "\"\"", "\"a: b\"", "app.kubernetes.io/name", "\"No\"", "\"2026-01-01\"", "\"- x\""]
        );
    }
}

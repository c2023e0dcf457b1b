//! What a search found: by object, each value with its path, from which revision to which it was there, and who set it.

use std::io::{self, Write};

use super::change_text::{clock_time, revision_text};
use super::contract::grep::{Count, Found, Item, LeftOutOfSearch, Match, MatchedObject};
use super::contract::window::HistoryWindow;
use super::style::{self, StyledWrite, paint};
use super::value::{self, columns, padded};
use super::visible::visible;
use super::{json, request_text};
use ketcd_cluster::grep::{FoundObject, Grep, Place, Searched, Setter, SpanEnd, ValueSpan};
use ketcd_history::ActorFrom;

/// Columns of a path, before it runs over.
const PATH_COLUMNS: usize = 40;
/// Columns of who set a value, before it runs over.
const WHO_COLUMNS: usize = 32;
/// The fewest columns for a value next to all else.
const MIN_VALUE_COLUMNS: usize = 16;
const COLUMN_GAP: &str = "  ";

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchAmount {
    /// Each value.
    Values,
    /// The objects alone.
    Objects,
    /// How many there are.
    Count,
}

/// How what was found is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text. Values are cut to the width, where there is one.
    Text(Option<usize>),
    /// As JSON, each item a line.
    Lines,
    /// As one JSON document.
    Document,
}

/// Writes what was found, object by object, as it comes.
#[derive(Debug)]
pub struct GrepPrinter {
    form: Form,
    amount: MatchAmount,
    matches: usize,
    objects: usize,
    /// Whether a time or an author needs the words below it.
    is_inferred: bool,
    may_begin_earlier: bool,
}

impl GrepPrinter {
    /// A printer that has written nothing yet.
    pub fn new(form: Form, amount: MatchAmount) -> Self {
        Self { form, amount, matches: 0, objects: 0, is_inferred: false, may_begin_earlier: false }
    }

    /// Whether nothing was found so far.
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Writes what was found in the next object.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, object: &FoundObject, out: &mut dyn StyledWrite) -> io::Result<()> {
        let is_first = self.is_empty();
        self.objects += 1;
        self.matches += object.spans.len();
        match (self.form, self.amount) {
            (_, MatchAmount::Count) => Ok(()),
            (Form::Text(_), MatchAmount::Objects) => writeln!(out, "{}", visible(&object.name)),
            (Form::Text(width), MatchAmount::Values) => self.write_values(object, width, out),
            (Form::Lines, _) => self.items(object).try_for_each(|item| json::write_line(&item, out)),
            (Form::Document, _) => self.items(object).enumerate().try_for_each(|(place, item)| {
                out.write_all(if is_first && place == 0 { DOCUMENT_HEAD } else { b"," })?;
                write_item(&item, out)
            }),
        }
    }

    /// Writes what follows the last object: the numbers, the words below, the end of a document.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(&self, found: &Grep<'_>, window: Option<HistoryWindow>, out: &mut dyn StyledWrite) -> io::Result<()> {
        let left_out: Vec<LeftOutOfSearch> = found.left_out().iter().map(LeftOutOfSearch::from).collect();
        let searched = found.searched().into();
        match (self.form, self.amount) {
            (Form::Text(_), MatchAmount::Count) => {
                writeln!(out, "{} in {}", counted(self.matches as u64, "match", "es"), counted(self.objects as u64, "object", "s"))
            }
            (form, MatchAmount::Count) => {
                let count = Count { matches: self.matches, objects: self.objects, left_out: &left_out, searched };
                if form == Form::Lines { json::write_line(&count, out) } else { json::write_document(&count, out) }
            }
            (Form::Document, _) => {
                let document = Found { items: Vec::new(), kind: "List", left_out: &left_out, searched, window };
                self.write_rest(&document, out)
            }
            (Form::Lines, _) => Ok(()),
            (Form::Text(_), _) => self.write_marks(out),
        }
    }

    fn items<'a>(&self, object: &'a FoundObject) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let alone = (self.amount == MatchAmount::Objects).then(|| Item::Object(MatchedObject::from(object)));
        let spans = if alone.is_some() { &[][..] } else { &object.spans };
        alone.into_iter().chain(spans.iter().map(move |span| Item::Match(Match::new(object, span))))
    }

    /// Writes the end of a document whose items, if there were any, are written.
    fn write_rest(&self, without_items: &Found<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut text = Vec::new();
        json::write_document(without_items, &mut text)?;
        if self.is_empty() {
            return out.write_all(&text);
        }
        let rest = text.strip_prefix(DOCUMENT_HEAD).expect("items are a document's first member");
        out.write_all(b"\n    ")?;
        out.write_all(rest)
    }

    fn write_values(&mut self, object: &FoundObject, width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
        let lines: Vec<GrepLine> = object.spans.iter().map(line).collect();
        self.may_begin_earlier |= object.spans.iter().any(|span| span.may_begin_earlier);
        self.is_inferred |= object.spans.iter().any(|span| span.setter().is_some_and(is_inferred_by));
        let deleted = object.deleted.map(|revision| format!("  deleted in {}", revision_text(revision, false))).unwrap_or_default();
        writeln!(out, "{}{}", paint(style::STRONG, &object.name), paint(style::FAINT, deleted))?;
        write_object(&lines, width, out)
    }

    fn write_marks(&self, out: &mut dyn StyledWrite) -> io::Result<()> {
        if self.may_begin_earlier {
            writeln!(out, "{}", paint(style::FAINT, "≤ it may have been there before: the version before cannot be read"))?;
        }
        if self.is_inferred {
            writeln!(out, "{}", paint(style::FAINT, "* inferred from what changed; the write left no trace in managedFields"))?;
        }
        Ok(())
    }
}

const DOCUMENT_HEAD: &[u8] = b"{\n    \"items\": [";

/// Writes an item as it stands in a document's list.
fn write_item(item: &Item<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    json::write_pretty(item, &mut text)?;
    // A line end in a string is escaped: each of these is between members.
    text.split(|&byte| byte == b'\n').try_for_each(|line| {
        out.write_all(b"\n        ")?;
        out.write_all(line)
    })
}

/// Says that nothing was found, and what was searched: `no "x" in names, values and messages of 1203 versions of pods, revisions 1 to 1787`. `search` says
/// what was searched for, `kinds` are those that were named.
pub fn nothing(found: &Grep<'_>, search: &str, kinds: &[String]) -> String {
    let kinds = if kinds.is_empty() { "all kinds".to_owned() } else { visible(&kinds.join(", ")).into_owned() };
    let Searched { from, to, versions } = found.searched();
    format!("no {search} of {} of {kinds}, revisions {from} to {to}", counted(versions, "version", "s"))
}

fn counted(number: u64, word: &str, plural: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { plural })
}

/// A line about a value, in columns.
struct GrepLine {
    span: String,
    time: String,
    who: String,
    path: String,
    value: String,
}

/// Writes the lines of one object below each other: in columns where there is room, else each value with what became of it below.
fn write_object(lines: &[GrepLine], width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let widest = |cell: fn(&GrepLine) -> &str, most: usize| lines.iter().map(|line| columns(cell(line)).min(most)).max().unwrap_or(0);
    let widths = [
        widest(|line| &line.span, usize::MAX),
        widest(|line| &line.time, usize::MAX),
        widest(|line| &line.who, WHO_COLUMNS),
        widest(|line| &line.path, PATH_COLUMNS),
    ];
    let taken = widths.iter().map(|width| width + COLUMN_GAP.len()).sum::<usize>() + COLUMN_GAP.len();
    for line in lines {
        match width.filter(|width| taken + MIN_VALUE_COLUMNS > *width) {
            Some(width) => write_stacked(line, width, out)?,
            None => write_columns(line, widths, width, out)?,
        }
    }
    Ok(())
}

/// Writes one line in columns; the value is cut to what is left of the width.
fn write_columns(line: &GrepLine, widths: [usize; 4], width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let cells = [&line.span, &line.time, &line.who, &line.path];
    let [span, time, who, path] = std::array::from_fn(|place| padded(cells[place], widths[place]));
    let taken = [&span, &time, &who, &path].into_iter().map(|cell| columns(cell) + COLUMN_GAP.len()).sum::<usize>() + COLUMN_GAP.len();
    let value =
        width.map_or_else(|| line.value.clone(), |width| value::cut(&line.value, width.saturating_sub(taken).max(MIN_VALUE_COLUMNS)));
    let (span, time, who) = (paint(style::CHANGED, span), paint(style::FAINT, time), paint(style::ACTOR, who));
    let end = if value.is_empty() { path.trim_end().to_owned() } else { format!("{path}{COLUMN_GAP}{value}") };
    writeln!(out, "{COLUMN_GAP}{span}{COLUMN_GAP}{time}{COLUMN_GAP}{who}{COLUMN_GAP}{end}")
}

/// Writes one line as two, for narrow terminals.
fn write_stacked(line: &GrepLine, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let left = width.saturating_sub(columns(&line.path) + 2 * COLUMN_GAP.len()).max(MIN_VALUE_COLUMNS);
    let value = value::cut(&line.value, left);
    writeln!(out, "{}", format!("{COLUMN_GAP}{}{COLUMN_GAP}{value}", line.path).trim_end())?;
    write!(out, "{COLUMN_GAP}{COLUMN_GAP}{COLUMN_GAP}{}", paint(style::CHANGED, &line.span))?;
    let rest = [(style::FAINT, &line.time), (style::ACTOR, &line.who)];
    rest.into_iter()
        .filter(|(_, cell)| !cell.is_empty())
        .try_for_each(|(style, cell)| write!(out, "{COLUMN_GAP}{}", paint(style, cell)))?;
    writeln!(out)
}

fn line(span: &ValueSpan) -> GrepLine {
    let setter = span.setter();
    let who = setter.and_then(|setter| {
        let by = setter.by.as_ref().map(|actor| {
            let mark = if actor.from == ActorFrom::Inferred { "*" } else { "" };
            format!("{}{mark}", request_text::actor(actor))
        });
        request_text::author(setter.request.as_ref(), setter.actor.as_ref(), false).or(by)
    });
    let dated = setter.and_then(|setter| setter.dated);
    GrepLine {
        span: span_text(span, setter.is_some_and(|setter| setter.is_placed)),
        time: dated.map(|dated| format!("{} {}", dated.time.strftime("%Y-%m-%d"), clock_time(Some(dated)).trim())).unwrap_or_default(),
        who: who.unwrap_or_default(),
        path: visible(&span.hit.path).into_owned(),
        // The name of a member is the end of its path.
        value: if span.hit.place == Place::Keys { String::new() } else { value::plain(&span.hit.value) },
    }
}

/// Whether who set a value is only inferred and shown.
fn is_inferred_by(setter: &Setter) -> bool {
    setter.by.as_ref().is_some_and(|actor| actor.from == ActorFrom::Inferred)
        && request_text::author(setter.request.as_ref(), setter.actor.as_ref(), false).is_none()
}

/// `r312–r1644`, `r312–r1787, still`, `≤r312–r900 at least`.
fn span_text(span: &ValueSpan, is_placed: bool) -> String {
    let from = format!("{}{}", if span.may_begin_earlier { "≤" } else { "" }, revision_text(span.from, is_placed));
    let to = if span.to == span.from { String::new() } else { format!("–{}", revision_text(span.to, false)) };
    let end = match span.end {
        SpanEnd::Still => ", still",
        SpanEnd::Gone => "",
        SpanEnd::Unknown => " at least",
    };
    format!("{from}{to}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> GrepLine {
        GrepLine {
            span: "r515–r556".to_owned(),
            time: "2026-11-20 22:16:30".to_owned(),
            who: "kubectl-set".to_owned(),
            path: "spec.template.spec.containers[tomcat].image".to_owned(),
            value: "tomcat:8.0".to_owned(),
        }
    }

    fn shown(width: Option<usize>) -> String {
        style::plain(|out| write_object(&[line()], width, out))
    }

    #[test]
    fn a_value_is_in_columns_where_there_is_room() {
        let wide = "  r515–r556  2026-11-20 22:16:30  kubectl-set  spec.template.spec.containers[tomcat].image  tomcat:8.0\n";
        assert_eq!(shown(None), wide);
        assert_eq!(shown(Some(200)), wide);
        let narrow = "  spec.template.spec.containers[tomcat].image  tomcat:8.0\n      r515–r556  2026-11-20 22:16:30  kubectl-set\n";
        assert_eq!(shown(Some(80)), narrow);
    }
}

//! What a search found: by object, each value with its path, from which revision to which it was there, and who set it.

use std::io::{self, Write};

use super::change_text::{clock_time, revision_text};
use super::contract::grep::{Count, Found, Item, Match, MatchedObject};
use super::contract::window::Window;
use super::style::{self, StyledWrite, paint};
use super::value::{self, columns, padded};
use super::visible::visible;
use super::{json, request_text};
use ketcd_cluster::grep::{Grep, Place, Searched, Setter, Span, SpanEnd};
use ketcd_history::ActorFrom;

/// Columns of a path, before it runs over.
const PATH_COLUMNS: usize = 40;
/// Columns of who set a value, before it runs over.
const WHO_COLUMNS: usize = 32;
/// The fewest columns for a value next to all else.
const MIN_VALUE_COLUMNS: usize = 16;
/// What stands between columns.
const COLUMN_GAP: &str = "  ";

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Each value.
    Values,
    /// The objects alone.
    Objects,
    /// How many there are.
    Count,
}

/// Writes what was found as text. Values are cut to `width`, where there is one.
///
/// # Errors
/// The stream's.
pub fn write_text(found: &Grep, amount: Amount, width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
    match amount {
        Amount::Count => writeln!(out, "{} in {}", counted(found.count(), "match", "es"), counted(found.objects.len(), "object", "s")),
        Amount::Objects => found.objects.iter().try_for_each(|object| writeln!(out, "{}", visible(&object.name))),
        Amount::Values => write_values(found, width, out),
    }
}

/// Writes what was found as JSON: each item a line.
///
/// # Errors
/// The stream's.
pub fn write_lines(found: &Grep, amount: Amount, out: &mut dyn Write) -> io::Result<()> {
    match amount {
        Amount::Count => json::write_line(&count(found), out),
        _ => items(found, amount).iter().try_for_each(|item| json::write_line(item, out)),
    }
}

/// Writes what was found as one JSON document.
///
/// # Errors
/// The stream's.
pub fn write_document(found: &Grep, amount: Amount, window: Option<Window>, out: &mut dyn Write) -> io::Result<()> {
    match amount {
        Amount::Count => json::write_document(&count(found), out),
        _ => {
            let items = items(found, amount);
            json::write_document(&Found { items, kind: "List", searched: found.searched.into(), window }, out)
        }
    }
}

/// Says that nothing was found, and what was searched: `no "x" in names, values and messages of 1203 versions of pods, revisions 1 to 1787`. `search` says
/// what was searched for, `kinds` are those that were named.
pub fn nothing(found: &Grep, search: &str, kinds: &[String]) -> String {
    let kinds = if kinds.is_empty() { "all kinds".to_owned() } else { visible(&kinds.join(", ")).into_owned() };
    let Searched { from, to, versions } = found.searched;
    format!("no {search} of {} of {kinds}, revisions {from} to {to}", counted(versions, "version", "s"))
}

fn count(found: &Grep) -> Count {
    Count { matches: found.count(), objects: found.objects.len(), searched: found.searched.into() }
}

fn items(found: &Grep, amount: Amount) -> Vec<Item<'_>> {
    let objects = found.objects.iter();
    match amount {
        Amount::Objects => objects.map(|object| Item::Object(MatchedObject::from(object))).collect(),
        _ => objects
            .flat_map(|object| object.spans.iter().map(move |span| Item::Match(Match::new(object, span, found.setter(span)))))
            .collect(),
    }
}

fn counted(number: impl TryInto<u64>, word: &str, plural: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {word}{}", if number == 1 { "" } else { plural })
}

/// A line about a value, in columns.
struct Line {
    span: String,
    time: String,
    who: String,
    path: String,
    value: String,
}

fn write_values(found: &Grep, width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let (mut is_inferred, mut may_begin_earlier) = (false, false);
    for object in &found.objects {
        let lines: Vec<Line> = object.spans.iter().map(|span| line(span, found.setter(span))).collect();
        may_begin_earlier |= object.spans.iter().any(|span| span.may_begin_earlier);
        is_inferred |= object.spans.iter().any(|span| found.setter(span).is_some_and(is_inferred_by));
        let deleted = object.deleted.map(|revision| format!("  deleted in {}", revision_text(revision, false))).unwrap_or_default();
        writeln!(out, "{}{}", paint(style::STRONG, &object.name), paint(style::FAINT, deleted))?;
        write_object(&lines, width, out)?;
    }
    if may_begin_earlier {
        writeln!(out, "{}", paint(style::FAINT, "≤ it may have been there before: the version before cannot be read"))?;
    }
    if is_inferred {
        writeln!(out, "{}", paint(style::FAINT, "* inferred from what changed; the write left no trace in managedFields"))?;
    }
    Ok(())
}

/// Writes the lines of one object below each other: in columns where there is room, else each value with what became of it below.
fn write_object(lines: &[Line], width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let widest = |cell: fn(&Line) -> &str, most: usize| lines.iter().map(|line| columns(cell(line)).min(most)).max().unwrap_or(0);
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
fn write_columns(line: &Line, widths: [usize; 4], width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<()> {
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
fn write_stacked(line: &Line, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
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

fn line(span: &Span, setter: Option<&Setter>) -> Line {
    let who = setter.and_then(|setter| {
        let by = setter.by.as_ref().map(|actor| {
            let mark = if actor.from == ActorFrom::Inferred { "*" } else { "" };
            format!("{}{mark}", request_text::actor(actor))
        });
        request_text::author(setter.request.as_ref(), setter.actor.as_ref(), false).or(by)
    });
    let dated = setter.and_then(|setter| setter.dated);
    Line {
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
fn span_text(span: &Span, is_placed: bool) -> String {
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

    fn line() -> Line {
        Line {
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

//! Changes as text: one line per change, or with its fields, old → new.

use std::io;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::row::{FieldRow, row};
use super::style::{self, StyledWrite, paint};
use super::value::columns;
use super::visible::visible;
use super::{duration, request_text, value};
use ketcd_cluster::OtherRequest;
use ketcd_history::clock::Dated;
use ketcd_history::diff::{Detail, FieldChange, object_fields};
use ketcd_history::{ActorFrom, AttributedChange, Change, ChangeKind, ObjectVersion, noise};
use ketcd_kube::COMPACT_REV_KEY;
use ketcd_store::{Origin, Revision};

/// Where the right column ends if the output has no width of its own.
const DEFAULT_RIGHT_EDGE: usize = 102;
/// Columns of a field's path, before it runs over.
const PATH_COLUMNS: usize = 33;
/// Columns of the actor and the time since the last change, if they come before the changed fields.
const WHO_COLUMNS: usize = 32;
/// Lines of a value that stands below its path.
const MAX_LINES_BELOW: usize = 4;
/// The fewest columns for what changed; with fewer, it continues a line of its own.
const MIN_DETAIL_COLUMNS: usize = 30;

/// How changes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Field by field.
    pub diff: bool,
    /// Bookkeeping and heartbeats too, leaf by leaf.
    pub all_fields: bool,
    /// Whether each change must name its object, because there are several.
    pub many: bool,
    /// Everything: no value is cut, and of a request its address and client too.
    pub wide: bool,
    /// Columns of the terminal; `None` where lines may be of any length, and nothing is cut.
    pub width: Option<usize>,
}

/// Prints changes one after the other.
pub struct ChangeWriter {
    options: Options,
    previous: Option<Dated>,
    folded: usize,
    inferred: bool,
    day: Option<String>,
}

impl ChangeWriter {
    /// Begins.
    pub fn new(options: Options) -> Self {
        Self { options, previous: None, folded: 0, inferred: false, day: None }
    }

    /// Prints one change; `name` is the object of its key, such as `pod/lab/ubuntu`.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, attributed: &AttributedChange, name: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
        self.write_day(attributed.dated, out)?;
        let name = &*visible(name);
        let who = self.who(attributed);
        let head = format!("{}  {:>6}  ", clock_time(attributed.dated), revision(&attributed.change));
        let rows = self.rows(&attributed.change, name);
        if !self.options.diff {
            self.brief_line(&head, &rows, name, &who, out)?;
        }
        for (place, row) in rows.iter().enumerate().filter(|_| self.options.diff) {
            let margin = if place == 0 { paint(style::FAINT, head.clone()).to_string() } else { " ".repeat(head.len()) };
            let tail = if place == 0 { who.as_str() } else { "" };
            self.line(&margin, head.len(), row, tail, out)?;
        }
        if attributed.dated.is_some() {
            self.previous = attributed.dated;
        }
        Ok(())
    }

    /// Prints a request that made no change, at the time it was received; `name` is its object, where it is about one.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_request(&mut self, other: &OtherRequest, name: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
        let dated = Some(Dated { time: other.request.received, error: other.request.doubt.as_secs_f64() });
        self.write_day(dated, out)?;
        let head = format!("{}  {:>6}  ", clock_time(dated), "");
        let (subject, program) = (request_text::subject(other, name), other.request.manager.as_deref());
        let who = request_text::who(&other.request, program, self.options.wide);
        let (is_named, words) = (self.options.many, request_text::what(other, self.options.many));
        let row = FieldRow::new(request_text::sign(other.outcome), if is_named { &subject } else { "" }, &words);
        if self.options.diff {
            return self.line(&paint(style::FAINT, head.clone()).to_string(), head.len(), &row, &who, out);
        }
        self.brief_line(&head, &[row], &subject, &who, out)
    }

    /// Ends with what was folded away and what the marks mean.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(self, out: &mut dyn StyledWrite) -> io::Result<()> {
        if self.folded > 0 {
            let fields = if self.folded == 1 { "field" } else { "fields" };
            let flags = if self.options.diff { "--all-fields" } else { "--diff --all-fields" };
            let line = format!("{} {fields} of bookkeeping and heartbeats folded ({flags} shows them)", self.folded);
            writeln!(out, "{}", paint(style::FAINT, line))?;
        }
        if self.inferred {
            writeln!(out, "{}", paint(style::FAINT, "* inferred from what changed; the write left no trace in managedFields"))?;
        }
        Ok(())
    }

    /// Whether who made a change was only inferred, which `*` marks.
    pub fn has_inferred(&self) -> bool {
        self.inferred
    }

    fn write_day(&mut self, dated: Option<Dated>, out: &mut dyn StyledWrite) -> io::Result<()> {
        let Some(day) = dated.map(|dated| dated.time.strftime("%Y-%m-%d").to_string()) else { return Ok(()) };
        if self.day.as_ref() != Some(&day) {
            writeln!(out, "{}", paint(style::FAINT, format!("{day} UTC")))?;
            self.day = Some(day);
        }
        Ok(())
    }

    fn who(&mut self, attributed: &AttributedChange) -> String {
        let by = attributed.by().map(|actor| {
            let inferred = actor.from == ActorFrom::Inferred;
            self.inferred |= inferred;
            format!("{}{}", request_text::actor(&actor), if inferred { "*" } else { "" })
        });
        let by = request_text::author(attributed.request.as_ref(), attributed.actor.as_ref(), self.options.wide).or(by);
        let elapsed = match (self.previous, attributed.dated) {
            (Some(previous), Some(now)) if !self.options.many => Some(format!("+{}", duration::between(previous, now))),
            _ => None,
        };
        by.into_iter().chain(elapsed).collect::<Vec<_>>().join(", ")
    }

    fn rows(&mut self, change: &Change, name: &str) -> Vec<FieldRow> {
        let (before, after) = match (&change.before, &change.after) {
            (_, ObjectVersion::Opaque(opaque)) if change.key == COMPACT_REV_KEY => return vec![FieldRow::new('~', name, &opaque.reason)],
            (_, ObjectVersion::Opaque(opaque)) => return vec![FieldRow::new('?', name, &format!("cannot be decoded: {}", opaque.reason))],
            (_, ObjectVersion::Absent) => return vec![FieldRow::new('-', name, "deleted")],
            (ObjectVersion::Absent, _) => return vec![FieldRow::new('+', name, "created")],
            (ObjectVersion::Object(before), ObjectVersion::Object(after)) => (before, after),
            _ if change.origin == Origin::Objects => {
                return vec![FieldRow::new('~', name, "as read; what came before is not known")];
            }
            _ => return vec![FieldRow::new('~', name, "first readable version; what came before cannot be read")],
        };
        let detail = if self.options.all_fields { Detail::Leaves } else { Detail::Story };
        let all = object_fields(before, after, detail);
        let (shown, folded) = if self.options.all_fields { (all, 0) } else { noise::fold(all) };
        self.folded += folded;
        if !self.options.diff {
            return vec![FieldRow::new(sign(change.kind), name, &summary(&shown, folded))];
        }
        let mut rows: Vec<FieldRow> = shown.iter().map(row).collect();
        if rows.is_empty() {
            rows.push(FieldRow::new('·', "", &format!("{folded} folded {}", if folded == 1 { "field" } else { "fields" })));
        }
        if self.options.many {
            rows.insert(0, FieldRow::new(sign(change.kind), name, ""));
        }
        rows
    }

    /// One line for a whole change: object (among several), who, what.
    fn brief_line(&self, head: &str, rows: &[FieldRow], name: &str, who: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
        let Some(row) = rows.first() else { return Ok(()) };
        let sign = paint(style::of_sign(row.sign), row.sign);
        let name_width = if self.options.many { columns(name).max(PATH_COLUMNS) + 1 } else { 0 };
        let taken = head.len() + 2 + name_width + columns(who).max(WHO_COLUMNS) + 2;
        if let Some(width) = self.options.width.filter(|width| *width < taken + MIN_DETAIL_COLUMNS) {
            return self.brief_on_a_narrow_terminal(head, row, name, who, width, out);
        }
        let name = if self.options.many { format!("{name:<PATH_COLUMNS$} ") } else { String::new() };
        let blanks = " ".repeat(WHO_COLUMNS.saturating_sub(columns(who)));
        let lead = format!("{}{sign} {name}{}{blanks}", paint(style::FAINT, head), paint(style::ACTOR, who));
        match self.options.width.map(|width| (width, width - taken)) {
            Some((width, left)) if self.options.wide && columns(&row.value) > left => {
                writeln!(out, "{}", lead.trim_end())?;
                below(&row.value, head.len() + 2, width, usize::MAX, out)
            }
            Some((_, left)) => writeln!(out, "{lead}  {}", value::cut(&row.value, left)),
            None => writeln!(out, "{lead}  {}", row.value),
        }
    }

    /// Object and who; what on the same line if it fits there, else below.
    fn brief_on_a_narrow_terminal(
        &self,
        head: &str,
        row: &FieldRow,
        name: &str,
        who: &str,
        width: usize,
        out: &mut dyn StyledWrite,
    ) -> io::Result<()> {
        let name = if self.options.many { name } else { "" };
        let gap = if name.is_empty() || who.is_empty() { "" } else { "  " };
        let taken = head.len() + 2 + columns(name) + gap.len() + columns(who);
        write!(out, "{}{} {name}{gap}{}", paint(style::FAINT, head), paint(style::of_sign(row.sign), row.sign), paint(style::ACTOR, who))?;
        if taken + 2 + columns(&row.value) <= width {
            return writeln!(out, "  {}", row.value);
        }
        writeln!(out)?;
        let indent = head.len() + 2;
        match self.options.wide {
            true => below(&row.value, indent, width, usize::MAX, out),
            false => writeln!(out, "{:indent$}{}", "", value::cut(&row.value, width.saturating_sub(indent))),
        }
    }

    /// One line: margin, sign, path, value, and at its end who and how long after. On a terminal the value gives way where the line is too long.
    fn line(&self, margin: &str, margin_width: usize, row: &FieldRow, tail: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
        let width = self.options.width.map(|width| width.max(60));
        let path_width = columns(&row.path);
        let padded = if row.value.is_empty() && tail.is_empty() { path_width } else { path_width.max(PATH_COLUMNS) };
        let tail_width = if tail.is_empty() { 0 } else { columns(tail) + 2 };
        let beside = margin_width + 2 + padded + 1;
        let is_below = width.is_some_and(|width| !tail.is_empty() && beside + 12.min(columns(&row.value)) + tail_width > width);
        let left = width.map(|width| width.saturating_sub(beside + if is_below { 0 } else { tail_width }).max(12));
        if let Some((width, left)) = width.zip(left)
            && columns(&row.value) > left
            && (is_below || row.is_pair() || self.options.wide)
        {
            let most = if self.options.wide { usize::MAX } else { MAX_LINES_BELOW };
            return value_below((margin, margin_width), row, tail, (width, most), out);
        }
        let value = left.map_or_else(|| row.value.clone(), |left| row.cut_to(left));
        let style = style::of_sign(row.sign);
        let text = format!("{margin}{} {}{} {value}", paint(style, row.sign), row.path, " ".repeat(padded - path_width));
        if tail.is_empty() {
            return writeln!(out, "{}", text.trim_end());
        }
        let edge = width.unwrap_or(DEFAULT_RIGHT_EDGE);
        if is_below {
            return writeln!(out, "{}\n{}{}", text.trim_end(), " ".repeat(edge.saturating_sub(columns(tail))), paint(style::ACTOR, tail));
        }
        let gap = edge.saturating_sub(tail_width + beside + columns(&value));
        writeln!(out, "{text}{}  {}", " ".repeat(gap), paint(style::ACTOR, tail))
    }
}

/// A row whose value does not fit next to the path: it stands below, in this many lines at most.
fn value_below(
    (margin, margin_width): (&str, usize),
    row: &FieldRow,
    tail: &str,
    (width, most): (usize, usize),
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    write!(out, "{margin}{} {}", paint(style::of_sign(row.sign), row.sign), row.path)?;
    if !tail.is_empty() {
        let taken = margin_width + 2 + columns(&row.path);
        let gap = width.checked_sub(taken + columns(tail)).filter(|gap| *gap > 1);
        let lead = gap.map_or_else(|| format!("\n{}", " ".repeat(width.saturating_sub(columns(tail)))), |gap| " ".repeat(gap));
        write!(out, "{lead}{}", paint(style::ACTOR, tail))?;
    }
    writeln!(out)?;
    below(&row.value, margin_width + 4, width, most, out)
}

/// Writes a value in lines below others, so many at most.
fn below(value: &str, indent: usize, width: usize, most: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let mut lines = value::broken(value, width.saturating_sub(indent + 1).max(MIN_DETAIL_COLUMNS));
    if lines.len() > most {
        lines.truncate(most);
        lines.last_mut().into_iter().for_each(|last| last.push('…'));
    }
    lines.iter().try_for_each(|line| writeln!(out, "{:indent$}{line}", ""))
}

/// The revision of a change as people read it: `r779`, and `~r779` where an audit log does not say it.
fn revision(change: &Change) -> String {
    revision_text(change.revision, change.origin.is_placed())
}

/// A revision as people read it: `r779`, and `~r779` where it is only about the one that etcd has.
pub(crate) fn revision_text(revision: Revision, is_placed: bool) -> String {
    format!("{}r{revision}", if is_placed { "~" } else { "" })
}

fn sign(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Added => '+',
        ChangeKind::Modified => '~',
        ChangeKind::Deleted => '-',
    }
}

/// The changed fields by name, without their values.
fn summary(shown: &[FieldChange<'_>], folded: usize) -> String {
    if shown.is_empty() {
        return format!("{folded} folded {}", if folded == 1 { "field" } else { "fields" });
    }
    shown.iter().map(|change| change.path.to_string()).collect::<Vec<_>>().join(", ")
}

/// The time of day, as fine as it is known, in 12 columns: to the second where it may be half of one off, else to a tenth, a hundredth or a
/// thousandth.
pub fn clock_time(dated: Option<Dated>) -> String {
    let Some(Dated { time, error }) = dated else { return "      ?     ".to_owned() };
    let format = match error {
        error if error >= 0.5 => "%H:%M:%S",
        error if error >= 0.05 => "%H:%M:%S%.1f",
        error if error >= 0.005 => "%H:%M:%S%.2f",
        _ => "%H:%M:%S%.3f",
    };
    format!("{:<12}", time.strftime(format).to_string())
}

/// The time of day as [`clock_time`] has it, behind its date where that is another day than the one that a reader takes it for.
pub(crate) fn clock_time_on(day: Option<Date>, dated: Option<Dated>) -> String {
    let time = clock_time(dated);
    match dated.map(|dated| day_of(dated.time)) {
        Some(other) if Some(other) != day => format!("{other} {time}"),
        _ => time,
    }
}

/// The day of a moment, in UTC.
pub(crate) fn day_of(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_another_day_has_its_date() {
        let dated = Some(Dated { time: "2026-01-02T23:59:59.678Z".parse().unwrap(), error: 0.01 });
        let day = |text: &str| text.parse::<Date>().ok();
        assert_eq!(clock_time_on(day("2026-01-02"), dated), "23:59:59.67 ");
        assert_eq!(clock_time_on(day("2026-01-03"), dated), "2026-01-02 23:59:59.67 ");
        assert_eq!(clock_time_on(None, dated).trim(), "2026-01-02 23:59:59.67");
        assert_eq!(clock_time_on(None, None).trim(), "?");
    }

    #[test]
    fn times_are_no_finer_than_they_are_known() {
        let shown = |error: f64| clock_time(Some(Dated { time: "2026-01-02T03:04:05.678Z".parse().unwrap(), error }));
        assert_eq!(
            [0.001, 0.01, 0.2, 0.525, 30.0].map(shown),
            ["03:04:05.678", "03:04:05.67 ", "03:04:05.6  ", "03:04:05    ", "03:04:05    "]
        );
        assert_eq!(clock_time(None).len(), 12);
    }
}

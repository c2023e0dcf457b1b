//! The axis: one line per step, or a few where its words need them.

use std::io;

use jiff::civil::Date;

use super::{EntryKind, TimelineEntry};
use crate::change_text::{clock_time, revision_text};
use crate::style::{self, StyledWrite, paint};
use crate::value::columns;
use crate::visible::visible;
use crate::{duration, request_text, value};
use ketcd_history::ActorFrom;
use ketcd_history::clock::Dated;
use ketcd_history::timeline::StepKind;
use ketcd_store::Revision;

/// Columns of a phase's name, at most; longer ones take more.
const MAX_PHASE_COLUMNS: usize = 18;
/// The same next to objects' names.
const PHASE_OF_MANY: usize = 12;
/// Columns left to a detail, at least.
const MIN_DETAIL_COLUMNS: usize = 10;
/// Columns of an object's name where there are several, at most.
const MAX_OBJECT_COLUMNS: usize = 34;
/// Columns that the rest of a line takes: its head, a phase, and part of the actor's name.
const REST_COLUMNS: usize = 52;
/// Columns before the object's name: time, revision, sign.
const HEAD_COLUMNS: usize = 24;
/// Columns before words that go on below their line.
const INDENT_COLUMNS: usize = 26;
/// Lines that a detail may take below its own where it does not fit.
const MAX_LINES_BELOW: usize = 3;
/// Where the right column ends if the output has no width of its own.
const DEFAULT_RIGHT_EDGE: usize = 100;

#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Columns of the terminal; `None` where lines may be of any length, and nothing is cut.
    pub width: Option<usize>,
    /// Whether nothing is ever cut.
    pub whole: bool,
    /// The day of all lines, if they are of one: above them a time of another day has its date.
    pub day: Option<Date>,
}

/// Writes lines along one axis; `many` names each line's object, chapters begin at rollouts.
pub(super) fn write_axis(entries: &[TimelineEntry], many: bool, room: Room, out: &mut dyn StyledWrite) -> io::Result<()> {
    let entries: Vec<TimelineEntry> = entries.iter().map(TimelineEntry::visible).collect();
    let entries = &entries[..];
    let width = room.width.map(|width| width.max(80));
    let namespace = shared_namespace(entries);
    let longest = |lengths: &mut dyn Iterator<Item = usize>, most: usize| lengths.map(|length| length.min(most)).max().unwrap_or(0);
    let object = longest(
        &mut entries.iter().map(|entry| columns(&without(&entry.object, namespace.as_deref()))),
        MAX_OBJECT_COLUMNS.min(width.unwrap_or(DEFAULT_RIGHT_EDGE) - REST_COLUMNS),
    );
    let phase = longest(
        &mut entries.iter().filter(|entry| entry.kind != EntryKind::Note).map(|entry| entry.phase.len()),
        if many { PHASE_OF_MANY } else { MAX_PHASE_COLUMNS },
    );
    let whole = room.whole || width.is_none();
    let mut axis =
        Axis { many, width, whole, wide: room.whole, namespace, object, phase, day: None, previous: None, at: None, inferred: false };
    for entry in entries {
        axis.write(entry, out)?;
    }
    if axis.inferred {
        writeln!(out, "{}", paint(style::FAINT, "* inferred from what changed; the write left no trace in managedFields"))?;
    }
    Ok(())
}

/// The namespace that all namespaced lines share: it need not be repeated.
fn shared_namespace(entries: &[TimelineEntry]) -> Option<String> {
    let namespace = |entry: &TimelineEntry| {
        let parts: Vec<&str> = entry.object.split('/').collect();
        if let [_, namespace, _] = parts[..] { Some(namespace.to_owned()) } else { None }
    };
    let mut namespaces: Vec<String> = entries.iter().filter_map(namespace).collect();
    namespaces.dedup();
    if let [_] = namespaces[..] { namespaces.pop() } else { None }
}

fn without(object: &str, namespace: Option<&str>) -> String {
    namespace.map_or_else(|| object.to_owned(), |namespace| object.replacen(&format!("/{namespace}/"), "/", 1))
}

struct Axis {
    many: bool,
    width: Option<usize>,
    /// Whether nothing is cut.
    whole: bool,
    /// Whether of a request its address and client are shown too.
    wide: bool,
    namespace: Option<String>,
    object: usize,
    phase: usize,
    day: Option<String>,
    previous: Option<Dated>,
    /// The revision of the line before.
    at: Option<Revision>,
    inferred: bool,
}

impl Axis {
    fn write(&mut self, entry: &TimelineEntry, out: &mut dyn StyledWrite) -> io::Result<()> {
        self.begin(entry, out)?;
        let tail = self.tail(entry);
        let revision = if entry.one_moment { String::new() } else { revision_text(entry.revision, entry.is_placed) };
        let head = format!("{}  {revision:>6}  ", clock_time(entry.dated));
        let (sign, style) = match entry.kind {
            EntryKind::Phase => ('●', phase_style(entry.step)),
            EntryKind::Longest => ('◆', style::STRONG),
            EntryKind::Note => ('·', style::FAINT),
            EntryKind::Gap => ('⋮', style::WARNING),
        };
        let object = without(&entry.object, self.namespace.as_deref());
        let object = if self.many { format!("{:<1$} ", self.cut(&object, self.object), self.object) } else { String::new() };
        let bare = entry.detail.is_empty() && tail.is_empty();
        let phase = self.width.map_or_else(
            || entry.phase.clone(),
            |width| self.cut(&entry.phase, width.saturating_sub(HEAD_COLUMNS + MIN_DETAIL_COLUMNS + columns(&object))),
        );
        let phase = if bare { phase } else { format!("{:<1$}", phase, self.phase) };
        let taken = HEAD_COLUMNS + columns(&object) + columns(&phase) + 1;
        let line = format!("{}{} {object}{}", paint(style::FAINT, head), paint(style, sign), paint(style, phase));
        match self.width {
            None => {
                let gap = DEFAULT_RIGHT_EDGE.saturating_sub(taken + columns(&entry.detail) + columns(&tail)).max(2);
                let text = format!("{line} {}{}{}", entry.detail, " ".repeat(gap), paint(style::ACTOR, &tail));
                writeln!(out, "{}", if tail.is_empty() { format!("{line} {}", entry.detail).trim_end().to_owned() } else { text })
            }
            Some(width) => self.write_within(entry, &line, tail, (taken, width), out),
        }
    }

    /// Writes what follows the beginning of a line, which takes this many of the terminal's columns.
    fn write_within(
        &self,
        entry: &TimelineEntry,
        line: &str,
        tail: String,
        (taken, width): (usize, usize),
        out: &mut dyn StyledWrite,
    ) -> io::Result<()> {
        // Who did it stays whole: where the line has no room for it, it stands below.
        let (tail, tail_below) = if taken + 2 + columns(&tail) > width { (String::new(), tail) } else { (tail, String::new()) };
        let width_left = width.saturating_sub(taken + if tail.is_empty() { 0 } else { columns(&tail) + 2 });
        let fits = columns(&entry.detail) <= width_left;
        let below = !fits && (self.whole || entry.kind != EntryKind::Note);
        let detail = if below { String::new() } else { value::cut(&entry.detail, width_left) };
        if tail.is_empty() {
            writeln!(out, "{}", format!("{line} {detail}").trim_end())?;
        } else {
            let gap = (width_left + 2).saturating_sub(columns(&detail));
            writeln!(out, "{line} {detail}{}{}", " ".repeat(gap), paint(style::ACTOR, tail))?;
        }
        let most = if self.whole { usize::MAX } else { MAX_LINES_BELOW };
        let words = if below { wrapped(&entry.detail, Some(width - INDENT_COLUMNS), most) } else { Vec::new() };
        self.write_below(words, &tail_below, width - INDENT_COLUMNS, out)
    }

    /// As much of a text as may be shown in this many columns.
    fn cut(&self, text: &str, width: usize) -> String {
        if self.whole { text.to_owned() } else { value::cut(text, width) }
    }

    /// Writes what a line has no room for: words and, at the end, who did it.
    fn write_below(&self, mut words: Vec<String>, tail: &str, room: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
        let last = if tail.is_empty() { None } else { words.pop_if(|last| columns(last) + 2 + columns(tail) <= room) };
        for line in words {
            writeln!(out, "{}{line}", " ".repeat(INDENT_COLUMNS))?;
        }
        if tail.is_empty() {
            return Ok(());
        }
        let last = last.unwrap_or_default();
        let gap = room.saturating_sub(columns(&last) + columns(tail));
        writeln!(out, "{}{last}{}{}", " ".repeat(INDENT_COLUMNS), " ".repeat(gap), paint(style::ACTOR, tail))
    }

    /// Writes what stands above a line: a new day, an empty line before a chapter.
    fn begin(&mut self, entry: &TimelineEntry, out: &mut dyn StyledWrite) -> io::Result<()> {
        let day = entry.dated.map(|dated| dated.time.strftime("%Y-%m-%d").to_string());
        if day.is_some() && day != self.day {
            writeln!(out, "{}", paint(style::FAINT, format!("{} UTC", day.as_deref().unwrap_or_default())))?;
            self.day = day;
        }
        let chapter = matches!(entry.step, Some(StepKind::Rollout | StepKind::Undo));
        // The first rollout is the creation's.
        if chapter && self.at.is_some_and(|at| at != entry.revision) {
            writeln!(out)?;
        }
        Ok(())
    }

    fn tail(&mut self, entry: &TimelineEntry) -> String {
        let by = entry.by.as_ref().map(|by| {
            let inferred = by.from == ActorFrom::Inferred;
            self.inferred |= inferred;
            format!("{}{}", request_text::actor(by), if inferred { "*" } else { "" })
        });
        let by = request_text::logged(entry.logged.as_deref(), self.wide).or(by);
        let mut elapsed = None;
        if !self.many && entry.kind != EntryKind::Note {
            // Steps of one write took no time.
            let since = self.previous.zip(entry.dated).filter(|_| entry.one_moment || self.at != Some(entry.revision));
            elapsed = since.map(|(previous, now)| format!("+{}", duration::between(previous, now)));
            self.previous = entry.dated.or(self.previous);
        }
        if entry.kind != EntryKind::Note || self.at.is_none() {
            self.at = Some(entry.revision);
        }
        let longest = (entry.kind == EntryKind::Longest && !self.many).then(|| "longest".to_owned());
        by.into_iter().chain(elapsed).chain(longest).collect::<Vec<_>>().join(", ")
    }
}

/// `text`, safe for a terminal, broken at spaces into at most `most` lines of `width`, the last of them cut; in one line where there is no width.
pub(super) fn wrapped(text: &str, width: Option<usize>, most: usize) -> Vec<String> {
    let text = visible(text);
    let Some(width) = width else { return vec![text.into_owned()] };
    if most == usize::MAX {
        return value::broken(&text, width);
    }
    let mut lines: Vec<String> = Vec::new();
    let mut lines_left = most;
    for word in text.split(' ') {
        let full = lines.last().is_none_or(|line| columns(line) + 1 + columns(word) > width);
        match lines.last_mut() {
            Some(line) if !full || lines_left == 0 => *line += &format!(" {word}"),
            _ => {
                lines.push(word.to_owned());
                lines_left -= 1;
            }
        }
    }
    lines.into_iter().map(|line| value::cut(&line, width)).collect()
}

fn phase_style(step: Option<StepKind>) -> style::Style {
    use StepKind as S;
    let Some(step) = step else { return style::CHANGED };
    match step {
        S::Created
        | S::Ready
        | S::Scheduled
        | S::Succeeded
        | S::Returned
        | S::Bound
        | S::RolledOut
        | S::Registered
        | S::EndpointsReady
        | S::Attached
        | S::Allocated
        | S::JobSucceeded => style::ADDED,
        S::Deleted
        | S::Failed
        | S::Refused
        | S::HeartbeatLost
        | S::NotReady
        | S::Stuck
        | S::Evicted
        | S::Lost
        | S::ResizeInfeasible
        | S::NoEndpoints
        | S::NoMetrics
        | S::CannotScale
        | S::AttachFailed
        | S::Failing
        | S::InitFailed => style::REMOVED,
        _ => style::CHANGED,
    }
}

//! Timelines as text: one axis, who did what, how long it took; Kubernetes Events woven in, gaps drawn as gaps.

use std::io::{self, Write};

use jiff::Timestamp;

use super::change_text::clock_time;
use super::style::{self, paint};
use super::{duration, value};
use crate::history::clock::Dated;
use crate::history::timeline::{Deletion, Gap, Note, Outage, Phase, Replacement, Subject, Timeline};
use crate::history::{Actor, ActorFrom};
use crate::store::Revision;

/// Columns where the output has no width of its own.
const WIDTH: usize = 100;
/// Columns of a phase's name.
const PHASE: usize = 18;
/// Columns of an object's name where there are several, at most.
const OBJECT: usize = 34;
/// Lines that a detail may take below its own where it does not fit.
const BELOW: usize = 3;
/// From so many on, like steps of like objects become one line.
const COALESCE: usize = 3;

/// A line of the axis.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place.
    pub revision: Revision,
    /// When.
    pub dated: Option<Dated>,
    /// Whose: `pod/lab/ubuntu`.
    pub object: String,
    /// The phase, or an Event's reason.
    pub phase: String,
    /// More, in words.
    pub detail: String,
    /// By whom.
    pub by: Option<Actor>,
    /// What it is.
    pub kind: EntryKind,
    /// Of several like objects: how many.
    pub count: usize,
    /// Whether an Event warns.
    pub warns: bool,
}

/// What a line of the axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A step that versions show.
    Phase,
    /// The step that took longest.
    Longest,
    /// What a component said.
    Note,
    /// Missing versions.
    Gap,
}

/// kubectl's short names of kinds that stories are full of.
const SHORT: &[(&str, &str)] = &[
    ("configmap", "cm"),
    ("daemonset", "ds"),
    ("deployment", "deploy"),
    ("horizontalpodautoscaler", "hpa"),
    ("namespace", "ns"),
    ("persistentvolume", "pv"),
    ("persistentvolumeclaim", "pvc"),
    ("replicaset", "rs"),
    ("service", "svc"),
    ("serviceaccount", "sa"),
    ("statefulset", "sts"),
];

/// The kind and name of a subject: `pod/lab/ubuntu`.
pub fn name(subject: &Subject) -> String {
    let kind = subject.kind.to_lowercase();
    let kind = SHORT.iter().find(|(long, _)| *long == kind).map_or(kind.as_str(), |(_, short)| short);
    if subject.namespace.is_empty() { format!("{kind}/{}", subject.name) } else { format!("{kind}/{}/{}", subject.namespace, subject.name) }
}

/// The lines of one timeline.
pub fn entries(timeline: &Timeline, with_notes: bool) -> Vec<Entry> {
    let object = name(&timeline.subject);
    let phases = timeline.phases.iter().map(|phase| phase_entry(&object, phase));
    let gaps = timeline.gaps.iter().map(|gap| gap_entry(&object, gap));
    let notes = timeline.notes.iter().filter(|_| with_notes).map(note_entry);
    let mut entries: Vec<Entry> = phases.chain(gaps).chain(notes).collect();
    entries.sort_by_key(|entry| (entry.revision, entry.kind == EntryKind::Note));
    entries
}

fn phase_entry(object: &str, phase: &Phase) -> Entry {
    Entry {
        revision: phase.revision,
        dated: phase.dated,
        object: object.to_owned(),
        phase: phase.phase.to_owned(),
        detail: phase.detail.clone(),
        by: phase.by.clone(),
        kind: if phase.longest { EntryKind::Longest } else { EntryKind::Phase },
        count: 1,
        warns: false,
    }
}

fn gap_entry(object: &str, gap: &Gap) -> Entry {
    let from = gap.after.map_or_else(|| "its beginning".to_owned(), |after| format!("r{after}"));
    Entry {
        revision: gap.until,
        dated: None,
        object: object.to_owned(),
        phase: "(gap)".to_owned(),
        detail: format!("versions from {from} to r{} are missing; then: {}", gap.until, gap.state),
        by: None,
        kind: EntryKind::Gap,
        count: 1,
        warns: false,
    }
}

/// The line of an Event.
pub fn note_entry(note: &Note) -> Entry {
    let times = if note.count > 1 {
        let since = note.first.map(|first| format!(" since {}", first.strftime("%H:%M:%S"))).unwrap_or_default();
        format!(" (×{}{since})", note.count)
    } else {
        String::new()
    };
    Entry {
        revision: note.revision,
        dated: note.dated,
        object: name(&note.subject()),
        phase: note.reason.clone(),
        detail: format!("{}{times}", note.message),
        by: Some(Actor { name: note.source.clone(), on: None, from: ActorFrom::Recorded }),
        kind: EntryKind::Note,
        count: 1,
        warns: note.kind == "Warning",
    }
}

/// Puts like steps of like objects that follow each other within a second into one line.
pub fn coalesce(entries: Vec<Entry>) -> Vec<Entry> {
    let mut joined: Vec<Entry> = Vec::with_capacity(entries.len());
    let mut run: Vec<Entry> = Vec::new();
    for entry in entries {
        if run.first().is_some_and(|first| !alike(first, &entry)) {
            flush(&mut run, &mut joined);
        }
        run.push(entry);
    }
    flush(&mut run, &mut joined);
    joined
}

fn alike(first: &Entry, next: &Entry) -> bool {
    let place = |entry: &Entry| entry.object.rsplit_once('/').map(|(place, _)| place.to_owned());
    let near = match (first.dated, next.dated) {
        (Some(first), Some(next)) => duration::seconds_between(first, next) <= 1.0,
        _ => false,
    };
    near && first.phase == next.phase
        && first.kind != EntryKind::Gap
        && first.kind == next.kind
        && first.by == next.by
        && place(first) == place(next)
}

fn flush(run: &mut Vec<Entry>, joined: &mut Vec<Entry>) {
    if run.len() < COALESCE {
        joined.append(run);
        return;
    }
    let names: Vec<&str> = run.iter().map(|entry| entry.object.rsplit('/').next().unwrap_or_default()).collect();
    let mut line = run[0].clone();
    let place = line.object.rsplit_once('/').map(|(place, _)| place.to_owned()).unwrap_or_default();
    line.detail = names.join(", ");
    line.object = format!("{place}/… ×{}", run.len());
    line.count = run.len();
    run.clear();
    joined.push(line);
}

/// Writes lines along one axis; `many` names each line's object, chapters begin at rollouts.
///
/// # Errors
/// The stream's.
pub fn write_axis(entries: &[Entry], many: bool, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let width = width.unwrap_or(WIDTH).max(80);
    let namespace = shared_namespace(entries);
    let object = entries.iter().map(|entry| without(&entry.object, namespace.as_deref()).chars().count()).max().unwrap_or(0).min(OBJECT);
    let mut axis = Axis { many, width, namespace, object, day: None, previous: None, inferred: false };
    for entry in entries {
        axis.write(entry, out)?;
    }
    if axis.inferred {
        writeln!(out, "{}", paint(style::FAINT, "* inferred from what changed; the write left no trace in managedFields"))?;
    }
    Ok(())
}

/// The namespace that all namespaced lines share: it need not be repeated.
fn shared_namespace(entries: &[Entry]) -> Option<String> {
    let namespace = |entry: &Entry| {
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
    width: usize,
    namespace: Option<String>,
    object: usize,
    day: Option<String>,
    previous: Option<Dated>,
    inferred: bool,
}

impl Axis {
    fn write(&mut self, entry: &Entry, out: &mut dyn Write) -> io::Result<()> {
        let day = entry.dated.map(|dated| dated.time.strftime("%Y-%m-%d").to_string());
        if day.is_some() && day != self.day {
            writeln!(out, "{}", paint(style::FAINT, format!("{} UTC", day.as_deref().unwrap_or_default())))?;
            self.day = day;
        }
        if matches!(entry.phase.as_str(), "Rollout" | "Undo") && entry.kind != EntryKind::Note {
            writeln!(out)?;
        }
        let tail = self.tail(entry);
        let head = format!("{}  {:>6}  ", clock_time(entry.dated), format!("r{}", entry.revision));
        let (sign, style) = match entry.kind {
            EntryKind::Phase => ('●', phase_style(&entry.phase)),
            EntryKind::Longest => ('◆', style::STRONG),
            EntryKind::Note => ('·', style::FAINT),
            EntryKind::Gap => ('⋮', style::WARNING),
        };
        let object = without(&entry.object, self.namespace.as_deref());
        let object = if self.many { format!("{:<1$} ", value::cut(&object, self.object), self.object) } else { String::new() };
        let phase = format!("{:<PHASE$}", entry.phase);
        let taken = 24 + object.chars().count() + phase.chars().count() + 1;
        let room = self.width.saturating_sub(taken + if tail.is_empty() { 0 } else { tail.chars().count() + 2 });
        let fits = entry.detail.chars().count() <= room;
        let below = !fits && entry.kind != EntryKind::Note;
        let detail = if below { String::new() } else { value::cut(&entry.detail, room) };
        let line = format!("{}{} {object}{} {detail}", paint(style::FAINT, head), paint(style, sign), paint(style, phase));
        if tail.is_empty() {
            writeln!(out, "{}", line.trim_end())?;
        } else {
            let gap = (room + 2).saturating_sub(detail.chars().count());
            writeln!(out, "{line}{}{}", " ".repeat(gap), paint(style::ACTOR, tail))?;
        }
        if below {
            for line in wrapped(&entry.detail, self.width - 26) {
                writeln!(out, "{}{line}", " ".repeat(26))?;
            }
        }
        Ok(())
    }

    fn tail(&mut self, entry: &Entry) -> String {
        let by = entry.by.as_ref().map(|by| {
            let inferred = by.from == ActorFrom::Inferred;
            self.inferred |= inferred;
            format!("{by}{}", if inferred { "*" } else { "" })
        });
        let mut elapsed = None;
        if !self.many && entry.kind != EntryKind::Note {
            elapsed = self.previous.zip(entry.dated).map(|(previous, now)| format!("+{}", duration::between(previous, now)));
            self.previous = entry.dated.or(self.previous);
        }
        let longest = (entry.kind == EntryKind::Longest && !self.many).then(|| "longest".to_owned());
        by.into_iter().chain(elapsed).chain(longest).collect::<Vec<_>>().join(", ")
    }
}

/// `text` broken at spaces into lines of `width`, the last of them cut.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut lines_left = BELOW;
    for word in text.split(' ') {
        let full = lines.last().is_none_or(|line| line.chars().count() + 1 + word.chars().count() > width);
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

fn phase_style(phase: &str) -> anstyle::Style {
    match phase {
        "Created" | "Ready" | "Scheduled" | "Succeeded" | "Returned" | "Bound" | "RolledOut" | "Registered" => style::ADDED,
        "Deleted" | "Failed" | "Refused" | "HeartbeatLost" | "NotReady" | "Stuck" | "Evicted" | "Lost" | "ResizeInfeasible" => {
            style::REMOVED
        }
        _ => style::CHANGED,
    }
}

/// The answer in one line: whose story, how it stands, how long it took, what took longest, and whether anything is missing.
pub fn head(timeline: &Timeline, oldest: Revision) -> String {
    let phases = &timeline.phases;
    let mut words = vec![name(&timeline.subject)];
    let span = phases.first().zip(phases.last()).and_then(|(first, last)| Some((first.phase, last.phase, first.dated?, last.dated?)));
    if let Some((first, last, from, to)) = span.filter(|_| phases.len() > 1) {
        words.push(format!("{first} → {last} in {}", duration::between(from, to)));
    }
    let longest = phases.windows(2).find(|pair| pair[1].longest);
    if let Some((pair, from, to)) = longest.and_then(|pair| Some((pair, pair[0].dated?, pair[1].dated?))) {
        words.push(format!("longest: {} → {}, {}", pair[0].phase, pair[1].phase, duration::between(from, to)));
    }
    if !timeline.complete {
        words.push(format!("incomplete: the readable history begins at r{oldest}"));
    }
    words.join("   ")
}

/// How the object came to be deleted, in a few lines.
///
/// # Errors
/// The stream's.
pub fn write_deletion(deletion: &Deletion, object: &str, out: &mut dyn Write) -> io::Result<()> {
    let took = match (deletion.asked_at, deletion.gone_at) {
        (Some(asked), Some(gone)) if deletion.gone != Some(deletion.asked) => format!(", gone after {}", duration::between(asked, gone)),
        (_, None) if deletion.gone.is_none() => ", still there".to_owned(),
        _ => String::new(),
    };
    writeln!(out, "{}{took}: {}", paint(style::STRONG, format!("deletion: {} in r{}", deletion.chain, deletion.asked)), deletion.evidence)?;
    for finalizer in &deletion.finalizers {
        let how = match (finalizer.removed, finalizer.dated, deletion.asked_at) {
            (Some(revision), Some(removed), Some(asked)) => {
                format!("held it for {} (removed in r{revision})", duration::between(asked, removed))
            }
            (Some(revision), ..) => format!("held it until r{revision}"),
            (None, ..) => "still holds it".to_owned(),
        };
        writeln!(out, "  finalizer {} {how}", finalizer.name)?;
    }
    if deletion.gone.is_some() {
        writeln!(out, "{}", paint(style::FAINT, format!("last manifest: ketcd get {object} --rev {} -o yaml", deletion.last_manifest)))?;
    }
    Ok(())
}

/// A node's outages: how long, what was evicted, replaced by what and where.
///
/// # Errors
/// The stream's.
pub fn write_outages(outages: &[Outage], out: &mut dyn Write) -> io::Result<()> {
    for outage in outages {
        let span = outage.from.dated.zip(outage.until.as_ref().and_then(|until| until.dated));
        let length = span
            .map_or_else(|| "until the end of the history".to_owned(), |(from, until)| format!("for {}", duration::between(from, until)));
        let evicted = if outage.lost.is_empty() { "no pod was evicted".to_owned() } else { format!("{} evicted", outage.lost.len()) };
        let since = clock_time(outage.from.dated);
        writeln!(out, "{}: {evicted}", paint(style::STRONG, format!("outage: not heard of since {since}, {length}")))?;
        for (pod, replacement) in &outage.lost {
            let instead = match replacement {
                Some(Replacement { pod, node: Some(node) }) => format!("replaced by {pod} on {node}"),
                Some(Replacement { pod, node: None }) => format!("replaced by {pod}, which waits for a node"),
                None => "not replaced; it did not come back".to_owned(),
            };
            writeln!(out, "  {pod}  {instead}")?;
        }
    }
    Ok(())
}

/// What keeps a workload from being finished, in the words of who refused it.
///
/// # Errors
/// The stream's.
pub fn write_waiting(waiting: &[(&Timeline, &Phase)], out: &mut dyn Write) -> io::Result<()> {
    for (timeline, phase) in waiting {
        let since = clock_time(phase.dated);
        writeln!(
            out,
            "{} {}",
            paint(style::WARNING, format!("waits: {}, {} since {since}", name(&timeline.subject), phase.phase)),
            phase.detail
        )?;
    }
    Ok(())
}

/// Keeps the lines within `window` seconds of `center`.
pub fn within(entries: Vec<Entry>, center: Timestamp, window: f64) -> Vec<Entry> {
    let near =
        |entry: &Entry| entry.dated.is_some_and(|dated| dated.time.duration_since(center).as_secs_f64().abs() <= window + dated.error);
    entries.into_iter().filter(near).collect()
}

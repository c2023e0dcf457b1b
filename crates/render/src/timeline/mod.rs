//! Timelines as text: one axis, who did what, how long it took; Kubernetes Events woven in, gaps drawn as gaps.

mod axis;
mod closing;
mod coalesce;
mod creation;
mod detail;
pub mod json;
mod story_text;

use jiff::Timestamp;

use super::change_text::day_of;
use super::duration;
use super::visible::visible;
use super::words::name;
use ketcd_history::clock::Dated;
use ketcd_history::state::state_of;
use ketcd_history::timeline::{Gap, Note, Phase, StepKind, Timeline};
use ketcd_history::{Actor, ActorFrom, Logged};
use ketcd_store::Revision;

pub use detail::detail;
pub(crate) use detail::template_change;
pub use story_text::{PartLines, Told};

/// A line of the axis.
#[derive(Clone, Debug)]
pub struct TimelineEntry {
    /// Its place.
    pub revision: Revision,
    /// When.
    pub dated: Option<Dated>,
    /// Whose: `pod/lab/ubuntu`.
    pub object: String,
    /// What happened; `None` of an Event and of a gap.
    pub step: Option<StepKind>,
    /// The phase, or an Event's reason.
    pub phase: String,
    /// More, in words.
    pub detail: String,
    /// By whom.
    pub by: Option<Actor>,
    /// What audit logs say of that.
    pub logged: Option<Box<Logged>>,
    /// Whether the revision is only about the one that etcd has.
    pub is_placed: bool,
    /// What it is.
    pub kind: EntryKind,
    /// The object that controls it: `rs/lab/web-7d9`.
    pub owner: Option<String>,
    /// Whether an Event warns.
    pub warns: bool,
    /// Whether its time comes from a field of the object. Its revision is then the one of the version read, which holds many times.
    pub one_moment: bool,
}

impl TimelineEntry {
    /// The order of lines: by revision or, where they have their own times, by these.
    pub fn place(&self) -> (Option<Timestamp>, Revision) {
        if self.one_moment { (self.dated.map(|dated| dated.time), Revision::default()) } else { (None, self.revision) }
    }
}

impl TimelineEntry {
    /// The same with words that are safe for a terminal.
    fn visible(&self) -> Self {
        let safe = |text: &str| visible(text).into_owned();
        Self { object: safe(&self.object), phase: safe(&self.phase), detail: safe(&self.detail), ..self.clone() }
    }
}

/// What a line of the axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A step that versions show.
    Phase,
    /// The step that took longest.
    Longest,
    /// A message of a component.
    Note,
    /// Missing versions.
    Gap,
}

/// The lines of one timeline.
pub fn entries(timeline: &Timeline, with_notes: bool) -> Vec<TimelineEntry> {
    let object = name(&timeline.subject);
    let owner = timeline.controlled_by().map(|owner| name(&owner));
    let phases = timeline.phases.iter().map(|phase| phase_entry(&object, phase));
    let gaps = timeline.gaps.iter().map(|gap| gap_entry(&object, gap));
    let notes = timeline.notes.iter().filter(|_| with_notes).map(note_entry);
    let mut entries: Vec<TimelineEntry> = phases.chain(gaps).chain(notes).collect();
    for entry in &mut entries {
        entry.owner.clone_from(&owner);
        entry.one_moment = timeline.one_moment;
    }
    entries.sort_by_key(|entry| (entry.place(), entry.kind == EntryKind::Note));
    entries
}

fn phase_entry(object: &str, phase: &Phase) -> TimelineEntry {
    TimelineEntry {
        revision: phase.revision,
        dated: phase.dated,
        object: object.to_owned(),
        step: Some(phase.phase),
        phase: phase.phase.as_str().to_owned(),
        detail: detail(phase.phase, &phase.detail),
        by: phase.by.clone(),
        logged: phase.logged.clone(),
        is_placed: phase.is_placed,
        kind: if phase.longest { EntryKind::Longest } else { EntryKind::Phase },
        owner: None,
        warns: false,
        one_moment: false,
    }
}

fn gap_entry(object: &str, gap: &Gap) -> TimelineEntry {
    let from = gap.after.map_or_else(|| "its beginning".to_owned(), |after| format!("r{after}"));
    TimelineEntry {
        revision: gap.until,
        dated: gap.dated,
        object: object.to_owned(),
        step: None,
        phase: "(gap)".to_owned(),
        detail: format!("versions from {from} to r{} are missing; then: {}", gap.until, gap.state),
        by: None,
        logged: None,
        is_placed: false,
        kind: EntryKind::Gap,
        owner: None,
        warns: false,
        one_moment: false,
    }
}

/// The line of an Event.
pub fn note_entry(note: &Note) -> TimelineEntry {
    let times = if note.count > 1 {
        let is_same_day = |first| note.dated.is_some_and(|dated| day_of(dated.time) == day_of(first));
        let since = note.first.map(|first| first.strftime(if is_same_day(first) { "%H:%M:%S" } else { "%F %H:%M:%S" }));
        let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
        format!(" (×{}{since})", note.count)
    } else {
        String::new()
    };
    TimelineEntry {
        revision: note.revision,
        dated: note.dated,
        object: name(&note.subject()),
        step: None,
        phase: note.reason.clone(),
        detail: format!("{}{times}", note.message),
        by: Some(Actor { name: note.source.clone(), on: None, from: ActorFrom::Recorded }),
        logged: None,
        is_placed: false,
        kind: EntryKind::Note,
        owner: None,
        warns: note.kind == "Warning",
        one_moment: false,
    }
}

/// The answer in one line: whose story, how it stands, how long it took, what took longest, and whether anything is missing.
pub fn head(timeline: &Timeline, oldest: Revision) -> String {
    let phases = &timeline.phases;
    let mut words = vec![name(&timeline.subject)];
    let state = timeline.last.as_ref().map(|last| state_of(last).label).filter(|label| !label.is_empty());
    if timeline.vanished {
        words.push("gone, its deletion is no longer readable".to_owned());
    } else if timeline.is_gone() {
        words.push("gone".to_owned());
    } else if let Some(state) = state {
        words.push(state.into_owned());
    }
    // A workload's rollouts show its duration.
    let has_rollouts = !timeline.rollouts.is_empty();
    let span = phases.first().zip(phases.last()).and_then(|(first, last)| Some((first, last, first.dated?, last.dated?)));
    let took = |first: &Phase, last: &Phase| first.revision != last.revision || timeline.one_moment && phases.len() > 1;
    if let Some((first, last, from, to)) = span.filter(|(first, last, ..)| took(first, last) && !has_rollouts) {
        words.push(format!("{} → {} in {}", first.phase, last.phase, duration::between(from, to)));
    }
    let longest = phases.windows(2).find(|pair| pair[1].longest && !has_rollouts);
    if let Some((pair, from, to)) = longest.and_then(|pair| Some((pair, pair[0].dated?, pair[1].dated?))) {
        words.push(format!("longest: {} → {}, {}", pair[0].phase, pair[1].phase, duration::between(from, to)));
    }
    if timeline.one_moment {
        words.push("one moment: only the times in the object are known".to_owned());
    } else if !timeline.complete {
        words.push(format!("incomplete: the readable history begins at r{oldest}"));
    }
    words.join("   ")
}

/// Keeps the lines within `window` seconds of `center`.
pub fn within(entries: Vec<TimelineEntry>, center: Timestamp, window: f64) -> Vec<TimelineEntry> {
    let near = |entry: &TimelineEntry| {
        entry.dated.is_some_and(|dated| dated.time.duration_since(center).as_secs_f64().abs() <= window + dated.error)
    };
    entries.into_iter().filter(near).collect()
}

#[cfg(test)]
mod tests;

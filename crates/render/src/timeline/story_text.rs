//! A story as text: which of its lines are printed, under which head, and what follows them.

use std::collections::HashSet;
use std::io;

use jiff::Timestamp;
use jiff::civil::Date;

use ketcd_cluster::related::related;
use ketcd_history::Logged;
use ketcd_history::timeline::{StepKind, Story, Timeline};
use ketcd_store::Revision;

use super::axis::{Room, write_axis};
use super::closing::{write_cordons, write_deletion, write_outages, write_rollouts, write_waiting};
use super::coalesce::{by_write, coalesce, tidy};
use super::{EntryKind, TimelineEntry, entries, head, within};
use crate::change_text::day_of;
use crate::command_line::Invocation;
use crate::style::{STRONG, StyledWrite, paint};
use crate::words::name;

/// A story, and how much of it to tell.
pub struct Told<'a> {
    /// The story.
    pub story: &'a Story,
    /// The objects that it is about.
    pub subjects: Vec<&'a Timeline>,
    /// Whether several objects were asked for.
    pub many: bool,
    /// All steps and all Events, also those of objects that belong to the subject.
    pub all: bool,
    /// Only after this revision; 0 for all.
    pub after: Revision,
    /// Only within this many seconds of a time.
    pub around: Option<(Timestamp, f64)>,
    /// Only what was done by whom this takes, by the audit logs.
    pub by: Option<&'a dyn Fn(Option<&Logged>) -> bool>,
    /// The oldest revision that can be read.
    pub oldest: Revision,
    /// The call of ketcd that suggested commands begin with.
    pub invocation: &'a Invocation,
}

/// Phases that are printed of objects that belong to the subject; `-o wide` prints all.
const OF_RELATED: &[StepKind] = &[
    StepKind::Created,
    StepKind::Scheduled,
    StepKind::Refused,
    StepKind::Nominated,
    StepKind::Gated,
    StepKind::Ready,
    StepKind::NotReady,
    StepKind::Restarted,
    StepKind::Waiting,
    StepKind::Evicted,
    StepKind::Deleting,
    StepKind::Deleted,
    StepKind::Failed,
    StepKind::Succeeded,
    StepKind::ScaledUp,
    StepKind::ScaledDown,
    StepKind::Rollout,
    StepKind::EndpointsReady,
    StepKind::EndpointsGone,
    StepKind::EndpointsNotReady,
    StepKind::EndpointsTerminating,
    StepKind::NoEndpoints,
    StepKind::Bound,
    StepKind::Provisioning,
    StepKind::Attached,
    StepKind::AttachFailed,
    StepKind::Allocated,
    StepKind::Fired,
    StepKind::Stuck,
    StepKind::NoMetrics,
    StepKind::ResizeDeferred,
    StepKind::ResizeInfeasible,
];

impl Told<'_> {
    /// Writes the story for people; returns whether there was a line.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_text(&self, width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<bool> {
        let single = if let ([only], false) = (&self.subjects[..], self.many) { Some(*only) } else { None };
        let (lines, mixed) = lines(self);
        let room = Room { width, whole: self.all, day: only_day(&lines) };
        if let (Some(subject), true) = (single, self.by.is_none() || !lines.is_empty()) {
            writeln!(out, "{}", paint(STRONG, head(subject, self.oldest)))?;
        }
        if let Some(subject) = single.filter(|_| self.by.is_none()) {
            write_rollouts(&subject.rollouts, room, out)?;
            match subject.subject.kind.as_str() {
                "Node" => {
                    write_cordons(&self.story.cordons(subject), room, out)?;
                    write_outages(&self.story.outages(subject), room, out)?;
                }
                "Pod" => {}
                _ => write_waiting(&self.story.waiting(subject), room, out)?,
            }
        }
        write_axis(&lines, mixed, room, out)?;
        if let Some((subject, deletion)) =
            single.filter(|_| self.by.is_none()).and_then(|subject| Some((subject, self.story.deletion(subject)?)))
        {
            write_deletion(&deletion, &name(&subject.subject), self.invocation, room, out)?;
        }
        Ok(!lines.is_empty())
    }
}

/// The day that all lines are of whose time is known.
fn only_day(lines: &[TimelineEntry]) -> Option<Date> {
    let mut days = lines.iter().filter_map(|line| Some(day_of(line.dated?.time)));
    let first = days.next()?;
    days.all(|day| day == first).then_some(first)
}

/// The lines of a story of many objects that comes in parts: the axis has those of all in order, so it is written behind the last.
#[derive(Default)]
pub struct PartLines {
    lines: Vec<TimelineEntry>,
    all: bool,
}

impl PartLines {
    /// Adds the lines of a part.
    pub fn add(&mut self, part: &Told<'_>) {
        self.all = part.all;
        self.lines.extend(lines_of(part).0);
    }

    /// Writes them as [`Told::write_text`] writes the lines of a story that comes at once; returns whether there was one.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_text(self, width: Option<usize>, out: &mut dyn StyledWrite) -> io::Result<bool> {
        let lines = in_order(self.lines, true, self.all);
        write_axis(&lines, true, Room { width, whole: self.all, day: only_day(&lines) }, out)?;
        Ok(!lines.is_empty())
    }
}

/// The lines of the axis, and whether they are of several objects.
fn lines(told: &Told<'_>) -> (Vec<TimelineEntry>, bool) {
    let (lines, mixed) = lines_of(told);
    (in_order(lines, mixed, told.all), mixed)
}

/// The lines in no order, and whether they are of several objects.
fn lines_of(told: &Told<'_>) -> (Vec<TimelineEntry>, bool) {
    let Told { story, subjects, many, all, after, around, by, .. } = told;
    let (many, all) = (*many, *all);
    let mut lines: Vec<TimelineEntry> = Vec::new();
    let known: HashSet<*const Timeline> = subjects.iter().map(|subject| std::ptr::from_ref(*subject)).collect();
    for subject in subjects {
        let own = entries(subject, true).into_iter();
        lines.extend(own.filter(|entry| all || !many || entry.kind != EntryKind::Note || entry.warns));
        for timeline in related(story, subject).into_iter().filter(|timeline| !known.contains(&std::ptr::from_ref(*timeline))) {
            let is_printed = |entry: &TimelineEntry| all || is_printed_by_default(subject, timeline, entry);
            let entries = entries(timeline, true).into_iter().filter(is_printed);
            lines.extend(
                entries
                    .map(|entry| if entry.kind == EntryKind::Longest { TimelineEntry { kind: EntryKind::Phase, ..entry } } else { entry }),
            );
        }
    }
    let mixed = many || lines.iter().any(|line| line.object != lines[0].object);
    if many {
        lines.iter_mut().filter(|line| line.kind == EntryKind::Longest).for_each(|line| line.kind = EntryKind::Phase);
    }
    lines.retain(|line| line.revision > *after || line.one_moment);
    if let Some(by) = by {
        lines.retain(|line| by(line.logged.as_deref()));
    }
    if let Some((center, window)) = *around {
        lines = within(lines, center, window);
    }
    (lines, mixed)
}

/// Lines as the axis has them: by time, and without those that others say.
fn in_order(mut lines: Vec<TimelineEntry>, mixed: bool, all: bool) -> Vec<TimelineEntry> {
    lines.sort_by_key(TimelineEntry::place);
    if all {
        return lines;
    }
    let lines = tidy(lines);
    if mixed { coalesce(by_write(lines)) } else { lines }
}

/// Whether a line of an object that belongs to the subject is printed without `-o wide`.
fn is_printed_by_default(subject: &Timeline, related: &Timeline, entry: &TimelineEntry) -> bool {
    if entry.kind == EntryKind::Note || !entry.step.is_some_and(|step| OF_RELATED.contains(&step)) {
        return false;
    }
    match subject.subject.kind.as_str() {
        "HorizontalPodAutoscaler" => matches!(entry.step, Some(StepKind::ScaledUp | StepKind::ScaledDown)),
        // What its pods were before they came is their own story.
        "Node" if related.placements.iter().any(|placement| placement.node == subject.subject.name) => {
            !matches!(entry.step, Some(StepKind::Created | StepKind::Refused | StepKind::Nominated | StepKind::Gated))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use ketcd_history::clock::Dated;
    use ketcd_history::timeline::{Note, Subject};

    use super::*;
    use crate::timeline::note_entry;

    /// The line of an Event that was seen twice.
    fn line(first: &str, last: &str) -> TimelineEntry {
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let of = |text: &str| text.to_owned();
        note_entry(&Note {
            time: time(last),
            first: time(first),
            reason: of("BackOff"),
            source: of("kubelet"),
            count: 2,
            message: of("Back-off"),
            kind: of("Warning"),
            revision: Revision(7),
            dated: time(last).map(|time| Dated { time, error: 0.5 }),
            about: Subject { kind: of("Pod"), namespace: of("web"), name: of("crasher"), uid: String::new() },
        })
    }

    const EVENING: &str = "2026-11-20T23:59:00Z";
    const NIGHT: &str = "2026-11-21T00:01:00Z";

    #[test]
    fn times_above_the_axis_have_no_date_where_it_has_one_day() {
        let day = |lines: &[TimelineEntry]| only_day(lines).map(|day| day.to_string());
        assert_eq!(day(&[line(EVENING, EVENING), line(EVENING, EVENING)]).as_deref(), Some("2026-11-20"));
        assert_eq!((day(&[line(EVENING, EVENING), line(NIGHT, NIGHT)]), day(&[])), (None, None));
    }

    #[test]
    fn an_event_that_began_on_another_day_says_which() {
        assert_eq!(line(EVENING, EVENING).detail, "Back-off (×2 since 23:59:00)");
        assert_eq!(line(EVENING, NIGHT).detail, "Back-off (×2 since 2026-11-20 23:59:00)");
    }
}

//! A story as text: which of its lines are printed, under which head, and what follows them.

use std::io;

use jiff::Timestamp;

use ketcd_cluster::related::related;
use ketcd_history::Logged;
use ketcd_history::timeline::{StepKind, Story, Timeline};
use ketcd_store::Revision;

use super::axis::{Room, write_axis};
use super::closing::{write_cordons, write_deletion, write_outages, write_rollouts, write_waiting};
use super::coalesce::{by_write, coalesce, tidy};
use super::{EntryKind, TimelineEntry, entries, head, within};
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
        let room = Room { width, whole: self.all };
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

/// The lines of the axis, and whether they are of several objects.
fn lines(told: &Told<'_>) -> (Vec<TimelineEntry>, bool) {
    let Told { story, subjects, many, all, after, around, by, .. } = told;
    let (many, all) = (*many, *all);
    let mut lines: Vec<TimelineEntry> = Vec::new();
    for subject in subjects {
        let own = entries(subject, true).into_iter();
        lines.extend(own.filter(|entry| all || !many || entry.kind != EntryKind::Note || entry.warns));
        for timeline in related(story, subject).into_iter().filter(|timeline| !subjects.iter().any(|known| std::ptr::eq(*known, *timeline)))
        {
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
    lines.sort_by_key(TimelineEntry::place);
    lines.retain(|line| line.revision > *after || line.one_moment);
    if let Some(by) = by {
        lines.retain(|line| by(line.logged.as_deref()));
    }
    if let Some((center, window)) = *around {
        lines = within(lines, center, window);
    }
    if !all {
        lines = tidy(lines);
    }
    (if mixed && !all { coalesce(by_write(lines)) } else { lines }, mixed)
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

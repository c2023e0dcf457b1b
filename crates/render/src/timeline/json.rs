//! Timelines as JSON.

use std::io::{self, Write};

use ketcd_cluster::related::related;

use super::story_text::Told;
use crate::contract::change::ObjectChange;
use crate::contract::common::{ActorFrom, Time};
use crate::contract::timeline as contract;
use crate::contract::window::HistoryWindow;
use crate::duration::seconds_between;
use crate::json;
use ketcd_history::Logged;
use ketcd_history::clock::Dated;
use ketcd_history::diff::ManagedFields;
use ketcd_history::timeline::{Cordon, Deletion, Fate, Gap, Note, Outage, Phase, Rollout, Subject, Timeline};
use ketcd_store::Revision;

use super::detail::{detail, template_change};

/// Takes what was done by some users alone; all where it is `None`.
type UserFilter<'a> = Option<&'a dyn Fn(Option<&Logged>) -> bool>;

fn takes(by: UserFilter<'_>, phase: &Phase) -> bool {
    by.is_none_or(|by| by(phase.logged.as_deref()))
}

/// A timeline with what the timelines of other objects add to it.
struct Gathered<'a> {
    timeline: Timeline,
    /// How its object came to be deleted.
    deletion: Option<Deletion>,
    /// The timelines of objects that belong to its object.
    related: Vec<&'a Timeline>,
    /// Whose phases of theirs count.
    by: UserFilter<'a>,
    /// When a node was lost.
    outages: Option<Vec<Outage>>,
    /// When a node was closed to new pods.
    cordons: Option<Vec<Cordon>>,
    /// The pods that keep a workload waiting, each with its current phase.
    waiting: Option<Vec<(&'a Timeline, &'a Phase)>>,
}

/// Writes each timeline as a line of JSON; returns whether there was one.
///
/// # Errors
/// The stream's.
pub fn write_lines(told: &Told<'_>, managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<bool> {
    let gathered = gathered(told);
    for gathered in &gathered {
        serde_json::to_writer(&mut *out, &document(gathered, told.oldest, managed_fields))?;
        writeln!(out)?;
    }
    Ok(!gathered.is_empty())
}

/// Writes the timelines as one JSON document, which is a list where several objects were asked for, with the stretch of history in its head;
/// returns whether there was one.
///
/// # Errors
/// The stream's.
pub fn write_document(
    told: &Told<'_>,
    window: Option<HistoryWindow>,
    managed_fields: ManagedFields,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let gathered = gathered(told);
    let mut items: Vec<contract::Timeline<'_>> = gathered.iter().map(|gathered| document(gathered, told.oldest, managed_fields)).collect();
    match items.pop() {
        Some(only) if items.is_empty() && !told.many => json::write_pretty(&contract::Timeline { window, ..only }, out)?,
        last => {
            items.extend(last);
            json::write_pretty(&contract::TimelineList { items, kind: "List", window }, out)?;
        }
    }
    writeln!(out)?;
    Ok(!gathered.is_empty())
}

/// The list of a story of many objects that comes in parts, as [`write_document`] writes the list of one that comes at once.
#[derive(Default)]
pub struct PartList {
    has_items: bool,
}

impl PartList {
    /// Writes the timelines of a part.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, part: &Told<'_>, managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<()> {
        for gathered in gathered(part) {
            out.write_all(if self.has_items { b",\n        " } else { b"{\n    \"items\": [\n        " })?;
            self.has_items = true;
            let mut item = Vec::new();
            json::write_pretty(&document(&gathered, part.oldest, managed_fields), &mut item)?;
            write_indented(&item, b"        ", out)?;
        }
        Ok(())
    }

    /// Ends the list; returns whether it has an item.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(self, window: Option<HistoryWindow>, out: &mut dyn Write) -> io::Result<bool> {
        out.write_all(if self.has_items { b"\n    ],\n    \"kind\": \"List\"" } else { b"{\n    \"items\": [],\n    \"kind\": \"List\"" })?;
        if let Some(window) = window {
            let mut head = Vec::new();
            json::write_pretty(&window, &mut head)?;
            out.write_all(b",\n    \"window\": ")?;
            write_indented(&head, b"    ", out)?;
        }
        out.write_all(b"\n}\n")?;
        Ok(self.has_items)
    }
}

/// Writes a document whose lines after the first are indented further. Texts in JSON have no line ends.
fn write_indented(document: &[u8], indent: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for (place, line) in document.split(|&byte| byte == b'\n').enumerate() {
        if place > 0 {
            out.write_all(b"\n")?;
            out.write_all(indent)?;
        }
        out.write_all(line)?;
    }
    Ok(())
}

/// The timelines to tell, each with what others add to it.
fn gathered<'a>(told: &Told<'a>) -> Vec<Gathered<'a>> {
    let Told { story, subjects, after, around, by, .. } = told;
    let mut gathered = Vec::new();
    for subject in subjects {
        let mut timeline = (*subject).clone();
        if *after > Revision(0) {
            timeline.keep_after(*after);
        }
        if let Some((center, window)) = *around {
            timeline.keep_around(center, window);
        }
        if let Some(by) = by {
            keep_by(&mut timeline, by);
        }
        let mut related = related(story, subject);
        related.retain(|timeline| by.is_none() || timeline.phases.iter().any(|phase| takes(*by, phase)));
        let is_alone = by.is_none() || related.is_empty();
        let is_empty = is_alone && timeline.phases.is_empty() && timeline.notes.is_empty() && timeline.changes.is_empty();
        if is_empty && (*after > Revision(0) || around.is_some() || by.is_some()) {
            continue;
        }
        let (is_node, is_pod) = (subject.subject.kind == "Node", subject.subject.kind == "Pod");
        gathered.push(Gathered {
            timeline,
            deletion: story.deletion(subject),
            related,
            by: *by,
            outages: is_node.then(|| story.outages(subject)),
            cordons: is_node.then(|| story.cordons(subject)),
            waiting: (!is_node && !is_pod).then(|| story.waiting(subject)),
        });
    }
    gathered
}

/// Leaves out what was not done by whom `by` takes.
fn keep_by(timeline: &mut Timeline, by: &dyn Fn(Option<&Logged>) -> bool) {
    timeline.phases.retain(|phase| by(phase.logged.as_deref()));
    timeline.rollouts.retain(|rollout| by(rollout.logged.as_deref()));
    timeline.changes.retain(|change| by(change.logged().as_deref()));
    timeline.gaps.clear();
    timeline.notes.clear();
}

fn document<'a>(gathered: &'a Gathered<'_>, oldest: Revision, managed_fields: ManagedFields) -> contract::Timeline<'a> {
    let Gathered { timeline, deletion, related, by, outages, cordons, waiting } = gathered;
    let changes = timeline.changes.iter().map(|change| ObjectChange::new(change, managed_fields));
    contract::Timeline {
        changes: changes.collect(),
        complete: timeline.complete,
        cordons: cordons.as_ref().map(|cordons| cordons.iter().map(cordon).collect()),
        deletion: deletion.as_ref().map(deleted),
        events: timeline.notes.iter().map(event).collect(),
        gaps: timeline.gaps.iter().map(gap).collect(),
        object: (&timeline.subject).into(),
        oldest_readable_revision: oldest.0,
        one_moment: timeline.one_moment,
        outages: outages.as_ref().map(|outages| outages.iter().map(outage).collect()),
        phases: phases(&timeline.phases),
        related: related.iter().map(|timeline| of_related(timeline, *by)).collect(),
        rollouts: timeline.rollouts.iter().map(rollout).collect(),
        vanished: timeline.vanished,
        waiting: waiting.as_ref().map(|waiting| waiting.iter().map(waits).collect()),
        window: None,
    }
}

/// Phases in order, each with the seconds since the one before.
fn phases<'a>(phases: impl IntoIterator<Item = &'a Phase>) -> Vec<contract::Phase<'a>> {
    let mut previous = None;
    let phases_with_times = phases.into_iter().map(|phase| {
        let since = seconds(previous, phase.dated);
        previous = phase.dated.or(previous);
        contract::Phase {
            by: phase.by.as_ref().map(ToString::to_string),
            by_from: ActorFrom::of(phase.by.as_ref()),
            detail: detail(phase.phase, &phase.detail),
            is_placed: phase.is_placed,
            longest: phase.longest,
            phase: phase.phase.as_str(),
            revision: phase.revision.0,
            since_previous_seconds: since,
            time: Time::of(phase.dated),
            time_error_seconds: phase.dated.map(|dated| dated.error),
        }
    });
    phases_with_times.collect()
}

/// Seconds from one write to another, where both are dated.
fn seconds(from: Option<Dated>, to: Option<Dated>) -> Option<f64> {
    from.zip(to).map(|(from, to)| seconds_between(from, to))
}

fn of_related<'a>(timeline: &'a Timeline, by: UserFilter<'_>) -> contract::Related<'a> {
    let phases = phases(timeline.phases.iter().filter(|phase| takes(by, phase)));
    contract::Related { complete: timeline.complete, object: (&timeline.subject).into(), phases }
}

fn gap(gap: &Gap) -> contract::VersionGap<'_> {
    contract::VersionGap { after_revision: gap.after.map(|after| after.0), then: &gap.state, until_revision: gap.until.0 }
}

fn event(note: &Note) -> contract::Event<'_> {
    contract::Event {
        count: note.count,
        first_time: note.first.map(Time),
        message: &note.message,
        object: (&note.about).into(),
        reason: &note.reason,
        revision: note.revision.0,
        source: &note.source,
        time: note.time.map(Time),
        kind: &note.kind,
    }
}

fn deleted(deletion: &Deletion) -> contract::Deletion<'_> {
    let finalizers = deletion.finalizers.iter().map(|finalizer| contract::Finalizer {
        held_seconds: seconds(deletion.asked_at, finalizer.dated),
        name: &finalizer.name,
        removed_revision: finalizer.removed.map(|removed| removed.0),
    });
    contract::Deletion {
        asked_revision: deletion.asked.0,
        asked_time: Time::of(deletion.asked_at),
        chain: deletion.chain,
        evidence: &deletion.evidence,
        finalizers: finalizers.collect(),
        gone_revision: deletion.gone.map(|gone| gone.0),
        gone_time: Time::of(deletion.gone_at),
        last_manifest_revision: deletion.last_manifest.0,
        vanished: deletion.vanished,
    }
}

fn rollout(rollout: &Rollout) -> contract::Rollout<'_> {
    let end = rollout.end;
    contract::Rollout {
        by: rollout.by.as_ref().map(ToString::to_string),
        by_from: ActorFrom::of(rollout.by.as_ref()),
        change: template_change(&rollout.change, rollout.undo.as_ref()),
        change_cause: rollout.cause.as_deref(),
        end_revision: end.map(|(_, revision, _)| revision.0),
        number: rollout.number.as_deref(),
        outcome: end.map(|(end, ..)| end.into()),
        revision: rollout.begun.0,
        seconds: end.and_then(|(.., dated)| seconds(rollout.dated, dated)),
        stuck: rollout.stuck.as_ref().map(ToString::to_string),
        time: Time::of(rollout.dated),
        time_error_seconds: rollout.dated.map(|dated| dated.error),
        undo: rollout.undo.is_some(),
    }
}

fn waits<'a>((timeline, phase): &(&'a Timeline, &'a Phase)) -> contract::Waiting<'a> {
    contract::Waiting {
        detail: detail(phase.phase, &phase.detail),
        object: (&timeline.subject).into(),
        phase: phase.phase.as_str(),
        since_revision: phase.revision.0,
        since_time: Time::of(phase.dated),
    }
}

fn outage(outage: &Outage) -> contract::Outage<'_> {
    let tainted = outage.tainted.as_ref().and_then(|tainted| tainted.dated);
    let stayed = outage
        .stayed
        .iter()
        .map(|(pod, ready)| contract::Stayed { object: pod.into(), ready_revision: ready.as_ref().map(|ready| ready.revision.0) });
    contract::Outage {
        evicted: outage.evicted.iter().map(fate).collect(),
        evicted_after_taint_seconds: seconds(tainted, outage.first_evicted),
        from_revision: outage.from.revision.0,
        from_time: Time::of(outage.from.dated),
        lost_after_seconds: seconds(outage.from.dated, outage.lost.dated),
        lost_revision: outage.lost.revision.0,
        seconds: seconds(outage.from.dated, outage.until.as_ref().and_then(|until| until.dated)),
        stayed: stayed.collect(),
        tainted_revision: outage.tainted.as_ref().map(|tainted| tainted.revision.0),
        until_revision: outage.until.as_ref().map(|until| until.revision.0),
    }
}

fn cordon(cordon: &Cordon) -> contract::Cordon<'_> {
    let until = cordon.until.as_ref();
    contract::Cordon {
        by: cordon.from.by.as_ref().map(ToString::to_string),
        from_revision: cordon.from.revision.0,
        from_time: Time::of(cordon.from.dated),
        left: cordon.left.iter().map(fate).collect(),
        seconds: seconds(cordon.from.dated, until.and_then(|until| until.dated)),
        until_revision: until.map(|until| until.revision.0),
    }
}

fn fate((pod, fate): &(Subject, Fate)) -> contract::PodFate<'_> {
    let (fate, replacement) = match fate {
        Fate::Replaced(replacement) => (contract::Fate::Replaced, Some(replacement)),
        Fate::Ended => (contract::Fate::Ended, None),
        Fate::NotReplaced => (contract::Fate::NotReplaced, None),
        Fate::Alone => (contract::Fate::NoController, None),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    let replacement = replacement.map(|made| contract::Replacement { node: made.node.as_deref(), object: (&made.pod).into() });
    contract::PodFate { fate, object: pod.into(), replacement }
}

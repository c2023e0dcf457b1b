//! The rows of a report, gathered from a cluster.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_cluster::read::{Keys, Read};
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_history::{AttributedChange, Change, ObjectVersion};
use ketcd_render::report::{Report, decisions_note, recorded_note, selection_note};
use ketcd_store::Revision;

use super::session::Session;
use super::{Error, Result};

/// Gathers the rows of what the words name, and what the reader must know of them.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn gather(session: &Session, words: &[String]) -> Result<(Report, Vec<String>)> {
    let oldest = session.source.span().await?.oldest;
    let clock = session.clock_of_writers(&[], &[], &[]).await?;
    let reported = session.report_on(words).await?;
    let mut report = Report::new(session.args.managed_fields());
    let alive = reported.alive().await?;
    let mut before = Before { after: session.counted_after(), held: HashMap::new() };
    let observe = |report: &mut Report, changes: Vec<Change>| {
        let mut changes = changes.into_iter().map(|change| AttributedChange::new(change, &clock));
        changes.try_for_each(|change| report.observe(&change, clock.leases()))
    };
    let mut changes = reported.changes();
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item(change) => observe(&mut report, before.and(change))?,
            Read::Gap { to, .. } if to <= before.after => {}
            Read::Gap { from, to } => {
                if let (Some(from), Some(to)) = (clock.date(from), clock.date(to)) {
                    report.gap(from.time, to.time);
                }
            }
        }
    }
    drop(changes);
    observe(&mut report, before.take())?;
    session.since.and_then(|since| since.time).into_iter().for_each(|since| report.begin(since));
    // What the oldest whole state does not hold was gone by then.
    report.mark_vanished(&alive, clock.date(oldest).map(|dated| dated.time));
    if report.is_empty() {
        return Ok((report, Vec::new()));
    }
    let mut notes = clock.problems().to_vec();
    notes.extend(add_decisions(session, &mut report, &reported.keys).await?);
    notes.extend(report.notes());
    if let Some(selection) = reported.selection {
        notes.push(selection_note(&selection));
        report.count_unlisted(selection);
    }
    Ok((report, notes))
}

/// What was there when the changes begin that count: the last version of each object.
struct Before {
    /// Changes after it count.
    after: Revision,
    held: HashMap<Bytes, Change>,
}

impl Before {
    /// Keeps a change that does not count; returns one that does, behind what was there before the first.
    fn and(&mut self, change: Change) -> Vec<Change> {
        if change.revision > self.after {
            let mut changes = self.take();
            changes.push(change);
            return changes;
        }
        match change.after.object() {
            // An Event tells what happened then.
            Some(object) if object["kind"] == "Event" => {}
            None if change.after == ObjectVersion::Absent => drop(self.held.remove(&change.key)),
            _ => drop(self.held.insert(change.key.clone(), change)),
        }
        Vec::new()
    }

    /// Returns what was there, once.
    fn take(&mut self) -> Vec<Change> {
        let mut there: Vec<Change> = self.held.drain().map(|(_, change)| change).collect();
        there.sort_by_key(|change| (change.revision, change.sub_revision));
        there
    }
}

/// Adds every scheduling decision to its pod's row: evaluated where the cluster is small enough, else as it is recorded. Returns what the reader
/// must know of them.
async fn add_decisions(session: &Session, report: &mut Report, keys: &Keys) -> Result<Option<String>> {
    if session.is_long().await? && !report.has_attempts() {
        return Ok(None);
    }
    if !session.can_evaluate_decisions(keys).await? {
        report.show_recorded_decisions()?;
        return Ok(Some(recorded_note()));
    }
    let clock = session.clock().await?;
    let explainer = session.explainer(&SchedulerOptions::default()).await?;
    let note = decisions_note(explainer.scheduler());
    let (mut found, after) = (false, session.counted_after().0);
    let mut decisions = explainer.decisions();
    let walked = decisions.each(|decision| {
        if decision.attempt().revision <= after || !report.shows(&decision.attempt().pod.uid) {
            decision.skip();
            return Ok(());
        }
        let decided = decision.explain();
        report.decision(&decided.explanation, decided.mode, clock.date(Revision(decided.explanation.attempt.revision)))?;
        found = true;
        Ok::<(), Error>(())
    });
    walked.await?;
    Ok(found.then_some(note))
}

//! The rows of a report, gathered from a cluster.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_cluster::read::{Keys, Read};
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_history::{AttributedChange, ObjectVersion};
use ketcd_render::report::{Report, decisions_note, recorded_note, selection_note};
use ketcd_store::Revision;

use crate::cli::input::request_filter::ByArgs;
use crate::cli::outcome::{Error, Result};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search};

/// A report, and what belongs to it.
pub(in crate::cli) struct Gathered {
    pub report: Report,
    /// What the reader must know of it.
    pub notes: Vec<String>,
    /// Whether an object that was named is not there, which was said.
    pub is_part_missing: bool,
}

/// Gathers the rows of what the words name.
pub(in crate::cli) async fn gather(session: &Session, words: &[String], by: &ByArgs) -> Result<Gathered> {
    let oldest = session.cluster.source.span().await?.oldest;
    let clock = session.cluster.clock_of_writers(&[], &[], &[]).await?;
    let reported = session.cluster.report_on(words).await?;
    let mut report = Report::new(session.managed_fields());
    let changed = match by.take_all() {
        true => None,
        false => Some(reported.changed_by(&clock, session.cluster.counted_after(), |request| by.take(request)).await?),
    };
    let counts = |AttributedChange { change, .. }: &AttributedChange| {
        let is_event = || change.object().is_some_and(|object| object["kind"] == "Event");
        changed.as_ref().is_none_or(|changed| changed.contains(&change.key) || is_event())
    };
    let alive = reported.alive().await?;
    let mut before = Before { after: session.cluster.counted_after(), held: HashMap::new() };
    let observe =
        |report: &mut Report, changes: Vec<AttributedChange>| changes.iter().try_for_each(|change| report.observe(change, clock.leases()));
    let mut missing = Missing::of(session, &reported.keys).await?;
    let mut changes = reported.history(Arc::clone(&clock)).changes();
    while let Some(read) = changes.try_next().await? {
        if let Read::Item(change) = &read {
            missing.saw(&change.change.key);
        }
        match read {
            Read::Item(change) if counts(&change) => observe(&mut report, before.and(change))?,
            Read::Item(_) => {}
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
    session.cluster.since.and_then(|since| since.time).into_iter().for_each(|since| report.begin(since));
    // What the oldest whole state does not hold was gone by then.
    report.mark_vanished(&alive, clock.date(oldest).map(|dated| dated.time));
    // What selectors leave out is there.
    let is_part_missing = reported.selection.is_none() && missing.report(session, &Search::up_to(session, "report").await?).await?;
    if report.is_empty() {
        return Ok(Gathered { report, notes: Vec::new(), is_part_missing });
    }
    let mut addresses = HashMap::new();
    for key in report.keys() {
        addresses.insert(key.clone(), session.cluster.name_of(key).await?);
    }
    report.name(&addresses);
    let mut notes = clock.problems().to_vec();
    notes.extend(add_decisions(session, &mut report, &reported.keys).await?);
    notes.extend(report.notes());
    notes.extend(by.whom().map(|whom| format!("showing only objects that {whom} changed, by the audit logs")));
    if let Some(selection) = reported.selection {
        notes.push(selection_note(&selection));
        report.count_unlisted(selection);
    }
    Ok(Gathered { report, notes, is_part_missing })
}

/// What was there when the changes begin that count: the last version of each object.
struct Before {
    /// Changes after it count.
    after: Revision,
    held: HashMap<Bytes, AttributedChange>,
}

impl Before {
    /// Keeps a change that does not count; returns one that does, behind what was there before the first.
    fn and(&mut self, attributed: AttributedChange) -> Vec<AttributedChange> {
        let change = &attributed.change;
        if change.revision > self.after {
            let mut changes = self.take();
            changes.push(attributed);
            return changes;
        }
        match change.after.object() {
            // An Event tells what happened then.
            Some(object) if object["kind"] == "Event" => {}
            None if change.after == ObjectVersion::Absent => drop(self.held.remove(&change.key)),
            _ => drop(self.held.insert(change.key.clone(), attributed)),
        }
        Vec::new()
    }

    /// Returns what was there, once.
    fn take(&mut self) -> Vec<AttributedChange> {
        let mut there: Vec<AttributedChange> = self.held.drain().map(|(_, change)| change).collect();
        there.sort_by_key(|AttributedChange { change, .. }| (change.revision, change.sub_revision));
        there
    }
}

/// Adds every scheduling decision to its pod's row: evaluated where the cluster is small enough, else as it is recorded. Returns what the reader
/// must know of them.
async fn add_decisions(session: &Session, report: &mut Report, keys: &Keys) -> Result<Option<String>> {
    if session.cluster.is_long().await? && !report.has_attempts() {
        return Ok(None);
    }
    if !session.cluster.can_evaluate_decisions(keys).await? {
        report.show_recorded_decisions()?;
        return Ok(Some(recorded_note()));
    }
    let clock = session.cluster.clock().await?;
    let explainer = session.cluster.explainer(&SchedulerOptions::default()).await?;
    let note = decisions_note(explainer.scheduler());
    let (mut found, after) = (false, session.cluster.counted_after().0);
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

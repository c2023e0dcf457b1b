//! The rows of a report, gathered from a cluster.

use futures_util::TryStreamExt;

use ketcd_cluster::read::{Keys, Read};
use ketcd_history::AttributedChange;
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
    let mut changes = reported.changes();
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item(change) => report.observe(&AttributedChange::new(change, &clock), clock.leases())?,
            Read::Gap { from, to } => {
                if let (Some(from), Some(to)) = (clock.date(from), clock.date(to)) {
                    report.gap(from.time, to.time);
                }
            }
        }
    }
    drop(changes);
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
    let explainer = session.default_explainer().await?;
    let note = decisions_note(&explainer.scheduler().version);
    let mut found = false;
    let mut decisions = explainer.decisions();
    let walked = decisions.each(|decision| {
        if !report.shows(&decision.attempt().pod.uid) {
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

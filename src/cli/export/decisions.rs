//! The tables `decisions` and `decision_nodes`: every scheduling decision that the history shows.

use super::dataset::Dataset;
use super::history::first_time;
use super::table_writer::TableWriter;
use crate::cli::output::note;
use crate::cli::scheduler::SchedulerArgs;
use crate::cli::session::Session;
use crate::cli::{Error, Result};
use ketcd_cluster::replay::Feed;
use ketcd_render::contract::export::{ExportedTable, Table};
use ketcd_render::explanation::json::Decision;
use ketcd_scheduler::{Attempt, Depth, Replay};
use ketcd_store::Revision;

/// Exports every decision up to `until` to those of the two tables that are asked for. Returns whether all that concerns them could be read.
///
/// # Errors
/// The source cannot be read, or the dataset not be written.
pub(in crate::cli) async fn decisions(
    session: &Session,
    dataset: &Dataset,
    tables: &[Table],
    args: &SchedulerArgs,
    until: Revision,
) -> Result<(Vec<ExportedTable>, bool)> {
    let clock = session.clock_around(&[], &[]).await?;
    let mut writers = Vec::new();
    for &table in tables.iter().filter(|table| matches!(table, Table::Decisions | Table::DecisionNodes)) {
        writers.push((table, TableWriter::new(dataset, table).await?.beginning(first_time(&clock))));
    }
    let span = session.source.span().await?;
    let mut feed = Feed::new(session).await?;
    let scheduler = args.scheduler(&mut feed, until).await?;
    let mut replay = Replay::new(scheduler, session.is_complete_from(span.oldest)).with_depth(Depth::Verdicts).with_remedies(false);
    feed.seed(&mut replay, span.oldest, span.oldest).await?;
    let walked = feed.walk(&mut replay, span.oldest.after(), until, |replay, attempt: Attempt| {
        let revision = attempt.revision;
        if writers.iter().all(|(_, writer)| writer.has(revision)) {
            replay.skip(&attempt);
            return writers.iter_mut().filter(|(table, _)| *table == Table::Decisions).try_for_each(|(_, writer)| writer.skip());
        }
        let explanation = replay.explain(attempt);
        let mode = replay.scheduler().profile_for(&explanation.attempt.pod).0.filter_mode;
        let dated = clock.date(Revision(revision));
        let (decision, time) = (Decision::new(&explanation, mode, dated), dated.map(|dated| dated.time));
        for (table, writer) in &mut writers {
            match table {
                Table::Decisions => writer.push(&decision.row(), revision, time)?,
                _ => decision.node_rows().try_for_each(|row| writer.push(&row, revision, time))?,
            }
        }
        Ok::<(), Error>(())
    });
    walked.await?;
    let unreadable = replay.unreadable();
    if unreadable > 0 {
        note(&format!("{unreadable} versions of objects could not be read: decisions that depend on them are unknown"));
    }
    let written = writers.into_iter().map(|(_, writer)| writer.finish()).collect::<Result<_>>()?;
    Ok((written, unreadable == 0))
}

//! The tables `decisions` and `decision_nodes`: every scheduling decision that the history shows.

use super::dataset::Dataset;
use super::history::first_time;
use super::rows::ExportedRows;
use super::table_writer::TableWriter;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::note;
use crate::cli::session::Session;
use ketcd_cluster::built_in;
use ketcd_render::contract::export::{ExportedTable, Table};
use ketcd_render::explanation::json::Decision;
use ketcd_store::Revision;

/// Exports every decision up to the revision looked at to those of the two tables that are asked for. Returns whether all that concerns them could
/// be read.
///
/// # Errors
/// The source cannot be read, or the dataset not be written.
pub(super) async fn decisions(session: &Session, dataset: &Dataset, rows: &ExportedRows<'_>) -> Result<(Vec<ExportedTable>, bool)> {
    let clock = session.cluster.clock_around(&[], &[]).await?;
    let mut writers = Vec::new();
    for &table in rows.tables.iter().filter(|table| matches!(table, Table::Decisions | Table::DecisionNodes)) {
        writers.push((table, TableWriter::new(dataset, table).await?.beginning(first_time(&clock))));
    }
    let (mut decisions, after) = (rows.scheduler.explainer(&session.cluster).await?.decisions(), session.cluster.counted_after().0);
    let (prefix, pods) = (session.cluster.prefix().await?, built_in().find("pods").map_err(|error| Error::new(error.to_string()))?);
    let walked = decisions.each(|decision| {
        let revision = decision.attempt().revision;
        let pod = &decision.attempt().pod;
        let key = pods.key(prefix, Some(&pod.namespace), &pod.name);
        if revision <= after || rows.of.as_ref().is_some_and(|of| !of.contains(key.as_bytes())) {
            decision.skip();
            return Ok(());
        }
        if writers.iter().all(|(_, writer)| writer.has(revision)) {
            decision.skip();
            return writers.iter_mut().filter(|(table, _)| *table == Table::Decisions).try_for_each(|(_, writer)| writer.skip());
        }
        let decided = decision.explain();
        let dated = clock.date(Revision(revision));
        let (decision, time) = (Decision::new(&decided.explanation, decided.mode, dated), dated.map(|dated| dated.time));
        for (table, writer) in &mut writers {
            match table {
                Table::Decisions => writer.push(&decision.row(), revision, time)?,
                _ => decision.node_rows().try_for_each(|row| writer.push(&row, revision, time))?,
            }
        }
        Ok::<(), Error>(())
    });
    walked.await?;
    let unreadable = decisions.unreadable();
    if unreadable > 0 {
        note(&format!("{unreadable} versions of objects could not be read: decisions that depend on them are unknown"));
    }
    let written = writers.into_iter().map(|(_, writer)| writer.finish()).collect::<Result<_>>()?;
    Ok((written, unreadable == 0))
}

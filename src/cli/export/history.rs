//! The tables `history` and `events`: every readable change, in one walk.

use std::sync::Arc;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::coverage::Covered;
use super::dataset::Dataset;
use super::rows::ExportedRows;
use super::table_writer::TableWriter;
use crate::cli::outcome::Result;
use crate::cli::output::note;
use crate::cli::session::Session;
use ketcd_cluster::export::Exported;
use ketcd_history::clock::Clock;
use ketcd_kube::RegistryKey;
use ketcd_render::contract::export::{ExportedTable, Table};
use ketcd_render::export::{event_row, history_row};

/// Exports every readable change up to the revision looked at, or those of the objects asked for, to those of the two tables that are asked for.
///
/// # Errors
/// The source cannot be read, or the dataset not be written.
pub(super) async fn history(session: &Session, dataset: &Dataset, rows: &ExportedRows<'_>) -> Result<Vec<ExportedTable>> {
    session.cluster.note_reach().await?;
    let clock = session.cluster.clock_of_writers(&[], &[], &[]).await?;
    clock.problems().iter().for_each(|problem| note(problem));
    let (prefix, kinds, first) = (session.cluster.prefix().await?, session.cluster.kinds().await?, first_time(&clock));
    let mut history = writer(dataset, &rows.tables, Table::History, first).await?;
    let mut events = writer(dataset, &rows.tables, Table::Events, first).await?;
    let present: Vec<Covered> = [&history, &events].into_iter().flatten().map(|writer| writer.covered().clone()).collect();
    let mut changes = session
        .cluster
        .exported(Arc::clone(&clock), rows.of.as_ref(), move |revision| present.iter().all(|covered| covered.contains(revision.0)));
    while let Some(exported) = changes.try_next().await? {
        let (change, stored, is_event) = match exported {
            Exported::Change { change, stored, is_event } => (change, stored, is_event),
            Exported::Present { writes_event } => {
                history.as_mut().map_or(Ok(()), TableWriter::skip)?;
                events.as_mut().filter(|_| writes_event).map_or(Ok(()), TableWriter::skip)?;
                continue;
            }
        };
        let (revision, dated) = (change.change.revision.0, change.dated);
        let time = dated.map(|dated| dated.time);
        let is_asked = rows.of.as_ref().is_none_or(|of| of.contains(&change.change.key)) && rows.by.takes(&change);
        if let Some(history) = history.as_mut().filter(|_| is_asked) {
            let path = RegistryKey::parse(prefix, &change.change.key, kinds).object();
            history.push(&history_row(&change, path.as_ref(), stored, session.managed_fields()), revision, time)?;
        }
        if let Some(events) = events.as_mut().filter(|_| is_event)
            && let Some(event) = change.change.after.object()
        {
            events.push(&event_row(revision, dated, event), revision, time)?;
        }
    }
    drop(changes);
    [history, events].into_iter().flatten().map(TableWriter::finish).collect()
}

async fn writer<'d>(dataset: &'d Dataset, tables: &[Table], table: Table, first: Option<Timestamp>) -> Result<Option<TableWriter<'d>>> {
    let writer = async || TableWriter::new(dataset, table).await.map(|writer| writer.beginning(first));
    if tables.contains(&table) { writer().await.map(Some) } else { Ok(None) }
}

/// The time of the first revision that is dated.
pub(super) fn first_time(clock: &Clock) -> Option<Timestamp> {
    let (first, _) = clock.dated_span()?;
    clock.date(first).map(|dated| dated.time)
}

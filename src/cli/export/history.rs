//! The tables `history` and `events`: every readable change, in one walk.

use std::pin::pin;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::dataset::Dataset;
use super::table_writer::TableWriter;
use crate::cli::Result;
use crate::cli::output::note;
use crate::cli::session::Session;
use ketcd_cluster::read::{Keys, Read, events, follower};
use ketcd_history::clock::Clock;
use ketcd_history::{AttributedChange, Change};
use ketcd_kube::{Kinds, RegistryKey};
use ketcd_render::contract::export::{ExportedTable, Table};
use ketcd_render::export::{VersionFacts, event_row, history_row};
use ketcd_store::{Event, EventKind, Revision, Until};

/// Exports every readable change up to `until` to those of the two tables that are asked for.
///
/// # Errors
/// The source cannot be read, or the dataset not be written.
pub(in crate::cli) async fn history(session: &Session, dataset: &Dataset, tables: &[Table], until: Revision) -> Result<Vec<ExportedTable>> {
    session.note_reach().await?;
    let clock = session.clock_of_writers(&[], &[], &[]).await?;
    clock.problems().iter().for_each(|problem| note(problem));
    let first = first_time(&clock);
    let mut rows = Rows {
        session,
        prefix: session.prefix().await?,
        kinds: session.kinds().await?,
        clock: &clock,
        history: writer(dataset, tables, Table::History, first).await?,
        events: writer(dataset, tables, Table::Events, first).await?,
    };
    let mut follower = follower(session);
    // What a source gives again need not go through the follower.
    let skips = session.source.reads_before();
    let mut read = pin!(events(session, Keys::all(), Until::Revision(until)));
    while let Some(read) = read.try_next().await? {
        match read {
            Read::Item(event) if skips && rows.has(&event) => rows.skip(&event)?,
            Read::Item(event) => {
                let stored = stored(&event);
                rows.add(follower.change(event), stored)?;
            }
            Read::Gap { from, to } => {
                session.note_gap(from, to);
                follower.gap(to);
            }
        }
    }
    [rows.history, rows.events].into_iter().flatten().map(TableWriter::finish).collect()
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

fn stored(event: &Event) -> Option<VersionFacts> {
    let entry = &event.key_value;
    let stored = || VersionFacts { bytes: entry.value.len(), version: entry.version, create_revision: entry.create_revision.0 };
    (event.kind == EventKind::Put).then(stored)
}

/// Makes each change a row, and each version of an Event another.
struct Rows<'s> {
    session: &'s Session,
    prefix: &'s str,
    kinds: &'s Kinds,
    clock: &'s Clock,
    history: Option<TableWriter<'s>>,
    events: Option<TableWriter<'s>>,
}

impl Rows<'_> {
    /// Whether the dataset has all rows of an event's revision.
    fn has(&self, event: &Event) -> bool {
        let writers = [&self.history, &self.events];
        writers.into_iter().flatten().all(|writer| writer.has(event.revision.0))
    }

    fn skip(&mut self, event: &Event) -> Result<()> {
        let is_event = event.kind == EventKind::Put && self.is_event(&event.key_value.key);
        if let Some(history) = &mut self.history {
            history.skip()?;
        }
        if let Some(events) = self.events.as_mut().filter(|_| is_event) {
            events.skip()?;
        }
        Ok(())
    }

    fn add(&mut self, change: Change, stored: Option<VersionFacts>) -> Result<()> {
        let is_event = self.is_event(&change.key);
        let attributed = AttributedChange::new(change, self.clock);
        let AttributedChange { change, dated, .. } = &attributed;
        let (revision, time) = (change.revision.0, dated.map(|dated| dated.time));
        if let Some(history) = &mut self.history {
            let path = RegistryKey::parse(self.prefix, &change.key, self.kinds).object();
            let row = history_row(&attributed, path.as_ref(), stored, self.session.args.managed_fields());
            history.push(&row, revision, time)?;
        }
        if let Some(events) = self.events.as_mut().filter(|_| is_event)
            && let Some(event) = change.after.object()
        {
            events.push(&event_row(revision, *dated, event), revision, time)?;
        }
        Ok(())
    }

    fn is_event(&self, key: &[u8]) -> bool {
        let below = key.strip_prefix(self.prefix.as_bytes());
        below.is_some_and(|path| path.starts_with(b"/events/"))
    }
}

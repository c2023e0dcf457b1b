//! The tables of a dataset that are asked for, each written from what the cluster holds.

use super::cluster;
use super::dataset::Dataset;
use super::decisions::decisions;
use super::history::history;
use super::objects::objects;
use super::row_file::FileFormat;
use super::rows::ExportedRows;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use ketcd_render::contract::export::{Export, Table};
use ketcd_render::{export as render, json};

/// Where tables go.
pub(in crate::cli) struct Outward<'a> {
    /// A directory or a bucket's URL.
    pub out: &'a str,
    /// The format of the files.
    pub format: FileFormat,
    /// The cluster's name, if one was given.
    pub cluster: Option<&'a str>,
}

/// Writes the tables asked for, and says what was written.
///
/// # Errors
/// The source cannot be read, or the dataset not be written.
pub(in crate::cli) async fn export_tables(
    session: &Session,
    to: &Outward<'_>,
    rows: &ExportedRows<'_>,
    out: &mut Output,
) -> Result<Outcome> {
    let (export, is_whole) = export(session, to, rows).await?;
    match session.format {
        Format::Json => json::write_document(&export, out)?,
        _ => render::write_text(&export, out)?,
    }
    let has_rows = export.tables.iter().any(|table| table.rows_present > 0 || table.files.iter().any(|file| file.rows > 0));
    Ok(match (is_whole, has_rows) {
        (false, _) => Outcome::Damaged,
        (true, true) => Outcome::Found,
        (true, false) => Outcome::Nothing,
    })
}

/// Writes the tables asked for. Returns what was written, and whether all that concerns it could be read.
async fn export(session: &Session, to: &Outward<'_>, rows: &ExportedRows<'_>) -> Result<(Export, bool)> {
    let revision = session.cluster.revision().await?;
    let name = cluster::name(session, to.cluster).await?;
    let dataset = Dataset::open(to.out, to.format, name, &session.args)?.of_part(rows);
    let is_asked = |tables: &[Table]| tables.iter().any(|table| rows.tables.contains(table));
    let (mut tables, mut is_whole) = (Vec::new(), true);
    if is_asked(&[Table::Objects]) {
        tables.push(objects(session, &dataset, rows.of.as_ref(), revision).await?);
    }
    if session.cluster.source.is_one_moment() {
        note("API objects show one moment: only the table objects is written");
    } else {
        if is_asked(&[Table::History, Table::Events]) {
            tables.extend(history(session, &dataset, rows).await?);
        }
        if is_asked(&[Table::Decisions, Table::DecisionNodes]) {
            let (written, is_readable) = decisions(session, &dataset, rows).await?;
            tables.extend(written);
            is_whole = is_readable;
        }
    }
    let (cluster, out) = (dataset.cluster().to_owned(), to.out.to_owned());
    Ok((Export { cluster, out, revision: revision.0, tables, window: session.window_in_head().await? }, is_whole))
}

//! The table `objects`: every object at the exported revision.

use std::pin::pin;

use futures_util::TryStreamExt;

use super::dataset::Dataset;
use super::table_writer::TableWriter;
use crate::cli::outcome::Result;
use crate::cli::session::Session;
use ketcd_cluster::read::{Extent, Fetch};
use ketcd_cluster::{AskedKeys, Selection};
use ketcd_render::contract::export::{ExportedTable, Table};
use ketcd_render::export::ExportedObject;
use ketcd_store::{At, Revision};

/// Exports every object at `revision`, or those asked for, unless the dataset has that state.
///
/// # Errors
/// The source cannot be read, or the dataset not be written.
pub(super) async fn objects(session: &Session, dataset: &Dataset, of: Option<&AskedKeys>, revision: Revision) -> Result<ExportedTable> {
    let mut writer = TableWriter::new(dataset, Table::Objects).await?;
    let time = session.cluster.moment_of(At::Revision(revision)).await?;
    // Text is made on all cores; what the columns show of it is read from the text.
    let need = if writer.has(revision.0) { Extent::Key } else { Extent::Text };
    let fetch = Fetch::of(&session.cluster, Selection::default(), need);
    let mut items = pin!(fetch.items(None, usize::MAX));
    while let Some(item) = items.try_next().await? {
        if of.is_some_and(|of| !of.contains(&item.entry.key)) {
            continue;
        }
        if need == Extent::Key {
            writer.skip()?;
        } else if let Some(object) = ExportedObject::read(&item)? {
            writer.push(&object.row(revision, time), revision.0, time)?;
        }
    }
    writer.finish()
}

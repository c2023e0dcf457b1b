//! The table `objects`: every object at the exported revision.

use std::borrow::Cow;
use std::io::Write;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::dataset::Dataset;
use super::table_writer::TableWriter;
use crate::cli::Result;
use crate::cli::listing::{self, Extent, Item, ReadBody, Sink};
use crate::cli::session::Session;
use ketcd_render::contract::common::Time;
use ketcd_render::contract::export::{ExportedTable, ObjectRow, Table};
use ketcd_render::export::kind_of;
use ketcd_store::{At, Revision};

/// Exports every object at `revision`, unless the dataset has that state.
///
/// # Errors
/// The source cannot be read, or the dataset not be written.
pub(in crate::cli) async fn objects(session: &Session, dataset: &Dataset, revision: Revision) -> Result<ExportedTable> {
    let writer = TableWriter::new(dataset, Table::Objects).await?;
    let time = session.moment_of(At::Revision(revision)).await?;
    let mut rows = ObjectRows { writer, revision: revision.0, time };
    listing::everything(session, &mut rows).await?;
    rows.writer.finish()
}

/// Makes each object a row.
struct ObjectRows<'d> {
    writer: TableWriter<'d>,
    revision: i64,
    time: Option<Timestamp>,
}

impl Sink for ObjectRows<'_> {
    fn need(&self) -> Extent {
        // Text is made on all cores; what the columns show of it is read from the text.
        if self.writer.has(self.revision) { Extent::Key } else { Extent::Text }
    }

    fn add(&mut self, item: Item<'_>, _: &mut dyn Write) -> Result<()> {
        if self.writer.has(self.revision) {
            return self.writer.skip();
        }
        let (head, object, error) = match &item.body {
            ReadBody::Text(text) => (serde_json::from_slice(text)?, Some(serde_json::from_slice::<&RawValue>(text)?), None),
            ReadBody::Opaque(opaque) => (Head::default(), None, Some(opaque.reason.as_str())),
            ReadBody::None | ReadBody::Object(_) => return Ok(()),
        };
        let Head { api_version, kind, metadata } = &head;
        let owner = metadata.owner_references.iter().flatten();
        let owner = owner.clone().find(|owner| owner.controller == Some(true)).or_else(|| owner.clone().next());
        let entry = item.entry;
        let row = ObjectRow {
            revision: self.revision,
            time: self.time.map(Time),
            kind: kind.as_deref().or_else(|| kind_of(item.key.as_ref())),
            api_version: api_version.as_deref(),
            namespace: item.key.and_then(|key| key.namespace),
            name: item.key.map_or("", |key| key.name),
            key: String::from_utf8_lossy(&entry.key),
            uid: metadata.uid.as_deref(),
            creation_timestamp: metadata.creation_timestamp.map(Time),
            deletion_timestamp: metadata.deletion_timestamp.map(Time),
            owner_kind: owner.map(|owner| &*owner.kind),
            owner_name: owner.map(|owner| &*owner.name),
            create_revision: entry.create_revision.0,
            mod_revision: entry.mod_revision.0,
            version: entry.version,
            value_bytes: entry.value.len() as i64,
            error,
            object,
        };
        self.writer.push(&row, self.revision, self.time)
    }

    fn finish(self: Box<Self>, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }
}

/// What columns show of an object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata<'a> {
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    #[serde(borrow)]
    owner_references: Option<Vec<Owner<'a>>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Owner<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    controller: Option<bool>,
}

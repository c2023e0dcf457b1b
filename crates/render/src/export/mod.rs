//! What `export` writes and prints: rows of changes, Events and objects, and the summary.

mod object;

use std::io::{self, Write};

use ketcd_cluster::export::VersionFacts;
use ketcd_history::clock::Dated;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{Actor, AttributedChange, ObjectVersion};
use ketcd_kube::ObjectPath;
use serde_json::Value;

use crate::contract::common::{ActorFrom, KubernetesObject, Time};
use crate::contract::export::{EventRow, Export, HistoryRow};
use crate::event;
use crate::table::fields::{at, text};
use crate::table::write_aligned;

pub use object::ExportedObject;

/// The row of a change. `path` is what its key says; `stored` is the version that it wrote, `None` for a deletion.
pub fn history_row<'a>(
    attributed: &'a AttributedChange,
    path: Option<&ObjectPath<'a>>,
    stored: Option<VersionFacts>,
    managed_fields: ManagedFields,
) -> HistoryRow<'a> {
    let (AttributedChange { change, dated, .. }, actor) = (attributed, attributed.by());
    let object = change.object();
    let field = |path: &str| object.and_then(|object| at(object, path)).and_then(Value::as_str);
    let patch = change.patch(managed_fields);
    HistoryRow {
        revision: change.revision.0,
        sub_revision: change.sub_revision,
        time: Time::of(*dated),
        time_error_seconds: dated.map(|dated| dated.error),
        change: change.kind.into(),
        kind: field("kind").or_else(|| kind_of(path)),
        api_version: field("apiVersion"),
        namespace: path.and_then(|path| path.namespace),
        name: path.map(|path| path.name),
        key: String::from_utf8_lossy(&change.key),
        uid: field("metadata.uid"),
        actor: actor.as_ref().map(Actor::to_string),
        actor_from: ActorFrom::of(actor.as_ref()),
        patch_operations: patch.as_ref().map(|patch| patch.0.len() as i64),
        patch,
        object: change.after.object().map(|object| KubernetesObject { object, managed_fields }),
        value_bytes: stored.map(|stored| stored.bytes as i64),
        version: stored.map(|stored| stored.version),
        create_revision: stored.map(|stored| stored.create_revision),
        source: change.origin.into(),
        error: if let ObjectVersion::Opaque(opaque) = &change.after { Some(&opaque.reason) } else { None },
    }
}

fn kind_of<'a>(path: Option<&ObjectPath<'a>>) -> Option<&'a str> {
    match path?.resource {
        ketcd_kube::KeyResource::Known(kind) => Some(&kind.kind),
        ketcd_kube::KeyResource::Unlisted { .. } => None,
    }
}

/// The row of a version of an Event.
pub fn event_row<'a>(revision: i64, dated: Option<Dated>, event: &'a Value) -> EventRow<'a> {
    let about = event::about(event);
    let optional = |value, path| Some(text(value, path)).filter(|text| !text.is_empty());
    EventRow {
        revision,
        time: Time::of(dated),
        time_error_seconds: dated.map(|dated| dated.error),
        namespace: optional(event, "metadata.namespace"),
        name: text(event, "metadata.name"),
        uid: optional(event, "metadata.uid"),
        severity: text(event, "type"),
        reason: text(event, "reason"),
        message: event::message(event),
        reporter: event::source(event),
        about_kind: text(about, "kind"),
        about_namespace: optional(about, "namespace"),
        about_name: text(about, "name"),
        about_uid: optional(about, "uid"),
        count: event::count(event),
        first_time: event::first_time(event).map(Time),
        last_time: event::last_time(event).map(Time),
    }
}

/// Writes the summary: a line for each table.
///
/// # Errors
/// The stream's.
pub fn write_text(export: &Export, out: &mut dyn Write) -> io::Result<()> {
    let heading = ["TABLE", "ROWS", "FILES", "BYTES", "PRESENT"].map(str::to_owned).to_vec();
    let lines = export.tables.iter().map(|table| {
        let sum = |of: fn(&crate::contract::export::ExportedFile) -> u64| table.files.iter().map(of).sum::<u64>().to_string();
        let (rows, bytes) = (sum(|file| file.rows), sum(|file| file.bytes));
        vec![table.table.name().to_owned(), rows, table.files.len().to_string(), bytes, table.rows_present.to_string()]
    });
    write_aligned(&std::iter::once(heading).chain(lines).collect::<Vec<_>>(), out)
}

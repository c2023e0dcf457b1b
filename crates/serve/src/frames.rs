//! The events of a watch, written as frames of JSON or protobuf.

use std::sync::Arc;

use axum::body::Bytes;
use jiff::Timestamp;
use ketcd_kube::api::Resource;
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Revision, Want};
use serde_json::{Value, json};

use super::accept::{Encoding, Shape};
use super::app::{After, App};
use super::call::{Call, Filter};
use super::objects::{Objects, Stored, append_json, partial};
use super::protobuf;
use super::status::{Result, Status};
use super::table::Table;

/// Writes frames.
pub(super) struct Frames {
    app: Arc<App>,
    resource: Arc<Resource>,
    objects: Objects,
    filter: Filter,
    form: Form,
    is_live: bool,
    is_protobuf: bool,
}

enum Form {
    Objects,
    Metadata(&'static str),
    /// Only the first frame heads its columns.
    Table {
        table: Box<Table>,
        is_headed: bool,
        now: Option<Timestamp>,
    },
}

impl Frames {
    /// The frames of a watch. `now` is what ages are counted to, which tables need.
    pub(super) fn new(call: &Call, filter: Filter, now: Option<Timestamp>) -> Self {
        let form = match call.accepted.shape {
            Shape::Table(version) => {
                let table = Box::new(Table::new(&call.resource, call.app.data.release(), call.params.include, version, now));
                Form::Table { table, is_headed: false, now }
            }
            Shape::Metadata(version) => Form::Metadata(version),
            _ => Form::Objects,
        };
        let objects = Objects::of(&call.app, &call.resource);
        let is_live = call.moment.after == After::Live;
        let is_protobuf = call.accepted.encoding == Encoding::Protobuf;
        Self { app: Arc::clone(&call.app), resource: Arc::clone(&call.resource), objects, filter, form, is_live, is_protobuf }
    }

    /// Appends the frame of an object that is there when the watch begins.
    ///
    /// # Errors
    /// It cannot be served in this version.
    pub(super) fn added(&mut self, entry: &KeyValue, out: &mut Vec<u8>) -> Result<()> {
        if self.objects.name(&entry.key).is_none() {
            return Ok(());
        }
        let stored = self.objects.stored(entry);
        if self.is_wanted(&stored) { self.frame("ADDED", entry, stored, out) } else { Ok(()) }
    }

    /// Appends the frame of a change: as objects that a selector picks come and go, if there is one.
    ///
    /// # Errors
    /// As [`Frames::added`].
    pub(super) async fn change(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<()> {
        let entry = &event.key_value;
        if self.objects.name(&entry.key).is_none() {
            return Ok(());
        }
        self.set_now(event.revision).await;
        let is_put = event.kind == EventKind::Put;
        let is_new = is_put && (entry.create_revision == entry.mod_revision || entry.version == 1);
        let before = if is_new || is_put && self.filter.is_empty() { None } else { self.before(event).await };
        let before_stored = before.as_ref().map(|before| self.objects.stored(before));
        // What cannot be read any more may have been wanted.
        let was_wanted = !is_new && before_stored.as_ref().is_none_or(|stored| self.is_wanted(stored));
        if is_put {
            let stored = self.objects.stored(entry);
            let kind = match (was_wanted, self.is_wanted(&stored)) {
                (true, true) => "MODIFIED",
                (false, true) => "ADDED",
                (true, false) => "DELETED",
                (false, false) => return Ok(()),
            };
            if kind != "DELETED" {
                return self.frame(kind, entry, stored, out);
            }
        }
        if !was_wanted {
            return Ok(());
        }
        // What is gone is shown as it was, at the revision of its going.
        match before {
            Some(before) => {
                let gone = KeyValue { mod_revision: event.revision, ..before };
                let stored = self.objects.stored(&gone);
                self.frame("DELETED", &gone, stored, out)
            }
            None => self.frame("DELETED", entry, Err("its last version was compacted away".to_owned()), out),
        }
    }

    /// Appends a frame that says that nothing more happened up to a revision; `is_initial` where it ends the objects that were there at the beginning.
    pub(super) fn bookmark(&self, revision: Revision, is_initial: bool, out: &mut Vec<u8>) {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if is_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = match &self.form {
            Form::Objects => json!({"kind": self.resource.kind.kind, "apiVersion": self.resource.api_version(), "metadata": metadata}),
            Form::Metadata(version) => partial(&json!({"metadata": metadata}), version),
            Form::Table { table, .. } => {
                json!({"kind": "Table", "apiVersion": table.api_version(), "metadata": metadata, "columnDefinitions": null, "rows": []})
            }
        };
        self.line("BOOKMARK", &object, out).expect("metadata alone fits every kind");
    }

    /// Returns the frames with that of a failure, which is the last.
    pub(super) fn last(&self, status: &Status, mut out: Vec<u8>) -> Bytes {
        self.line("ERROR", &status.to_json(), &mut out).expect("a status fits its kind");
        out.into()
    }

    fn is_wanted(&self, stored: &Stored) -> bool {
        self.filter.is_empty() || stored.as_ref().is_ok_and(|object| self.filter.matches(object))
    }

    /// The version before a change.
    async fn before(&self, event: &Event) -> Option<KeyValue> {
        let (key, at) = (KeyRange::key(event.key_value.key.to_vec()), At::Revision(event.revision.before()));
        self.app.data.source().first(key, at, Want::Values, 1).await.ok()?.into_iter().next()
    }

    /// Counts ages to when a change was made.
    async fn set_now(&mut self, revision: Revision) {
        if let Form::Table { table, now, .. } = &mut self.form {
            let date = if self.is_live { Some(Timestamp::now()) } else { self.app.data.date(revision).await };
            table.set_now(date.or(*now));
        }
    }

    fn frame(&mut self, kind: &str, entry: &KeyValue, stored: Stored, out: &mut Vec<u8>) -> Result<()> {
        let object = match &mut self.form {
            Form::Objects => self.objects.served(entry, stored)?,
            Form::Metadata(version) => partial(&stored.unwrap_or_else(|reason| self.objects.stub(entry, &reason)), version),
            Form::Table { table, is_headed, .. } => {
                let definitions = if std::mem::replace(is_headed, true) { Value::Null } else { table.definitions() };
                let head = json!({
                    "kind": "Table", "apiVersion": table.api_version(), "metadata": {"resourceVersion": entry.mod_revision.to_string()},
                    "columnDefinitions": definitions,
                });
                return append_event(kind, out, |out| {
                    append_json(out, &head);
                    // The rows become its last member.
                    out.pop();
                    out.extend(b",\"rows\":[");
                    table.append_row(&self.objects, entry, table.cells(&stored), &[], out)?;
                    out.extend(b"]}");
                    Ok(())
                });
            }
        };
        self.line(kind, &object, out)
    }

    fn line(&self, kind: &str, object: &Value, out: &mut Vec<u8>) -> Result<()> {
        if self.is_protobuf {
            return protobuf::frame(kind, object, self.app.data.release(), out);
        }
        append_event(kind, out, |out| {
            append_json(out, object);
            Ok(())
        })
    }
}

/// Appends an event in JSON, whose object `append` writes.
fn append_event(kind: &str, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.extend(format!("{{\"type\":\"{kind}\",\"object\":").bytes());
    append(out).inspect_err(|_| out.truncate(start))?;
    out.extend(b"}\n");
    Ok(())
}

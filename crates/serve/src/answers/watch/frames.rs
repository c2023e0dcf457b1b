//! The events of a watch: which objects come, change and go for its client, and what is shown of them.

use std::sync::Arc;

use axum::body::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use ketcd_cluster::read::walk_back;
use ketcd_kube::api::Resource;
use ketcd_store::{Event, EventKind, KeyValue, Revision};
use serde_json::{Value, json};

use crate::answers::call::Call;
use crate::answers::form::Form;
use crate::answers::objects::{Objects, Stored, partial};
use crate::data::{After, App};
use crate::request::Filter;
use crate::wire::{EXPIRED_WATCH, Encoding, Framing, Result, Status, append_json, append_line};

/// Writes frames.
pub(super) struct Frames {
    app: Arc<App>,
    resource: Arc<Resource>,
    objects: Objects,
    filter: Filter,
    form: Form,
    /// Whether a table's columns were named: only its first frame does.
    is_headed: bool,
    is_live: bool,
    framing: Framing,
}

impl Frames {
    /// The frames of a watch whose objects take a form.
    pub(super) fn new(call: &Call, filter: Filter, form: Form) -> Self {
        let framing = match call.accepted.encoding {
            Encoding::Protobuf => Framing::Protobuf(call.app.data.release()),
            Encoding::Json | Encoding::Yaml => Framing::Json,
        };
        Self {
            app: Arc::clone(&call.app),
            resource: Arc::clone(&call.resource),
            objects: call.objects.clone(),
            filter,
            form,
            is_headed: false,
            is_live: call.moment.after == After::Live,
            framing,
        }
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
    /// As [`Frames::added`], or the version before it cannot be read though it was not compacted away.
    pub(super) async fn change(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<()> {
        let entry = &event.key_value;
        if self.objects.name(&entry.key).is_none() {
            return Ok(());
        }
        self.set_now(event.revision).await;
        let is_put = event.kind == EventKind::Put;
        let is_new = is_put && (entry.create_revision == entry.mod_revision || entry.version == 1);
        let before = if is_new || is_put && self.filter.is_empty() { None } else { self.before(event).await? };
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
            Form::Table(table) => {
                json!({"kind": "Table", "apiVersion": table.api_version(), "metadata": metadata, "columnDefinitions": null, "rows": []})
            }
        };
        self.framing.append("BOOKMARK", &object, out).expect("metadata alone fits every kind");
    }

    /// Returns the frames with that of a failure, which is the last.
    pub(super) fn last(&self, status: &Status, mut out: Vec<u8>) -> Bytes {
        self.framing.append("ERROR", &status.to_json(), &mut out).expect("a status fits its kind");
        out.into()
    }

    fn is_wanted(&self, stored: &Stored) -> bool {
        self.filter.is_empty() || stored.as_ref().is_ok_and(|object| self.filter.matches(object))
    }

    /// The version before a change; `None` where it was compacted away.
    async fn before(&self, event: &Event) -> Result<Option<KeyValue>> {
        let before = walk_back(self.app.data.source(), event.key_value.clone()).skip(1).try_next().await;
        before.map_err(|error| Status::of_failure(error, Some(EXPIRED_WATCH)))
    }

    /// Counts ages to when a change was made.
    async fn set_now(&mut self, revision: Revision) {
        if let Form::Table(table) = &mut self.form {
            table.set_now(if self.is_live { Some(Timestamp::now()) } else { self.app.data.date(revision).await });
        }
    }

    fn frame(&mut self, kind: &str, entry: &KeyValue, stored: Stored, out: &mut Vec<u8>) -> Result<()> {
        let object = match &self.form {
            Form::Objects => self.objects.served(entry, stored)?,
            Form::Metadata(version) => partial(&stored.unwrap_or_else(|reason| self.objects.stub(entry, &reason)), version),
            Form::Table(table) => {
                let definitions = if std::mem::replace(&mut self.is_headed, true) { Value::Null } else { table.definitions() };
                let head = json!({
                    "kind": "Table", "apiVersion": table.api_version(), "metadata": {"resourceVersion": entry.mod_revision.to_string()},
                    "columnDefinitions": definitions,
                });
                return append_line(kind, out, |out| {
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
        self.framing.append(kind, &object, out)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use futures_util::FutureExt;
    use futures_util::future::{BoxFuture, ready};
    use futures_util::stream::BoxStream;
    use ketcd_cluster::{Cluster, Options};
    use ketcd_kube::api::Catalog;
    use ketcd_store::{
        At, EarlierRevisions, Error, Facts, HistoryKind, KeyRange, Listing, NoShortcuts, Origin, RevisionSpan, Source, SourceStatus,
        Sources, Until, Want, WatchItem, Withheld,
    };

    use super::*;
    use crate::data::{Limits, Moment, Served};
    use crate::request::{Endpoint, Params, negotiate};

    /// A source whose past cannot be read.
    struct Failing(fn() -> Error);

    impl Source for Failing {
        fn facts(&self) -> Facts<'_> {
            let history = HistoryKind::Changes;
            Facts {
                history,
                earlier: EarlierRevisions::Compacted,
                withheld: Withheld::default(),
                has_all_keys: true,
                damage: &[],
                left_out: &[],
                companions: &[],
                late_damage: None,
                before: None,
                arrivals: None,
                log: None,
                live: None,
            }
        }

        fn status(&self) -> BoxFuture<'_, ketcd_store::Result<SourceStatus>> {
            unreachable!("a watch asks for no status")
        }

        fn span(&self) -> BoxFuture<'_, ketcd_store::Result<RevisionSpan>> {
            unreachable!("a change needs no span")
        }

        fn range(&self, _: KeyRange, _: At, _: Want) -> BoxFuture<'_, ketcd_store::Result<Listing<'_>>> {
            ready(Err((self.0)())).boxed()
        }

        fn watch(&self, _: KeyRange, _: Revision, _: Until) -> BoxStream<'_, ketcd_store::Result<WatchItem>> {
            unreachable!("the test hands the change in")
        }
    }

    impl NoShortcuts for Failing {}

    /// The frame of a pod's deletion, whose last version cannot be read for a reason.
    async fn deletion(error: fn() -> Error) -> std::result::Result<Value, Value> {
        let cluster = Cluster::new(Box::new(Failing(error)), Options { prefix: Some("/registry".to_owned()), ..Options::default() });
        let data = Arc::new(Served::new(Arc::new(cluster)).await.unwrap());
        let resource = Arc::clone(Catalog::new(data.release(), &[]).find("", "v1", "pods").unwrap());
        let call = Call {
            objects: Objects::of(&data, &resource).await.unwrap(),
            accepted: negotiate(&HeaderMap::new(), Endpoint::of(&resource, data.release())).unwrap(),
            app: Arc::new(App::new(data, None, None, Limits::of_files(1024))),
            moment: Moment { revision: Revision(9), time: None, after: After::Nothing },
            resource,
            namespace: None,
            name: None,
            params: Params::default(),
        };
        let mut frames = Frames::new(&call, call.filter().unwrap(), Form::Objects);
        let key_value = KeyValue {
            key: Bytes::from_static(b"/registry/pods/shop/web-0"),
            value: Bytes::new(),
            create_revision: Revision(0),
            mod_revision: Revision(8),
            version: 0,
            replaced: Revision(0),
            lease: 0,
        };
        let (revision, kind, origin, sources) = (Revision(8), EventKind::Delete, Origin::Live, Sources::default());
        let mut out = Vec::new();
        match frames.change(&Event { revision, sub_revision: 0, kind, key_value, origin, sources }, &mut out).await {
            Ok(()) => Ok(serde_json::from_slice(&out).unwrap()),
            Err(status) => Err(status.to_json()),
        }
    }

    #[tokio::test]
    async fn only_what_was_compacted_is_shown_without_its_last_version() {
        let frame =
            deletion(|| Error::Compacted { asked: Revision(7), oldest: Revision(8), earlier: EarlierRevisions::Compacted }).await.unwrap();
        assert_eq!(frame["type"], "DELETED");
        assert_eq!(frame["object"]["metadata"]["annotations"]["ketcd/undecoded"], "its last version was compacted away");
        let unreachable = deletion(|| Error::Remote { endpoint: String::new(), problem: "no answer".to_owned(), hint: None }).await;
        assert_eq!(unreachable.unwrap_err()["code"], 503);
        let denied = deletion(|| Error::Denied { keys: KeyRange::all(), problem: "no right".to_owned(), hint: String::new() }).await;
        assert_eq!(denied.unwrap_err()["code"], 403);
    }
}

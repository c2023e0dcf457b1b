//! The JSON of `history`, and of the changes of `watch`.

use std::borrow::Cow;

use json_patch::Patch;
use schemars::JsonSchema;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::common::{ActorFrom, KubernetesObject, PatchOperation, Time};
use super::request::{ChangeRequest, RequestWithoutChange};
use super::window::HistoryWindow;
use ketcd_cluster::kinds::KeySubject;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{AttributedChange, ObjectVersion};
use ketcd_store::Origin;

/// What `history` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Changes<'a> {
    /// `-o json`: all changes.
    History(History<'a>),
    /// Each line of `-o ndjson`: a change.
    Change(Change<'a>),
    /// The same with `--objects`.
    ChangeWithObject(ChangeWithObject<'a>),
    /// With `--requests`: a request that made no change.
    Request(RequestWithoutChange<'a>),
}

/// Changes, oldest first.
#[derive(Debug, JsonSchema)]
pub struct History<'a> {
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
    /// The changes.
    pub items: Vec<HistoryItem<'a>>,
}

/// An item of a history.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum HistoryItem<'a> {
    /// A change.
    Change(Change<'a>),
    /// The same with `--objects`, and of `watch`.
    ChangeWithObject(ChangeWithObject<'a>),
    /// With `--requests`: a request that made no change.
    Request(RequestWithoutChange<'a>),
}

/// A change with the whole object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeWithObject<'a> {
    /// The change.
    #[serde(flatten)]
    pub change: Change<'a>,
    /// The object after the change; null for `DELETED`, and where it cannot be decoded.
    pub object: Option<KubernetesObject<'a>>,
}

/// A change of one key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change<'a> {
    /// The revision that made it.
    pub revision: i64,
    /// Its place among the changes of that revision, from 0.
    pub sub_revision: i64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: ChangeType,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The object's kind, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored; empty where the
    /// key belongs to no object.
    #[serde(rename = "kind")]
    pub object_kind: &'a str,
    /// The object's namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// The object's name; empty where the key belongs to no object.
    pub name: &'a str,
    /// When it was made; null where nothing in the data dates the revision.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// The best of the places that hold it.
    pub source: ChangeSource,
    /// Where several sources were given, the names of those that have it, a live etcd last. Of that no more than 50,000 revisions are read that
    /// files have too; where it has more, a sentence on standard error says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<&'a str>,
    /// When a recorder received it; absent where no recording notes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
    /// Who made it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who made it.
    pub by_from: Option<ActorFrom>,
    /// Why the new value cannot be decoded; absent where it can. For people: the words are not part of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// True where the revision is a free one of the change's time, as an audit log alone does not name the one that etcd has; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_placed: bool,
    /// True where the change is reported as `MODIFIED` and may be the creation, as nothing shows whether there was a version before; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_be_creation: bool,
    /// A JSON Patch (RFC 6902) from the previous readable version to this one; null for `ADDED`, and where either version is not readable.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
    /// The request of the audit logs that made it, and how that is known; absent where no log says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<ChangeRequest<'a>>>,
    /// True where the audit logs hold the requests that make such changes, and none for this one; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unexplained: bool,
}

/// A change of a timeline's object, without the object itself.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectChange<'a> {
    /// When a recorder received it; absent where no recording notes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
    /// Who made it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who made it.
    pub by_from: Option<ActorFrom>,
    /// Why the new value cannot be decoded; absent where it can. For people: the words are not part of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// True where the revision is a free one of the change's time, as an audit log alone does not name the one that etcd has; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_placed: bool,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// True where the change is reported as `MODIFIED` and may be the creation, as nothing shows whether there was a version before; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_be_creation: bool,
    /// A JSON Patch (RFC 6902) from the previous readable version to this one; null for `ADDED`, and where either version is not readable.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    #[serde(serialize_with = "sorted")]
    pub patch: Option<Patch>,
    /// The request of the audit logs that made it, and how that is known; absent where no log says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<ChangeRequest<'a>>>,
    /// The revision that made it.
    pub revision: i64,
    /// The best of the places that hold it.
    pub source: ChangeSource,
    /// Where several sources were given, the names of those that have it, a live etcd last. Of that no more than 50,000 revisions are read that
    /// files have too; where it has more, a sentence on standard error says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<&'a str>,
    /// Its place among the changes of that revision, from 0.
    pub sub_revision: i64,
    /// When it was made; null where nothing in the data dates the revision.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: ChangeType,
    /// True where the audit logs hold the requests that make such changes, and none for this one; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unexplained: bool,
}

/// Serializes a patch with sorted members, as all of a timeline is.
fn sorted<S: Serializer>(patch: &Option<Patch>, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::to_value(patch).map_err(S::Error::custom)?.serialize(serializer)
}

impl<'a> ObjectChange<'a> {
    /// One change as a document.
    pub fn new(change: &'a AttributedChange, managed_fields: ManagedFields) -> Self {
        let (request, unexplained) = ChangeRequest::of(change.request.as_ref());
        let (AttributedChange { change, dated, arrived, .. }, actor) = (change, change.by());
        Self {
            arrived: arrived.map(Arrived::from),
            by: actor.as_ref().map(ToString::to_string),
            by_from: ActorFrom::of(actor.as_ref()),
            error: undecodable(change),
            is_placed: change.origin.is_placed(),
            may_be_creation: change.may_be_creation,
            key: String::from_utf8_lossy(&change.key),
            patch: change.patch(managed_fields),
            request,
            revision: change.revision.0,
            source: change.origin.into(),
            sources: sources(change),
            sub_revision: change.sub_revision,
            time: Time::of(*dated),
            time_error_seconds: dated.map(|dated| dated.error),
            kind: change.kind.into(),
            unexplained,
        }
    }
}

impl<'a> Change<'a> {
    /// One change of an object as a document.
    pub fn new(change: &'a AttributedChange, subject: &'a KeySubject, managed_fields: ManagedFields) -> Self {
        let (request, unexplained) = ChangeRequest::of(change.request.as_ref());
        let (AttributedChange { change, dated, arrived, .. }, actor) = (change, change.by());
        Self {
            revision: change.revision.0,
            sub_revision: change.sub_revision,
            kind: change.kind.into(),
            key: String::from_utf8_lossy(&change.key),
            object_kind: &subject.kind,
            namespace: &subject.namespace,
            name: &subject.name,
            time: Time::of(*dated),
            time_error_seconds: dated.map(|dated| dated.error),
            source: change.origin.into(),
            sources: sources(change),
            arrived: arrived.map(Arrived::from),
            by: actor.as_ref().map(ToString::to_string),
            by_from: ActorFrom::of(actor.as_ref()),
            error: undecodable(change),
            is_placed: change.origin.is_placed(),
            may_be_creation: change.may_be_creation,
            patch: change.patch(managed_fields),
            request,
            unexplained,
        }
    }
}

/// The names of the sources that have a change.
fn sources(change: &ketcd_history::Change) -> Vec<&str> {
    change.sources.names().iter().map(AsRef::as_ref).collect()
}

/// Why the new value cannot be decoded.
fn undecodable(change: &ketcd_history::Change) -> Option<&str> {
    if let ObjectVersion::Opaque(opaque) = &change.after { Some(&opaque.reason) } else { None }
}

/// When a recorder received a change: the evidence for its time.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arrived {
    /// How long before that it was committed at most, in seconds.
    pub delay_seconds: f64,
    /// When, by the recorder's clock.
    pub time: Time,
}

impl From<ketcd_history::clock::Arrived> for Arrived {
    fn from(arrived: ketcd_history::clock::Arrived) -> Self {
        Self { delay_seconds: arrived.delay, time: Time(arrived.time) }
    }
}

/// What a change did to its key.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ChangeType {
    /// It was created.
    Added,
    /// It was written again.
    Modified,
    /// It was deleted.
    Deleted,
}

mirrored!(ketcd_history::ChangeKind => ChangeType: Added, Modified, Deleted);

/// Where a change was read.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeSource {
    /// A running etcd.
    Live,
    /// A database file.
    Db,
    /// A write-ahead log.
    Wal,
    /// A recording of a running etcd.
    Recording,
    /// A later change of a kine database, which holds the value that it replaced.
    OldValue,
    /// Free pages of a database file, which hold what was compacted away.
    FreePage,
    /// API objects as kubectl prints them.
    Objects,
    /// A body in the audit log of API servers.
    AuditLog,
    /// Worked out from an audit log that does not hold the body, or not the revision (`isPlaced`).
    Derived,
}

impl From<Origin> for ChangeSource {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Live => Self::Live,
            Origin::Db => Self::Db,
            Origin::Wal => Self::Wal,
            Origin::Recording | Origin::ApiServer => Self::Recording,
            Origin::OldValue => Self::OldValue,
            Origin::FreePage => Self::FreePage,
            Origin::Objects => Self::Objects,
            Origin::AuditLog => Self::AuditLog,
            Origin::Derived | Origin::Placed => Self::Derived,
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ketcd_history::ChangeKind;
    use ketcd_kube::Object;
    use ketcd_store::{Revision, Sources};
    use serde_json::{Value, json};

    use super::*;

    /// A written version of which nothing shows what was there before.
    #[test]
    fn a_change_that_may_be_the_creation_says_so() {
        let documents = |may_be_creation: bool| {
            let object = Object::from(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}}));
            let change = ketcd_history::Change {
                revision: Revision(9),
                sub_revision: 0,
                kind: ChangeKind::Modified,
                key: "/registry/configmaps/x/a".into(),
                origin: Origin::Wal,
                sources: Sources::default(),
                before: ObjectVersion::Unreadable,
                after: object.into(),
                may_be_creation,
                earlier: None,
            };
            let change = AttributedChange { change, dated: None, actor: None, arrived: None, request: None };
            let subject = KeySubject { kind: "ConfigMap".to_owned(), namespace: "x".to_owned(), name: "a".to_owned() };
            let of_history = serde_json::to_value(Change::new(&change, &subject, ManagedFields::Hidden)).unwrap();
            [of_history, serde_json::to_value(ObjectChange::new(&change, ManagedFields::Hidden)).unwrap()]
        };
        for document in documents(true) {
            assert_eq!(
                (&document["type"], &document["patch"], &document["mayBeCreation"]),
                (&json!("MODIFIED"), &Value::Null, &json!(true))
            );
        }
        for document in documents(false) {
            assert_eq!((&document["type"], document.get("mayBeCreation")), (&json!("MODIFIED"), None));
        }
    }
}

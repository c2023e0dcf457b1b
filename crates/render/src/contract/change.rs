//! The JSON of `history`, and of the changes of `watch`.

use std::borrow::Cow;

use json_patch::Patch;
use schemars::JsonSchema;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::common::{ActorFrom, KubernetesObject, PatchOperation, Time};
use ketcd_store::Origin;

/// What `history` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Changes<'a> {
    /// `-o json`: all changes.
    History(History<'a>),
    /// Each line of `-o ndjson`: a change.
    Change(Change<'a>),
}

/// Changes, oldest first.
#[derive(Debug, JsonSchema)]
pub struct History<'a> {
    /// `History`.
    #[schemars(extend("const" = "History"))]
    pub kind: &'static str,
    /// The changes.
    pub changes: Vec<Change<'a>>,
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
    /// When it was made; null where nothing in the data dates the revision.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// The best of the places that hold it.
    pub source: Source,
    /// Where several sources were given, the names of those that have it, a live etcd last. Of that no more than 50,000 revisions are read that
    /// files have too; where it has more, a sentence on standard error says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<&'a str>,
    /// Who made it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who made it.
    pub by_from: Option<ActorFrom>,
    /// Why the new value cannot be decoded; absent where it can. For people: the words are not part of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The object after the change; null for `DELETED`, and where it cannot be decoded.
    pub object: Option<KubernetesObject<'a>>,
    /// A JSON Patch (RFC 6902) from the previous readable version to this one; null for `ADDED`, and where either version is not readable.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
}

/// A change of a timeline's object, without the object itself.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectChange<'a> {
    /// Who made it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who made it.
    pub by_from: Option<ActorFrom>,
    /// Why the new value cannot be decoded; absent where it can. For people: the words are not part of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// A JSON Patch (RFC 6902) from the previous readable version to this one; null for `ADDED`, and where either version is not readable.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    #[serde(serialize_with = "sorted")]
    pub patch: Option<Patch>,
    /// The revision that made it.
    pub revision: i64,
    /// The best of the places that hold it.
    pub source: Source,
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
}

/// Serializes a patch with sorted members, as all of a timeline is.
fn sorted<S: Serializer>(patch: &Option<Patch>, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::to_value(patch).map_err(S::Error::custom)?.serialize(serializer)
}

impl<'a> From<Change<'a>> for ObjectChange<'a> {
    fn from(change: Change<'a>) -> Self {
        let Change { revision, sub_revision, kind, key, time, time_error_seconds, source, sources, by, by_from, error, object: _, patch } =
            change;
        Self { by, by_from, error, key, patch, revision, source, sources, sub_revision, time, time_error_seconds, kind }
    }
}

/// What a change did to its key.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ChangeType {
    /// It was created.
    Added,
    /// It was written again.
    Modified,
    /// It was deleted.
    Deleted,
}

impl From<ketcd_history::ChangeKind> for ChangeType {
    fn from(kind: ketcd_history::ChangeKind) -> Self {
        match kind {
            ketcd_history::ChangeKind::Added => Self::Added,
            ketcd_history::ChangeKind::Modified => Self::Modified,
            ketcd_history::ChangeKind::Deleted => Self::Deleted,
        }
    }
}

/// Where a change was read.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Source {
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
}

impl From<Origin> for Source {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Live => Self::Live,
            Origin::Db => Self::Db,
            Origin::Wal => Self::Wal,
            Origin::Recording => Self::Recording,
            Origin::OldValue => Self::OldValue,
            Origin::FreePage => Self::FreePage,
            Origin::Objects => Self::Objects,
        }
    }
}

//! What `export` writes: the rows of its tables, and the JSON of its summary.
//!
//! A row's type is the only definition of its columns: their names and types in Parquet and in lines of JSON are those of its schema, their descriptions
//! its comments. A field is never left out, so that every row has every column.

mod decision;
mod event;
mod traces;

use std::borrow::Cow;

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::change::{ChangeSource, ChangeType};
use super::common::{ActorFrom, KubernetesObject, PatchOperation, Time};
use super::window::HistoryWindow;

pub use decision::{DecisionNodeRow, DecisionRow};
pub use event::EventRow;
pub use traces::{SpansLeftOut, TraceExport};

/// A row of one of the tables.
pub trait Row: Serialize + JsonSchema {
    /// The table.
    const TABLE: Table;
}

/// A table of the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Every object at one revision.
    Objects,
    /// Every readable change.
    History,
    /// Every readable version of a Kubernetes Event.
    Events,
    /// Every scheduling decision.
    Decisions,
    /// Every node that a decision considered.
    DecisionNodes,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Objects, Self::History, Self::Events, Self::Decisions, Self::DecisionNodes];

    /// Its name, which is that of its folder too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Objects => "objects",
            Self::History => "history",
            Self::Events => "events",
            Self::Decisions => "decisions",
            Self::DecisionNodes => "decision_nodes",
        }
    }

    /// What its rows are.
    pub fn description(self) -> &'static str {
        match self {
            Self::Objects => "One row for each object at the exported revision.",
            Self::History => "One row for each change that is readable.",
            Self::Events => "One row for each readable version of a Kubernetes Event: an Event that occurs again is written again.",
            Self::Decisions => "One row for each scheduling decision (an attempt) that the history shows.",
            Self::DecisionNodes => "One row for each node and decision.",
        }
    }
}

/// What `export` prints, and the rows that it writes.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Exports<'a> {
    /// `-o json`: what was written.
    Export(Export),
    /// `-o json` with `--format otlp` or `perfetto`: what was written.
    TraceExport(TraceExport),
    /// A row of `objects`.
    ObjectRow(ObjectRow<'a>),
    /// A row of `history`.
    HistoryRow(Box<HistoryRow<'a>>),
    /// A row of `events`.
    EventRow(EventRow<'a>),
    /// A row of `decisions`.
    DecisionRow(Box<DecisionRow<'a>>),
    /// A row of `decision_nodes`.
    DecisionNodeRow(DecisionNodeRow<'a>),
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Export {
    /// The cluster's name in the dataset.
    pub cluster: String,
    /// The directory or the bucket, as given.
    pub out: String,
    /// Up to which revision was read.
    pub revision: i64,
    /// The tables, in the order asked for.
    pub tables: Vec<ExportedTable>,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
}

/// What was written of a table.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedTable {
    /// The files written, in the order of their revisions.
    pub files: Vec<ExportedFile>,
    /// Rows left out because a file that was there already covers their revisions; 0 for `decision_nodes`, as those decisions are not evaluated again.
    pub rows_present: u64,
    /// The table.
    pub table: Table,
}

/// A file that was written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedFile {
    /// Its size.
    pub bytes: u64,
    /// Its path below `out`.
    pub path: String,
    /// Its rows.
    pub rows: u64,
}

/// An object at the exported revision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ObjectRow<'a> {
    /// The exported revision.
    pub revision: i64,
    /// The time of the exported revision; null if nothing shows it.
    pub time: Option<Time>,
    /// The kind, such as `Pod`; null where the value cannot be decoded and the kind of the key is not known.
    pub kind: Option<&'a str>,
    /// The version that it is stored in, such as `apps/v1`; null where the value cannot be decoded.
    pub api_version: Option<&'a str>,
    /// The namespace; null for objects without one.
    pub namespace: Option<&'a str>,
    /// The name.
    pub name: &'a str,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The uid; null where the value cannot be decoded or has none.
    pub uid: Option<&'a str>,
    /// `metadata.creationTimestamp`.
    pub creation_timestamp: Option<Time>,
    /// `metadata.deletionTimestamp`; null for an object that is not being deleted.
    pub deletion_timestamp: Option<Time>,
    /// The kind of its controller or, without one, of its first owner; null without owners.
    pub owner_kind: Option<&'a str>,
    /// The name of that owner.
    pub owner_name: Option<&'a str>,
    /// The revision that created it.
    pub create_revision: i64,
    /// The revision of its last change.
    pub mod_revision: i64,
    /// How often it was written since it was created.
    pub version: i64,
    /// The bytes of its value in etcd.
    pub value_bytes: i64,
    /// Why the value cannot be decoded; null where it can. For people: the words are not part of the contract.
    pub error: Option<&'a str>,
    /// The object in its stored version; null where the value cannot be decoded.
    #[schemars(with = "Option<KubernetesObject<'a>>")]
    pub object: Option<&'a RawValue>,
}

impl Row for ObjectRow<'_> {
    const TABLE: Table = Table::Objects;
}

/// A change of one key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryRow<'a> {
    /// The revision that made it.
    pub revision: i64,
    /// Its place among the changes of that revision, from 0.
    pub sub_revision: i64,
    /// When it was made; null where nothing in the data dates the revision.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// What happened.
    #[serde(rename = "type")]
    pub change: ChangeType,
    /// The kind of the object, such as `Pod`; null where no version of it around the change can be decoded and the kind of the key is not known.
    pub kind: Option<&'a str>,
    /// The version that the object is stored in, such as `apps/v1`; null where it cannot be decoded.
    pub api_version: Option<&'a str>,
    /// The namespace; null for objects without one, and for keys that do not name an object.
    pub namespace: Option<&'a str>,
    /// The name; null for keys that do not name an object.
    pub name: Option<&'a str>,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The uid of the object; null where it cannot be decoded or has none.
    pub uid: Option<&'a str>,
    /// Who made the change, such as `kubelet node3`; null where the data does not show it.
    pub actor: Option<String>,
    /// How that is known; null where the data does not show who made it.
    pub actor_from: Option<ActorFrom>,
    /// How many operations the patch has; null if there is no patch.
    pub patch_operations: Option<i64>,
    /// A JSON Patch (RFC 6902) from the previous readable version to this one; null for `ADDED`, and where either version is not readable.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
    /// The object after the change; null for `DELETED`, and where it cannot be decoded.
    pub object: Option<KubernetesObject<'a>>,
    /// The bytes of the value that was written; null for `DELETED`.
    pub value_bytes: Option<i64>,
    /// How often the key was written since it was created, with this change; null for `DELETED`.
    pub version: Option<i64>,
    /// The revision that created the key; null for `DELETED`.
    pub create_revision: Option<i64>,
    /// The best of the places that hold it.
    pub source: ChangeSource,
    /// Why the new value cannot be decoded; null where it can. For people: the words are not part of the contract.
    pub error: Option<&'a str>,
}

impl Row for HistoryRow<'_> {
    const TABLE: Table = Table::History;
}

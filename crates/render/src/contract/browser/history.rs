//! `/ui/api/history`: the versions of an object.

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::super::change::ChangeType;
use super::super::common::{ActorFrom, PatchOperation, Time};
use super::named::PageName;

/// The versions of an object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageHistory {
    /// The command that prints them.
    pub command: String,
    /// How many earlier ones are left out.
    pub left: usize,
    /// Which object.
    pub name: PageName,
    /// The versions, oldest first.
    pub versions: Vec<PageVersion>,
}

/// A version of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageVersion {
    /// Who made it; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known.
    pub by_from: Option<ActorFrom>,
    /// Why it cannot be decoded; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How far the time may be off, in seconds.
    pub error_seconds: Option<f64>,
    /// What happened, in words.
    pub label: String,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The whole object, of the first version and after a gap; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    /// A JSON Patch (RFC 6902) from the version before; absent where the object is whole, deleted or unreadable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
    /// The request of an audit log, in words; null where no log says.
    pub request: Option<String>,
    /// The revision.
    pub revision: i64,
    /// When.
    pub time: Option<Time>,
    /// What happened to the key.
    #[serde(rename = "type")]
    pub kind: ChangeType,
}

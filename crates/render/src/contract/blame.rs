//! The JSON of `blame`.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::{ActorFrom, KubernetesObject, Time};

/// An object, and who last set each of its fields.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Blame<'a> {
    /// One item for each leaf of the object: a scalar, or an empty list or object.
    pub lines: Vec<BlamedLine>,
    /// The object.
    pub object: KubernetesObject<'a>,
}

/// Who last set a leaf.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlamedLine {
    /// The field manager or component; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who it was.
    pub by_from: Option<ActorFrom>,
    /// Where the leaf is, as a JSON Pointer.
    pub path: String,
    /// The revision that set it; null where that is older than the readable history.
    pub revision: Option<i64>,
    /// When that revision was written; null where nothing dates it.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
}

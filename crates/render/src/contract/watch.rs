//! The JSON of `watch`: changes, and what is said between them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::change::{ChangeWithObject, History};
use super::common::KubernetesObject;

/// What `watch` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Watched<'a> {
    /// `-o json`: all changes.
    History(History<'a>),
    /// The first lines of `-o ndjson` on a live etcd: an address as it is before the changes, one line each.
    Initial(Initial<'a>),
    /// A line of `-o ndjson`: a change.
    ChangeWithObject(ChangeWithObject<'a>),
    /// A line of `-o ndjson`: changes that cannot be read any more.
    Gap(CompactedGap),
}

/// What is there before the changes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Initial<'a> {
    /// `INITIAL`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "INITIAL"))]
    pub kind: &'static str,
    /// The revision it is of; the changes are those after it.
    pub revision: i64,
    /// The endpoint of the member that is watched; null where it is not known.
    pub member: Option<String>,
    /// etcd's key, or where the address names many objects the beginning of their keys.
    pub key: Cow<'a, str>,
    /// Whether there is an object under the key; null where the address names many.
    pub exists: Option<bool>,
    /// The object; null if there is none, where the address names many, and where it cannot be decoded.
    pub object: Option<KubernetesObject<'a>>,
    /// Why the object cannot be decoded; absent where it can. For people: the words are not part of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

/// Revisions that were compacted before they could be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompactedGap {
    /// `GAP`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "GAP"))]
    pub kind: &'static str,
    /// The first revision that is missing.
    pub from: i64,
    /// The last revision that is missing.
    pub to: i64,
}

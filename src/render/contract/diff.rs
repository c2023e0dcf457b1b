//! The JSON of `diff`.

use std::borrow::Cow;

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;

use super::change::ChangeType;
use super::common::{KubernetesObject, PatchOperation};

/// What `diff` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Diff<'a> {
    /// `-o json`: all differences.
    Differences(Differences<'a>),
    /// Each line of `-o ndjson`: a difference.
    Difference(Difference<'a>),
}

/// All differences of two states.
#[derive(Debug, JsonSchema)]
pub struct Differences<'a> {
    /// `Diff`.
    #[schemars(extend("const" = "Diff"))]
    pub kind: &'static str,
    /// The differences, in the order of the keys.
    pub differences: Vec<Difference<'a>>,
}

/// A key that differs between two states.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Difference<'a> {
    /// What makes the second state of the first.
    #[serde(rename = "type")]
    pub kind: ChangeType,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The revision of the key's last change in the second state or, where it is gone, in the first.
    pub revision: i64,
    /// Why a value cannot be decoded; absent where both can. For people: the words are not part of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The object of the second state; null where it is gone or cannot be decoded.
    pub object: Option<KubernetesObject<'a>>,
    /// A JSON Patch (RFC 6902) from the first state's object to the second's; null where either is missing or cannot be decoded.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
}

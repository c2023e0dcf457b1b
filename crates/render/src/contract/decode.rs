//! The JSON of `decode`.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::KubernetesObject;

/// What `decode` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Decode<'a> {
    /// `decode`, and each line of `decode --lines`: the object.
    Object(KubernetesObject<'a>),
    /// A line of `decode --lines` in place of a value that cannot be decoded.
    Failed(Failed<'a>),
}

/// A value that cannot be decoded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failed<'a> {
    /// The reason. For people: the words are not part of the contract.
    pub error: &'a str,
}

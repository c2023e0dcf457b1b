//! What was redacted: classes, paths and counts, never an original value.

use schemars::JsonSchema;
use serde::Serialize;

use crate::choice::Class;

/// What a redactor replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Each class, whether it was chosen or not.
    pub classes: Vec<ClassReport>,
    /// Objects that were rewritten or looked through.
    pub objects: u64,
}

/// What was replaced of one class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClassReport {
    /// Whether the class goes. Where not, its values stay as they are.
    pub chosen: bool,
    /// The class.
    pub class: Class,
    /// Different values that were replaced.
    pub distinct: u64,
    /// Where they stood, in order.
    pub paths: Vec<PathCount>,
    /// Values that were replaced.
    pub replaced: u64,
}

/// How many values were replaced at one place of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathCount {
    /// Values that were replaced there.
    pub count: u64,
    /// The kind and the path in it: `Pod.spec.containers[].env[].value`; `key` and `text` for what is not part of an object.
    pub path: String,
}

//! `/ui/api/diff`: what differs between two versions of an object.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::named::{PageMoment, PageName, PageSetter};

/// What differs between two versions of an object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageDiff {
    /// The second as YAML; null where it is not there.
    pub after: Option<String>,
    /// The first as YAML; null where it is not there.
    pub before: Option<String>,
    /// Who changed it in between, oldest first.
    pub by: Vec<PageSetter>,
    /// The command that prints it.
    pub command: String,
    /// The fields that differ.
    pub fields: Vec<PageField>,
    /// The first moment.
    pub from: PageMoment,
    /// Which object.
    pub name: PageName,
    /// The second moment.
    pub to: PageMoment,
}

/// A field that differs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageField {
    /// Its value after; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Its value before; absent where it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// Where it is, list items by their keys.
    pub path: String,
    /// Whether it is bookkeeping.
    pub quiet: bool,
}

//! `/ui/api/timeline`: what happened to an object.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::super::timeline::Timeline;
use super::named::PageMoment;

/// What happened to an object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageTimelines {
    /// The command that prints it.
    pub command: String,
    /// The cursor: what came later is left out.
    pub moment: PageMoment,
    /// What `timeline -o json` prints, without the changes.
    #[schemars(with = "Vec<Timeline<'static>>")]
    pub timelines: Vec<Value>,
}

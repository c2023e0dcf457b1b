//! `/ui/api/decision`: a scheduling decision.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::named::{PageMoment, PageName};
use crate::explanation::json::Document;

/// A scheduling decision.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageDecision {
    /// The command that prints it.
    pub command: String,
    /// What `explain -o json` prints, with at most 200 nodes: the chosen one, the best others, then those that were refused.
    #[schemars(with = "Document<'static>")]
    pub decision: Value,
    /// The refusals before it, oldest first.
    pub earlier: Vec<PageRefusal>,
    /// The cursor.
    pub moment: PageMoment,
    /// The pod.
    pub name: PageName,
    /// How many nodes there are.
    pub nodes_in_all: usize,
    /// How many of them are left out of `decision`.
    pub nodes_left: usize,
    /// The columns of the matrix, in their order.
    pub plugins: PagePlugins,
    /// Why nodes were refused, the commonest first.
    pub reasons: Vec<PageReason>,
    /// The best node that was not chosen.
    pub runner_up: Option<String>,
}

/// The plugins of a decision.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PagePlugins {
    /// Those that filter.
    pub filters: Vec<String>,
    /// Those that score.
    pub scores: Vec<String>,
}

/// How many nodes were refused for a reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageReason {
    /// Some of them.
    pub examples: Vec<String>,
    /// How many.
    pub nodes: usize,
    /// The plugin that refused them; null where they fit.
    pub plugin: Option<String>,
    /// The reason.
    pub reason: String,
}

/// A refusal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageRefusal {
    /// The recorded message.
    pub message: Option<String>,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The revision that shows it.
    pub revision: i64,
}

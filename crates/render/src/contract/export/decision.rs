//! The rows of tables `decisions` and `decision_nodes`.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::common::Time;
use super::{Row, Table};
use crate::explanation::json::{AttemptOutcome, Decider, Filter, FilterStatus, Score, Verdict};

/// A scheduling decision, and whether the scheduler's rules give it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionRow<'a> {
    /// The revision that shows the decision.
    pub revision: i64,
    /// When that revision was written; null where nothing dates it.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub pod: &'a str,
    /// The pod's uid.
    pub uid: &'a str,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Who decided.
    pub decided_by: Decider,
    /// The node to which the pod was bound; null where it was not.
    pub node: Option<&'a str>,
    /// Whether the rules give the recorded outcome.
    pub verdict: Verdict,
    /// The message of the pod's condition `PodScheduled`; null where it has none.
    pub recorded_message: Option<&'a str>,
    /// The scheduler's own message for a pod that fits on no node, as the rules give it; null for one that fits.
    pub message: Option<&'a str>,
    /// The profile's `schedulerName`.
    pub scheduler_name: &'a str,
    /// The scheduler's release, such as `1.28`.
    pub scheduler_version: String,
    /// The revision on whose state it is evaluated.
    pub evaluated_revision: i64,
    /// How many nodes there were.
    pub nodes: i64,
    /// How many of them the pod fits on.
    pub feasible_nodes: i64,
    /// What limits the answer: missing evidence, assumptions. For people: the words are not part of the contract.
    pub caveats: Vec<String>,
}

impl Row for DecisionRow<'_> {
    const TABLE: Table = Table::Decisions;
}

/// A node of a decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionNodeRow<'a> {
    /// The revision that shows the decision.
    pub revision: i64,
    /// When that revision was written; null where nothing dates it.
    pub time: Option<Time>,
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub pod: &'a str,
    /// The pod's uid.
    pub uid: &'a str,
    /// The node.
    pub node: &'a str,
    /// Whether the pod was bound to it.
    pub chosen: bool,
    /// Whether the pod fits on it.
    pub feasible: bool,
    /// The first filter that refuses the pod; null where none does.
    pub refused_by: Option<&'a str>,
    /// The status of that filter; null where none refuses.
    pub status: Option<FilterStatus>,
    /// That filter's reasons, in its own words, joined by `, `; null where none refuses.
    pub reasons: Option<String>,
    /// The sum of the weighted scores; null where scores decide nothing.
    pub total: Option<i64>,
    /// Every filter of the profile, in its order.
    pub filters: &'a [Filter<'a>],
    /// Every scoring plugin, where the pod fits on more than one node; empty where scores decide nothing.
    pub scores: &'a [Score<'a>],
}

impl Row for DecisionNodeRow<'_> {
    const TABLE: Table = Table::DecisionNodes;
}

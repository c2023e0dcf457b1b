//! `/ui/api/object`: an object at the cursor.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::super::common::Time;
use super::named::{Moment, Name, Setter};

/// An object at the cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageObject")]
pub struct ObjectView {
    /// The command that prints it.
    pub command: String,
    /// Why it cannot be decoded; null where it can.
    pub error: Option<String>,
    /// The Events about it, the newest 200.
    pub events: Vec<EventLine>,
    /// The command that prints them.
    pub events_command: String,
    /// It as YAML.
    pub lines: Vec<Line>,
    /// The cursor.
    pub moment: Moment,
    /// Which object.
    pub name: Name,
    /// The object, whose fields are Kubernetes' own; null where it cannot be decoded.
    pub object: Option<Value>,
    /// What it owns, at most 200.
    pub owned: Vec<Related>,
    /// How many more it owns.
    pub owned_left: usize,
    /// Its owners, the nearest first.
    pub owners: Vec<Related>,
    /// What it refers to.
    pub refers_to: Vec<Related>,
    /// The command that prints its owners, and what it owns.
    pub related_command: String,
    /// Who set its lines.
    pub setters: Vec<Setter>,
    /// `there`, `deleted` (then the last version is shown), `notYet` or `unreadable`.
    pub state: &'static str,
    /// The version that is shown.
    pub version: Option<Moment>,
}

/// A line of YAML.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageLine")]
pub struct Line {
    /// The line.
    pub text: String,
    /// Who set it: a place in `setters`.
    pub set: usize,
}

/// An object that another one has to do with.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageRelated")]
pub struct Related {
    /// Which object.
    #[serde(flatten)]
    pub object: Name,
    /// Whether it is there at the cursor.
    pub found: bool,
    /// What leads to it: `controller`, `owner`, or the field that names it.
    pub via: String,
}

/// A Kubernetes Event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageEvent")]
pub struct EventLine {
    /// How often it happened.
    pub count: i64,
    /// Its message.
    pub message: String,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// Its reason.
    pub reason: String,
    /// The revision of this version of it.
    pub revision: i64,
    /// The component that reported it.
    pub source: String,
    /// When.
    pub time: Option<Time>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind: String,
}

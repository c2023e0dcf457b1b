//! `/ui/api/object`: an object at the cursor.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::super::common::Time;
use super::named::{PageMoment, PageName, PageSetter};

/// An object at the cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageObject {
    /// The command that prints it.
    pub command: String,
    /// Why it cannot be decoded; null where it can.
    pub error: Option<String>,
    /// The Events about it, the newest 200.
    pub events: Vec<PageEvent>,
    /// The command that prints them.
    pub events_command: String,
    /// It as YAML.
    pub lines: Vec<PageLine>,
    /// The cursor.
    pub moment: PageMoment,
    /// Which object.
    pub name: PageName,
    /// The object, whose fields are Kubernetes' own; null where it cannot be decoded.
    pub object: Option<Value>,
    /// What it owns, at most 200.
    pub owned: Vec<PageRelated>,
    /// How many more it owns.
    pub owned_left: usize,
    /// Its owners, the nearest first.
    pub owners: Vec<PageRelated>,
    /// What it refers to.
    pub refers_to: Vec<PageRelated>,
    /// The command that prints its owners, and what it owns.
    pub related_command: String,
    /// Who set its lines.
    pub setters: Vec<PageSetter>,
    /// `there`, `deleted` (then the last version is shown), `notYet` or `unreadable`.
    pub state: &'static str,
    /// The version that is shown.
    pub version: Option<PageMoment>,
}

/// A line of YAML.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageLine {
    /// The line.
    pub text: String,
    /// Who set it: a place in `setters`.
    pub set: usize,
}

/// An object that another one has to do with.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageRelated {
    /// Which object.
    #[serde(flatten)]
    pub object: PageName,
    /// Whether it is there at the cursor.
    pub found: bool,
    /// What leads to it: `controller`, `owner`, or the field that names it.
    pub via: String,
}

/// A Kubernetes Event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageEvent {
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

//! `/ui/api/node`: a node and its pods.

use schemars::JsonSchema;
use serde::Serialize;

use super::named::{Moment, Name, State};
use super::rows::Row;

/// A node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageNode")]
pub struct NodeView {
    /// The command that prints it.
    pub command: String,
    /// Its conditions.
    pub conditions: Vec<NodeCondition>,
    /// Its last signs of life.
    pub heartbeat: Heartbeat,
    /// The cursor.
    pub moment: Moment,
    /// Which node.
    pub name: Name,
    /// The pods that were on it in the window, at most 500.
    pub pods: Vec<Row>,
    /// How many more there were.
    pub pods_left: usize,
    /// What its pods request, against what it has.
    pub resources: Vec<NodeResource>,
    /// Its state; null where it was not there.
    pub state: Option<State>,
    /// Its taints.
    pub taints: Vec<NodeTaint>,
    /// Whether it is closed to new pods.
    pub unschedulable: bool,
}

/// A condition of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageCondition")]
pub struct NodeCondition {
    /// Kubernetes' own message.
    pub message: String,
    /// The reason.
    pub reason: String,
    /// Since when it has the status.
    pub since: Option<String>,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A taint of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageTaint")]
pub struct NodeTaint {
    /// Its effect.
    pub effect: String,
    /// Its key.
    pub key: String,
    /// Since when, where it says so.
    pub since: Option<String>,
    /// Its value; may be empty.
    pub value: String,
}

/// A resource of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageResource")]
pub struct NodeResource {
    /// How much pods may take.
    pub allocatable: String,
    /// The resource.
    pub name: String,
    /// How much of it is requested, in percent; null where there is none.
    pub percent: Option<f64>,
    /// How much its pods request.
    pub requested: String,
}

/// The last signs of life of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageHeartbeat")]
pub struct Heartbeat {
    /// The last renewal of its lease; null where none can be read.
    pub lease: Option<String>,
    /// The newest heartbeat of its conditions.
    pub status: Option<String>,
}

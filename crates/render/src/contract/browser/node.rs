//! `/ui/api/node`: a node and its pods.

use schemars::JsonSchema;
use serde::Serialize;

use super::named::{PageMoment, PageName, PageState};
use super::rows::PageRow;

/// A node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageNode {
    /// The command that prints it.
    pub command: String,
    /// Its conditions.
    pub conditions: Vec<PageCondition>,
    /// Its last signs of life.
    pub heartbeat: PageHeartbeat,
    /// The cursor.
    pub moment: PageMoment,
    /// Which node.
    pub name: PageName,
    /// The pods that were on it in the window, at most 500.
    pub pods: Vec<PageRow>,
    /// How many more there were.
    pub pods_left: usize,
    /// What its pods request, against what it has.
    pub resources: Vec<PageResource>,
    /// Its state; null where it was not there.
    pub state: Option<PageState>,
    /// Its taints.
    pub taints: Vec<PageTaint>,
    /// Whether it is closed to new pods.
    pub unschedulable: bool,
}

/// A condition of a node.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageCondition {
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
pub struct PageTaint {
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
pub struct PageResource {
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
pub struct PageHeartbeat {
    /// The last renewal of its lease; null where none can be read.
    pub lease: Option<String>,
    /// The newest heartbeat of its conditions.
    pub status: Option<String>,
}

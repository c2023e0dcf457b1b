//! A node of the page: its conditions and taints, what its pods request, its last signs of life.

use std::collections::BTreeMap;

use serde_json::Value;

use ketcd_history::state::state_of;
use ketcd_kube::Quantity;

use crate::contract::browser::{PageCondition, PageHeartbeat, PageMoment, PageName, PageNode, PageResource, PageRow, PageState, PageTaint};

/// What is known of a node.
pub struct NodeStory<'a> {
    /// The node at the cursor; `None` where it was not there.
    pub object: Option<&'a Value>,
    /// What the pods on it request, by resource, and how many there are.
    pub requests: Option<(&'a BTreeMap<String, String>, usize)>,
    /// The last renewal of its lease.
    pub lease: Option<String>,
    /// The pods that were on it in the window.
    pub pods: Vec<PageRow>,
    /// How many more there were.
    pub pods_left: usize,
    /// The cursor.
    pub moment: PageMoment,
    /// Which node.
    pub name: PageName,
    /// The command that prints it.
    pub command: String,
}

/// Returns what the page shows of a node.
pub fn node(story: NodeStory<'_>) -> PageNode {
    let nothing = Value::Null;
    let object = story.object.unwrap_or(&nothing);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let conditions = list(&object["status"]["conditions"]);
    let heartbeats = conditions.iter().filter_map(|condition| condition["lastHeartbeatTime"].as_str());
    PageNode {
        command: story.command,
        heartbeat: PageHeartbeat { lease: story.lease, status: heartbeats.max().map(str::to_owned) },
        conditions: conditions
            .iter()
            .map(|condition| PageCondition {
                message: text(&condition["message"]),
                reason: text(&condition["reason"]),
                since: condition["lastTransitionTime"].as_str().map(str::to_owned),
                status: text(&condition["status"]),
                kind: text(&condition["type"]),
            })
            .collect(),
        moment: story.moment,
        name: story.name,
        pods: story.pods,
        pods_left: story.pods_left,
        resources: resources(&object["status"]["allocatable"], story.requests),
        state: story.object.map(|object| PageState::from(&state_of(object))),
        taints: list(&object["spec"]["taints"])
            .iter()
            .map(|taint| PageTaint {
                effect: text(&taint["effect"]),
                key: text(&taint["key"]),
                since: taint["timeAdded"].as_str().map(str::to_owned),
                value: text(&taint["value"]),
            })
            .collect(),
        unschedulable: object["spec"]["unschedulable"] == true,
    }
}

/// What is requested of each resource that the node has.
fn resources(allocatable: &Value, requests: Option<(&BTreeMap<String, String>, usize)>) -> Vec<PageResource> {
    let resource = |(name, allocatable): (&String, &Value)| {
        let allocatable = allocatable.as_str().unwrap_or_default().to_owned();
        let requested = match (name.as_str(), requests) {
            (_, None) => String::new(),
            ("pods", Some((_, pods))) => pods.to_string(),
            (name, Some((requests, _))) => requests.get(name).cloned().unwrap_or_else(|| "0".to_owned()),
        };
        let number = |text: &str| text.parse::<Quantity>().ok().and_then(|quantity| quantity.nanos()).map(|nanos| nanos as f64);
        let of = number(&requested).zip(number(&allocatable)).filter(|(_, allocatable)| *allocatable > 0.0);
        let percent = of.map(|(requested, allocatable)| (requested / allocatable * 1000.0).round() / 10.0);
        PageResource { allocatable, name: name.clone(), percent, requested }
    };
    let mut resources: Vec<PageResource> = allocatable.as_object().into_iter().flatten().map(resource).collect();
    resources.sort_by_key(|resource| ["cpu", "memory", "pods"].iter().position(|first| *first == resource.name).unwrap_or(3));
    resources
}

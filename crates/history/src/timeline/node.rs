//! A node's steps: registered, ready, heartbeat lost, tainted, cordoned, returned, gone.

use serde_json::Value;

use super::{ByField, NodeTaint, ResourceChange, Step, StepDetail, StepKind, condition_detail, generic, items, why};

/// The condition in which a kubelet says that all is well; the others say that something is short.
const READY_CONDITION: &str = "Ready";

/// Returns the steps between two neighbouring versions of a node.
pub(super) fn steps(before: Option<&Value>, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    if before.is_none() {
        let version = after["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default();
        let detail = if version.is_empty() { StepDetail::None } else { StepDetail::Kubelet(version.to_owned()) };
        steps.push(Step::new(StepKind::Registered, detail));
    }
    conditions(before, after, &mut steps);
    cordon(before, after, &mut steps);
    taints(before, after, &mut steps);
    if let Some(before) = before {
        capacity(before, after, &mut steps);
        steps.extend(generic::changed(before, after, |path| path.starts_with("metadata.labels")));
        let version = |node: &Value| node["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default().to_owned();
        if version(before) != version(after) && !version(before).is_empty() {
            let detail = StepDetail::KubeletUpgraded { before: version(before), after: version(after) };
            steps.push(Step::new(StepKind::Upgraded, detail));
        }
        generic::ending(before, after, &mut steps);
    }
    steps
}

fn conditions(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let known = ByField::new(items(before, ["status", "conditions"]), "type");
    for now in items(Some(after), ["status", "conditions"]) {
        let then = known.find(&now["type"]);
        let (old, new) = (then.map_or("", |then| then["status"].as_str().unwrap_or_default()), now["status"].as_str().unwrap_or_default());
        if old == new {
            continue;
        }
        let kind = now["type"].as_str().unwrap_or_default();
        match (kind, old, new) {
            (READY_CONDITION, "Unknown", "True") => steps.push(Step::new(StepKind::Returned, StepDetail::None)),
            (READY_CONDITION, _, "True") => steps.push(Step::new(StepKind::Ready, StepDetail::None)),
            (READY_CONDITION, _, "Unknown") => steps.push(Step::new(StepKind::HeartbeatLost, status_lost(now))),
            (READY_CONDITION, _, _) => steps.push(Step::new(StepKind::NotReady, why(now))),
            (_, _, "True") => steps.push(Step::new(StepKind::Pressure, condition_detail(now))),
            (_, "True", "False") => steps.push(Step::new(StepKind::PressureOver, condition_detail(now))),
            _ => {}
        }
    }
}

pub(super) fn status_lost(condition: &Value) -> StepDetail {
    StepDetail::StatusLost { reason: why(condition), last: condition["lastHeartbeatTime"].as_str().map(str::to_owned) }
}

fn cordon(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let cordoned = |node: &Value| node["spec"]["unschedulable"] == true;
    match (before.is_some_and(cordoned), cordoned(after)) {
        (false, true) => steps.push(Step::new(StepKind::Cordoned, StepDetail::None)),
        (true, false) => steps.push(Step::new(StepKind::Uncordoned, StepDetail::None)),
        _ => {}
    }
}

fn taints(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let taints = |node: Option<&Value>| -> Vec<NodeTaint> { items(node, ["spec", "taints"]).iter().map(taint).collect() };
    let (old, new) = (taints(before), taints(Some(after)));
    for added in new.iter().filter(|taint| !old.contains(taint)) {
        steps.push(Step::new(StepKind::Tainted, StepDetail::Taint(added.clone())));
    }
    for removed in old.iter().filter(|taint| !new.contains(taint)) {
        steps.push(Step::new(StepKind::Untainted, StepDetail::Taint(removed.clone())));
    }
}

pub(super) fn taint(taint: &Value) -> NodeTaint {
    let text = |field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    NodeTaint { key: text("key"), value: text("value"), effect: text("effect") }
}

/// What changed of what a node offers for pods, and of what it has where that changed alone.
fn capacity(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let allocatable = resources(before, after, "allocatable");
    let mut capacity = resources(before, after, "capacity");
    capacity.retain(|own| allocatable.iter().all(|told| told.resource != own.resource));
    for (kind, changes) in [(StepKind::Allocatable, allocatable), (StepKind::Capacity, capacity)] {
        if !changes.is_empty() {
            steps.push(Step::new(kind, StepDetail::Allocatable(changes)));
        }
    }
}

/// The resources of a field of the status that differ; none where one side does not have it.
fn resources(before: &Value, after: &Value, field: &str) -> Vec<ResourceChange> {
    let (Some(old), Some(new)) = (before["status"][field].as_object(), after["status"][field].as_object()) else { return Vec::new() };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let change =
        |name: &String| ResourceChange { resource: name.clone(), limit: false, before: text(old.get(name)), after: text(new.get(name)) };
    changed.map(change).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn capacity_is_told_where_it_changes_alone() {
        let node = |capacity: &str, allocatable: &str| {
            json!({"kind": "Node", "metadata": {"name": "n1"}, "status": {
                "capacity": {"cpu": "8", "example.com/fpga": capacity}, "allocatable": {"cpu": "8", "example.com/fpga": allocatable}}})
        };
        let told = |before: Value, after: Value| -> Vec<(StepKind, String)> {
            let of = |step: Step| match step.detail {
                StepDetail::Allocatable(changes) => {
                    let [change] = &changes[..] else { panic!("{changes:?}") };
                    (step.phase, format!("{} {:?} {:?}", change.resource, change.before, change.after))
                }
                other => panic!("{other:?}"),
            };
            steps(Some(&before), &after).into_iter().map(of).collect()
        };
        let change = |kind| vec![(kind, "example.com/fpga Some(\"2\") Some(\"4\")".to_owned())];
        assert_eq!(told(node("2", "2"), node("4", "2")), change(StepKind::Capacity));
        assert_eq!(told(node("2", "2"), node("4", "4")), change(StepKind::Allocatable));
        assert_eq!(told(node("4", "2"), node("4", "4")), change(StepKind::Allocatable));
        assert_eq!(told(node("4", "2"), node("4", "2")), []);
    }
}

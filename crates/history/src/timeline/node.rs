//! A node's steps: registered, ready, heartbeat lost, tainted, cordoned, returned, gone.

use serde_json::Value;

use super::{Step, StepKind, generic, items, why};

/// The condition in which a kubelet says that all is well; the others say that something is short.
const READY: &str = "Ready";

/// Returns the steps between two neighbouring versions of a node.
pub(super) fn steps(before: Option<&Value>, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    if before.is_none() {
        let version = after["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default();
        steps.push(Step::new(StepKind::Registered, if version.is_empty() { String::new() } else { format!("kubelet {version}") }));
    }
    conditions(before, after, &mut steps);
    cordon(before, after, &mut steps);
    taints(before, after, &mut steps);
    if let Some(before) = before {
        capacity(before, after, &mut steps);
        let version = |node: &Value| node["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default().to_owned();
        if version(before) != version(after) && !version(before).is_empty() {
            steps.push(Step::new(StepKind::Upgraded, format!("kubelet {} → {}", version(before), version(after))));
        }
        generic::ending(before, after, &mut steps);
    }
    steps
}

fn conditions(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    for now in items(Some(after), ["status", "conditions"]) {
        let then = items(before, ["status", "conditions"]).iter().find(|then| then["type"] == now["type"]);
        let (old, new) = (then.map_or("", |then| then["status"].as_str().unwrap_or_default()), now["status"].as_str().unwrap_or_default());
        if old == new {
            continue;
        }
        let kind = now["type"].as_str().unwrap_or_default();
        match (kind, old, new) {
            (READY, "Unknown", "True") => steps.push(Step::new(StepKind::Returned, "the kubelet posts its status again")),
            (READY, _, "True") => steps.push(Step::new(StepKind::Ready, "")),
            (READY, _, "Unknown") => steps.push(Step::new(StepKind::HeartbeatLost, heartbeat_lost(now))),
            (READY, _, _) => steps.push(Step::new(StepKind::NotReady, why(now))),
            (_, _, "True") => steps.push(Step::new(StepKind::Pressure, format!("{kind}: {}", why(now)))),
            (_, "True", "False") => steps.push(Step::new(StepKind::PressureOver, kind)),
            _ => {}
        }
    }
}

pub(super) fn heartbeat_lost(condition: &Value) -> String {
    let last = condition["lastHeartbeatTime"].as_str().map(|time| format!("; last status at {time}")).unwrap_or_default();
    format!("{}{last}", why(condition))
}

fn cordon(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let cordoned = |node: &Value| node["spec"]["unschedulable"] == true;
    match (before.is_some_and(cordoned), cordoned(after)) {
        (false, true) => steps.push(Step::new(StepKind::Cordoned, "")),
        (true, false) => steps.push(Step::new(StepKind::Uncordoned, "")),
        _ => {}
    }
}

fn taints(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let told = |node: Option<&Value>| -> Vec<String> { items(node, ["spec", "taints"]).iter().map(taint).collect() };
    let (old, new) = (told(before), told(Some(after)));
    for added in new.iter().filter(|taint| !old.contains(taint)) {
        steps.push(Step::new(StepKind::Tainted, added.clone()));
    }
    for removed in old.iter().filter(|taint| !new.contains(taint)) {
        steps.push(Step::new(StepKind::Untainted, removed.clone()));
    }
}

/// A taint as kubectl writes it: `key=value:Effect`.
pub(super) fn taint(taint: &Value) -> String {
    let text = |field: &str| taint[field].as_str().unwrap_or_default();
    if text("value").is_empty() {
        format!("{}:{}", text("key"), text("effect"))
    } else {
        format!("{}={}:{}", text("key"), text("value"), text("effect"))
    }
}

fn capacity(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (Some(old), Some(new)) = (before["status"]["allocatable"].as_object(), after["status"]["allocatable"].as_object()) else { return };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("none").to_owned();
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let told: Vec<String> = changed.map(|name| format!("{name} {} → {}", text(old.get(name)), text(new.get(name)))).collect();
    if !told.is_empty() {
        steps.push(Step::new(StepKind::Allocatable, told.join(", ")));
    }
}

//! Resizing a pod in place: what was asked, and what the kubelet made of it.
//!
//! Kubernetes 1.27 to 1.32 answers in `status.resize`, later releases in the conditions PodResizePending and PodResizeInProgress.

use serde_json::Value;

use super::{ByField, ResourceChange, Step, StepDetail, StepKind, condition, items, turned, why};

/// The steps in which somebody asks for other resources.
pub(super) fn requested(before: &Value, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    if !before["spec"]["nodeName"].is_string() {
        return steps;
    }
    let containers = ByField::named(items(Some(before), ["spec", "containers"]));
    for container in items(Some(after), ["spec", "containers"]) {
        let Some(old) = containers.find(&container["name"]) else { continue };
        let changes = resources(&old["resources"], &container["resources"]);
        steps.extend(changed(StepKind::ResizeRequested, Some(container["name"].as_str().unwrap_or_default()), changes));
    }
    steps.extend(changed(StepKind::ResizeRequested, None, resources(&before["spec"]["resources"], &after["spec"]["resources"])));
    steps
}

/// The steps in which the kubelet answers.
pub(super) fn answered(before: &Value, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    let resize = |pod: &Value| pod["status"]["resize"].as_str().unwrap_or_default().to_owned();
    if resize(before) != resize(after) {
        match resize(after).as_str() {
            "Deferred" => steps.push(Step::new(StepKind::ResizeDeferred, StepDetail::None)),
            "Infeasible" => steps.push(Step::new(StepKind::ResizeInfeasible, StepDetail::None)),
            _ => {}
        }
    }
    let pending = |pod| condition(pod, "PodResizePending").filter(|pending| pending["status"] == "True");
    if let Some(now) = pending(after).filter(|now| pending(before).is_none_or(|then| then["reason"] != now["reason"])) {
        let phase = if now["reason"] == "Infeasible" { StepKind::ResizeInfeasible } else { StepKind::ResizeDeferred };
        steps.push(Step::new(phase, why(now)));
    }
    if let Some((_, "True", now)) = turned(Some(before), after, "PodResizeInProgress") {
        steps.push(Step::new(StepKind::ResizeStarted, why(now)));
    }
    let statuses = ByField::named(items(Some(before), ["status", "containerStatuses"]));
    for status in items(Some(after), ["status", "containerStatuses"]) {
        let Some(old) = statuses.find(&status["name"]) else { continue };
        let changes = if old["resources"].is_object() { resources(&old["resources"], &status["resources"]) } else { Vec::new() };
        steps.extend(changed(StepKind::Resized, Some(status["name"].as_str().unwrap_or_default()), changes));
    }
    if before["status"]["resources"].is_object() {
        steps.extend(changed(StepKind::Resized, None, resources(&before["status"]["resources"], &after["status"]["resources"])));
    }
    steps
}

/// The step of a container, or of the pod, whose resources changed, if any did.
fn changed(kind: StepKind, container: Option<&str>, changes: Vec<ResourceChange>) -> Option<Step> {
    (!changes.is_empty()).then(|| Step::new(kind, StepDetail::Resources { container: container.map(str::to_owned), changes }))
}

/// The requests and limits that differ.
fn resources(before: &Value, after: &Value) -> Vec<ResourceChange> {
    let mut changes = Vec::new();
    for (section, limit) in [("requests", false), ("limits", true)] {
        let (old, new) = (&before[section], &after[section]);
        let names = [old, new].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys());
        let mut names: Vec<&String> = names.collect();
        names.sort();
        names.dedup();
        for name in names.into_iter().filter(|name| old[name.as_str()] != new[name.as_str()]) {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let (before, after) = (text(&old[name.as_str()]), text(&new[name.as_str()]));
            changes.push(ResourceChange { resource: name.clone(), limit, before, after });
        }
    }
    changes
}

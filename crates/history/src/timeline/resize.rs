//! Resizing a pod in place: what was asked, and what the kubelet made of it.
//!
//! Kubernetes 1.27 to 1.32 answers in `status.resize`, later releases in the conditions PodResizePending and PodResizeInProgress.

use serde_json::Value;

use super::{Step, StepKind, condition, items, named, turned, why};

/// The steps in which somebody asks for other resources.
pub(super) fn requested(before: &Value, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    if !before["spec"]["nodeName"].is_string() {
        return steps;
    }
    for container in items(Some(after), ["spec", "containers"]) {
        let Some(old) = named(items(Some(before), ["spec", "containers"]), &container["name"]) else { continue };
        let told = resources(&old["resources"], &container["resources"]);
        if !told.is_empty() {
            steps.push(Step::new(StepKind::ResizeRequested, format!("{}: {told}", container["name"].as_str().unwrap_or_default())));
        }
    }
    let told = resources(&before["spec"]["resources"], &after["spec"]["resources"]);
    if !told.is_empty() {
        steps.push(Step::new(StepKind::ResizeRequested, format!("the pod: {told}")));
    }
    steps
}

/// The steps in which the kubelet answers.
pub(super) fn answered(before: &Value, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    let resize = |pod: &Value| pod["status"]["resize"].as_str().unwrap_or_default().to_owned();
    if resize(before) != resize(after) {
        match resize(after).as_str() {
            "Deferred" => steps.push(Step::new(StepKind::ResizeDeferred, "")),
            "Infeasible" => steps.push(Step::new(StepKind::ResizeInfeasible, "")),
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
    for status in items(Some(after), ["status", "containerStatuses"]) {
        let Some(old) = named(items(Some(before), ["status", "containerStatuses"]), &status["name"]) else { continue };
        let told = if old["resources"].is_object() { resources(&old["resources"], &status["resources"]) } else { String::new() };
        if !told.is_empty() {
            steps.push(Step::new(StepKind::Resized, format!("{}: {told}", status["name"].as_str().unwrap_or_default())));
        }
    }
    if before["status"]["resources"].is_object() {
        let told = resources(&before["status"]["resources"], &after["status"]["resources"]);
        if !told.is_empty() {
            steps.push(Step::new(StepKind::Resized, format!("the pod: {told}")));
        }
    }
    steps
}

/// `cpu 100m → 300m, memory limit 1Gi → 2Gi`; empty where nothing differs.
fn resources(before: &Value, after: &Value) -> String {
    let mut told = Vec::new();
    for (section, suffix) in [("requests", ""), ("limits", " limit")] {
        let (old, new) = (&before[section], &after[section]);
        let names = [old, new].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys());
        let mut names: Vec<&String> = names.collect();
        names.sort();
        names.dedup();
        for name in names.into_iter().filter(|name| old[name.as_str()] != new[name.as_str()]) {
            let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
            told.push(format!("{name}{suffix} {} → {}", text(&old[name.as_str()]), text(&new[name.as_str()])));
        }
    }
    told.join(", ")
}

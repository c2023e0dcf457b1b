//! Steps that any object can take: created, phase, conditions, spec changed, deleting, finalizers, gone.

use serde_json::Value;

use super::{Step, controller, items, why};
use crate::history::diff::{Detail, fields};
use crate::history::noise;

/// Fields of spec named in one step, before the rest is only counted.
const NAMED: usize = 4;

/// Returns the steps between two neighbouring versions of an object of whatever kind.
pub(super) fn steps(before: Option<&Value>, after: &Value) -> Vec<Step> {
    let Some(before) = before else { return vec![created(after)] };
    let mut steps = Vec::new();
    steps.extend(spec_changed(before, after));
    let (old, new) = (&before["status"]["phase"], &after["status"]["phase"]);
    if let Some(phase) = new.as_str().filter(|_| old != new) {
        steps.push(Step::new("Phase", format!("{} → {phase}", old.as_str().unwrap_or("none"))));
    }
    conditions(before, after, &mut steps);
    ending(before, after, &mut steps);
    steps
}

/// The step of a creation.
pub(super) fn created(object: &Value) -> Step {
    let owner = controller(object)
        .map(|owner| format!("for {} {}", owner["kind"].as_str().unwrap_or_default(), owner["name"].as_str().unwrap_or_default()));
    Step::new("Created", owner.unwrap_or_default())
}

/// The step of a deletion, given the last readable version.
pub(super) fn deleted(last: Option<&Value>) -> Step {
    let asked = last.is_some_and(|last| last["metadata"]["deletionTimestamp"].is_string());
    Step::new("Deleted", if asked || last.is_none() { "" } else { "at once" })
}

/// What somebody changed in spec, labels or annotations.
pub(super) fn spec_changed(before: &Value, after: &Value) -> Option<Step> {
    let (changed, _) = noise::fold(fields(before, after, Detail::Story));
    let wanted = changed.iter().filter(|change| !change.path.starts_with(&["status"]) && !is_lifecycle(&change.path.to_string()));
    let names: Vec<String> = wanted.map(|change| change.path.to_string()).collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| Step::new("Changed", names[..names.len().min(NAMED)].join(", ") + &more))
}

fn is_lifecycle(path: &str) -> bool {
    ["metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.finalizers", "spec.finalizers"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// Conditions whose status turned.
pub(super) fn conditions(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    for condition in items(Some(after), ["status", "conditions"]) {
        let old = items(Some(before), ["status", "conditions"]).iter().find(|old| old["type"] == condition["type"]);
        if old.is_none_or(|old| old["status"] != condition["status"]) {
            let (kind, status) = (condition["type"].as_str().unwrap_or_default(), condition["status"].as_str().unwrap_or_default());
            let why = why(condition);
            steps.push(Step::new("Condition", if why.is_empty() { format!("{kind} {status}") } else { format!("{kind} {status}, {why}") }));
        }
    }
}

/// Deletion asked for, and the finalizers that hold it.
pub(super) fn ending(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let finalizers = |object: &Value| -> Vec<String> {
        let lists = [&object["metadata"]["finalizers"], &object["spec"]["finalizers"]];
        lists.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (old, new) = (finalizers(before), finalizers(after));
    if after["metadata"]["deletionTimestamp"].is_string() && !before["metadata"]["deletionTimestamp"].is_string() {
        steps.push(Step::new("Deleting", if new.is_empty() { String::new() } else { format!("held by {}", new.join(", ")) }));
    } else if before["metadata"]["deletionTimestamp"].is_string() {
        for gone in old.iter().filter(|name| !new.contains(name)) {
            steps.push(Step::new("FinalizerRemoved", gone.clone()));
        }
    }
}

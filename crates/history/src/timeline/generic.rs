//! Steps that any object can take: created, phase, conditions, spec changed, deleting, finalizers, gone.

use std::borrow::Cow;

use serde_json::Value;

use super::{Step, StepKind, controller, items, why};
use crate::diff::{Detail, Field, FieldChange, fields};
use crate::noise;

/// Fields of spec named in one step, before the rest is only counted.
const NAMED: usize = 4;
/// Characters up to which a value is shown beside its field.
const SHORT: usize = 40;

/// Returns the steps between two neighbouring versions of an object of whatever kind.
pub(super) fn steps(before: Option<&Value>, after: &Value) -> Vec<Step> {
    let Some(before) = before else { return vec![created(after)] };
    let mut steps = Vec::new();
    steps.extend(spec_changed(before, after, &[]));
    let (old, new) = (&before["status"]["phase"], &after["status"]["phase"]);
    if let Some(phase) = new.as_str().filter(|_| old != new) {
        steps.push(Step::new(StepKind::Phase, format!("{} → {phase}", old.as_str().unwrap_or("none"))));
    }
    conditions(before, after, &mut steps);
    ending(before, after, &mut steps);
    steps
}

/// The step of a creation.
pub(super) fn created(object: &Value) -> Step {
    let owner = controller(object)
        .map(|owner| format!("for {} {}", owner["kind"].as_str().unwrap_or_default(), owner["name"].as_str().unwrap_or_default()));
    Step::new(StepKind::Created, owner.unwrap_or_default())
}

/// The step of a deletion, given the last readable version.
pub(super) fn deleted(last: Option<&Value>) -> Step {
    let asked = last.is_some_and(|last| last["metadata"]["deletionTimestamp"].is_string());
    Step::new(StepKind::Deleted, if asked || last.is_none() { "" } else { "at once" })
}

/// What somebody changed outside status, with the values where they are short; `told` says which paths other steps tell.
pub(super) fn spec_changed(before: &Value, after: &Value, told: &[&str]) -> Option<Step> {
    changed(before, after, |path| !told.iter().any(|start| path.starts_with(start)))
}

/// What somebody changed outside status at the paths that are `wanted`.
pub(super) fn changed(before: &Value, after: &Value, wanted: impl Fn(&str) -> bool) -> Option<Step> {
    let (before, after) = (with_maps(before, after), with_maps(after, before));
    let (changed, _) = noise::fold(fields(&before, &after, Detail::Story));
    let is_wanted = |change: &&FieldChange<'_>| {
        let path = change.path.to_string();
        !change.path.starts_with(&["status"]) && !is_lifecycle(&path) && wanted(&path)
    };
    let secret = after["kind"] == "Secret";
    let names = changed.iter().filter(is_wanted).map(|change| if secret { change.path.to_string() } else { with_values(change) });
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| Step::new(StepKind::Changed, names[..names.len().min(NAMED)].join(", ") + &more))
}

/// An object with empty labels and annotations where only `other` has any, so that the first of them counts as one and not as the whole.
fn with_maps<'a>(object: &'a Value, other: &Value) -> Cow<'a, Value> {
    let lacks = |field: &&str| object["metadata"][field].is_null() && !other["metadata"][field].is_null();
    let lacking: Vec<&str> = ["labels", "annotations"].into_iter().filter(lacks).collect();
    if lacking.is_empty() {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    for field in lacking {
        object["metadata"][field] = Value::Object(serde_json::Map::new());
    }
    Cow::Owned(object)
}

/// `spec.maxReplicas 4 → 6`; only the path where a value is long or has parts.
fn with_values(change: &FieldChange<'_>) -> String {
    let text = |value: Option<&Value>| match value {
        None => Some("none".to_owned()),
        Some(Value::String(text)) if text.is_empty() => Some("\"\"".to_owned()),
        Some(Value::String(text)) => (text.chars().count() <= SHORT && !text.contains('\n')).then(|| text.clone()),
        Some(Value::Object(_) | Value::Array(_)) => None,
        Some(other) => Some(other.to_string()),
    };
    match (change.field, text(change.field.before()), text(change.field.after())) {
        (Field::Reordered, ..) => format!("{} in another order", change.path),
        (_, Some(old), Some(new)) => format!("{} {old} → {new}", change.path),
        (Field::Added(_), ..) => format!("{} added", change.path),
        (Field::Removed(_), ..) => format!("{} removed", change.path),
        _ => change.path.to_string(),
    }
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
        // A namespace's conditions say what could go wrong in its deletion.
        let idle = old.is_none() && condition["status"] == "False" && after["kind"] == "Namespace";
        if !idle && old.is_none_or(|old| old["status"] != condition["status"]) {
            let (kind, status) = (condition["type"].as_str().unwrap_or_default(), condition["status"].as_str().unwrap_or_default());
            let why = why(condition);
            steps.push(Step::new(
                StepKind::Condition,
                if why.is_empty() { format!("{kind} {status}") } else { format!("{kind} {status}, {why}") },
            ));
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
        steps.push(Step::new(StepKind::Deleting, if new.is_empty() { String::new() } else { format!("held by {}", new.join(", ")) }));
    } else if before["metadata"]["deletionTimestamp"].is_string() {
        for gone in old.iter().filter(|name| !new.contains(name)) {
            steps.push(Step::new(StepKind::FinalizerRemoved, gone.clone()));
        }
    }
}

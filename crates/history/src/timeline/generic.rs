//! Steps that any object can take: created, phase, conditions, spec changed, deleting, finalizers, gone.

use std::borrow::Cow;

use serde_json::Value;

use super::{ByField, CreatedAs, Edit, FieldEdit, Step, StepDetail, StepKind, condition_detail, controller, items};
use crate::diff::{Detail, Field, FieldChange, fields};
use crate::noise;

/// The most characters of a value that is shown with its field.
const MAX_VALUE_CHARS: usize = 40;

/// Returns the steps between two neighbouring versions of an object of whatever kind.
pub(super) fn steps(before: Option<&Value>, after: &Value) -> Vec<Step> {
    let Some(before) = before else { return vec![created(after)] };
    let mut steps = Vec::new();
    steps.extend(spec_changed(before, after, &[]));
    let (old, new) = (&before["status"]["phase"], &after["status"]["phase"]);
    if let Some(phase) = new.as_str().filter(|_| old != new) {
        let before = old.as_str().map(str::to_owned);
        steps.push(Step::new(StepKind::Phase, StepDetail::Replaced { before, after: phase.to_owned() }));
    }
    conditions(before, after, &mut steps);
    ending(before, after, &mut steps);
    steps
}

pub(super) fn created(object: &Value) -> Step {
    created_as(object, CreatedAs::Plain)
}

/// The step of a creation, with what the object is meant to do.
pub(super) fn created_as(object: &Value, with: CreatedAs) -> Step {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let owner = controller(object).map(|owner| (text(&owner["kind"]), text(&owner["name"])));
    Step::new(StepKind::Created, StepDetail::Created { owner, with })
}

/// The step of a deletion, given the last readable version.
pub(super) fn deleted(last: Option<&Value>) -> Step {
    let asked = last.is_some_and(|last| last["metadata"]["deletionTimestamp"].is_string());
    Step::new(StepKind::Deleted, if asked || last.is_none() { StepDetail::None } else { StepDetail::AtOnce })
}

/// What somebody changed outside status, with the values where they are short; `covered` are the paths that other steps show.
pub(super) fn spec_changed(before: &Value, after: &Value, covered: &[&str]) -> Option<Step> {
    changed(before, after, |path| !covered.iter().any(|start| path.starts_with(start)))
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
    let edit = |change: &FieldChange<'_>| if secret { Edit::Changed } else { edit(change) };
    let fields = changed.iter().filter(is_wanted).map(|change| FieldEdit { path: change.path.to_string(), edit: edit(change) });
    let fields: Vec<FieldEdit> = fields.collect();
    (!fields.is_empty()).then(|| Step::new(StepKind::Changed, StepDetail::Fields(fields)))
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

/// What became of a field, with its values where both are short and without parts.
fn edit(change: &FieldChange<'_>) -> Edit {
    let is_short = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.chars().count() <= MAX_VALUE_CHARS && !text.contains('\n'),
        Some(Value::Object(_) | Value::Array(_)) => false,
        _ => true,
    };
    let (before, after) = (change.field.before(), change.field.after());
    match change.field {
        Field::Reordered => Edit::Reordered,
        _ if is_short(before) && is_short(after) => Edit::Replaced { before: before.cloned(), after: after.cloned() },
        Field::Added(_) => Edit::Added,
        Field::Removed(_) => Edit::Removed,
        Field::Changed(..) => Edit::Changed,
    }
}

fn is_lifecycle(path: &str) -> bool {
    ["metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.finalizers", "spec.finalizers"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// Conditions whose status turned.
pub(super) fn conditions(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let known = ByField::new(items(Some(before), ["status", "conditions"]), "type");
    for condition in items(Some(after), ["status", "conditions"]) {
        let old = known.find(&condition["type"]);
        // A namespace's conditions say what could go wrong in its deletion.
        let idle = old.is_none() && condition["status"] == "False" && after["kind"] == "Namespace";
        if !idle && old.is_none_or(|old| old["status"] != condition["status"]) {
            steps.push(Step::new(StepKind::Condition, condition_detail(condition)));
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
        steps.push(Step::new(StepKind::Deleting, StepDetail::Finalizers(new)));
    } else if before["metadata"]["deletionTimestamp"].is_string() {
        for gone in old.iter().filter(|name| !new.contains(name)) {
            steps.push(Step::new(StepKind::FinalizerRemoved, StepDetail::Finalizers(vec![gone.clone()])));
        }
    }
}

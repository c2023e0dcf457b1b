//! What managedFields show of one version: who manages a field, who made the object, and when a manager last wrote.
//!
//! An entry's time is that of its manager's last write that changed the entry or a value in it (k8s.io/apimachinery pkg/apis/meta/v1, ManagedFieldsEntry).

use jiff::Timestamp;
use serde_json::Value;

use super::timed_step::{TimedStep, time};
use crate::actor::{Actor, ActorFrom};
use crate::timeline::{Step, StepDetail, StepKind};

fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["managedFields"].as_array().into_iter().flatten()
}

fn recorded(object: &Value, entry: &Value) -> Option<Actor> {
    let name = entry["manager"].as_str()?.to_owned();
    let node = if object["kind"] == "Node" { &object["metadata"]["name"] } else { &object["spec"]["nodeName"] };
    let on = node.as_str().filter(|_| name == "kubelet").map(str::to_owned);
    Some(Actor { name, on, from: ActorFrom::Recorded })
}

#[derive(Clone, Copy)]
pub(super) enum StatusField<'f> {
    /// A condition, by its type.
    Condition(&'f str),
    Status(&'f str),
    /// None: the step is not of status.
    Elsewhere,
}

/// Who manages a field below status: the manager that last changed its value.
pub(super) fn setter(object: &Value, field: StatusField<'_>) -> Option<Actor> {
    let holds = |entry: &&Value| {
        let status = &entry["fieldsV1"]["f:status"];
        match field {
            StatusField::Condition(kind) => status["f:conditions"].get(format!("k:{{\"type\":\"{kind}\"}}")).is_some(),
            StatusField::Status(name) => status.get(format!("f:{name}")).is_some(),
            StatusField::Elsewhere => false,
        }
    };
    recorded(object, entries(object).find(holds)?)
}

/// Who made the object: the first that wrote at its creation, if that entry has not been written since.
pub(super) fn creator(object: &Value) -> Option<Actor> {
    let born = &object["metadata"]["creationTimestamp"];
    let first = entries(object).find(|entry| entry["time"] == *born && !of_status(entry))?;
    recorded(object, first)
}

/// Whether an entry is of status alone.
fn of_status(entry: &Value) -> bool {
    entry["subresource"] == "status"
        || entry["fieldsV1"].as_object().is_some_and(|fields| !fields.is_empty() && fields.keys().all(|field| field == "f:status"))
}

/// The last write of each manager that set more than status, after the creation.
pub(super) fn last_writes(object: &Value) -> Vec<TimedStep> {
    let born = time(&object["metadata"]["creationTimestamp"]);
    let written = entries(object).filter(|entry| !of_status(entry)).filter_map(|entry| Some((entry, time(&entry["time"])?)));
    let later = written.filter(|(_, at)| born.is_none_or(|born| *at > born));
    let writes = later.map(|(entry, at): (&Value, Timestamp)| {
        let detail = StepDetail::LastWrite(fields(&entry["fieldsV1"]));
        TimedStep { step: Step::new(StepKind::Changed, detail), at, by: recorded(object, entry) }
    });
    writes.collect()
}

/// The fields of a set, two levels deep: `spec.replicas`.
fn fields(set: &Value) -> Vec<String> {
    let members = |set: &Value| -> Vec<(String, Value)> {
        let members = set.as_object().into_iter().flatten();
        members.filter_map(|(name, below)| Some((name.strip_prefix("f:")?.to_owned(), below.clone()))).collect()
    };
    let mut names = Vec::new();
    for (name, below) in members(set).into_iter().filter(|(name, _)| name != "status") {
        let below = members(&below);
        if below.is_empty() {
            names.push(name.clone());
        }
        names.extend(below.into_iter().map(|(member, _)| format!("{name}.{member}")));
    }
    names
}

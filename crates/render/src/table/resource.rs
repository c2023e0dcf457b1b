//! Dynamic resource allocation and gang scheduling.

use ketcd_kube::{Release, condition};
use serde_json::Value;

use super::fields::{at, int, list, name, text, text_or};
use super::{Cells, Printer, TableView};

const NAME_AND_AGE: Printer = Printer { columns: "NAME|AGE", cells: |object, view| vec![name(object), view.age(object)] };

/// Where a group names its Workload since 1.37.
const WORKLOAD_NAME_FIELD: &str = "spec.workloadRef.workloadName";

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") | ("scheduling.k8s.io", "Workload") => return Some(NAME_AND_AGE),
        ("resource.k8s.io", "ResourceClaim") => {
            ("NAME|STATE|AGE", |object, view| vec![name(object), claim_state(object), view.age(object)])
        }
        ("resource.k8s.io", "ResourceSlice") => ("NAME|NODE|DRIVER|POOL|AGE", |object, view| {
            let spec = ["nodeName", "driver", "pool.name"].map(|path| text(&object["spec"], path).to_owned());
            [vec![name(object)], spec.to_vec(), vec![view.age(object)]].concat()
        }),
        ("resource.k8s.io", "DeviceTaintRule") => ("NAME|KEY|VALUE|EFFECT|TIMEADDED|AGE", taint_rule),
        ("resource.k8s.io", "ResourcePoolStatusRequest") => {
            ("NAME|DRIVER|TOTAL|AVAILABLE|ALLOCATED|UNAVAILABLE|ERRORS|POOLS|STATUS|COMPLETED", pool_status)
        }
        ("scheduling.k8s.io", "CompositePodGroup") => ("NAME|POLICY|WORKLOAD|AGE", composite_pod_group),
        ("scheduling.k8s.io", "PodGroup") => ("NAME|POLICY|WORKLOAD|STATUS|AGE", pod_group),
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn claim_state(object: &Value) -> String {
    let is_deleting = at(object, "metadata.deletionTimestamp").is_some();
    let is_allocated = at(object, "status.allocation").is_some();
    let is_reserved = is_allocated && !list(object, "status.reservedFor").is_empty();
    let states =
        [("deleted", is_deleting), ("pending", !is_allocated && !is_deleting), ("allocated", is_allocated), ("reserved", is_reserved)];
    states.iter().filter(|(_, holds)| *holds).map(|(state, _)| *state).collect::<Vec<_>>().join(",")
}

fn taint_rule(object: &Value, view: TableView) -> Vec<String> {
    let taint = &object["spec"]["taint"];
    let added = at(taint, "timeAdded");
    let added = if added.is_some() { view.since(added) } else { String::new() };
    let [key, value, effect] = ["key", "value", "effect"].map(|field| text(taint, field).to_owned());
    vec![name(object), key, value, effect, added, view.age(object)]
}

fn pool_status(object: &Value, view: TableView) -> Vec<String> {
    let end = list(object, "status.conditions")
        .iter()
        .find(|condition| text(condition, "status") == "True" && matches!(text(condition, "type"), "Complete" | "Failed"));
    let pools = list(object, "status.pools");
    let pool_count = int(object, "status.poolCount");
    let end_type = end.map_or("Pending", |end| text(end, "type"));
    let is_known = at(object, "status").is_some() && end_type != "Failed";
    let sum = |field: &str| if is_known { pools.iter().map(|pool| int(pool, field)).sum::<i64>().to_string() } else { "-".to_owned() };
    let errors = pools.iter().filter(|pool| at(pool, "validationError").is_some()).count();
    let status = match end_type {
        "Complete" if pool_count > pools.len() as i64 => format!("Complete ({}/{pool_count} pools)", pools.len()),
        other => other.to_owned(),
    };
    let completed = end.filter(|_| end_type == "Complete").map(|end| view.since(at(end, "lastTransitionTime")));
    vec![
        name(object),
        text(object, "spec.driver").to_owned(),
        sum("totalDevices"),
        sum("availableDevices"),
        sum("allocatedDevices"),
        sum("unavailableDevices"),
        if is_known { errors.to_string() } else { "-".to_owned() },
        pool_count.to_string(),
        status,
        completed.unwrap_or_else(|| "<none>".to_owned()),
    ]
}

/// Up to 1.36 a group names its template in a Workload, and another condition says whether it was scheduled.
fn pod_group(object: &Value, view: TableView) -> Vec<String> {
    let (condition_type, workload) = match view.release {
        Release(..=36) => ("PodGroupScheduled", "spec.podGroupTemplateRef.workload.workloadName"),
        _ => ("PodGroupInitiallyScheduled", WORKLOAD_NAME_FIELD),
    };
    let scheduled = condition(object, condition_type).map(|own| if text(own, "status") == "True" { "Scheduled" } else { "Unschedulable" });
    let disrupted = condition(object, "DisruptionTarget").map(|own| text(own, "reason"));
    let status = disrupted.or(scheduled).unwrap_or("Pending").to_owned();
    vec![name(object), policy(object), text_or(object, workload, "<none>"), status, view.age(object)]
}

fn composite_pod_group(object: &Value, view: TableView) -> Vec<String> {
    vec![name(object), policy(object), text_or(object, WORKLOAD_NAME_FIELD, "<none>"), view.age(object)]
}

fn policy(object: &Value) -> String {
    if at(object, "spec.schedulingPolicy.gang").is_some() { "Gang" } else { "Basic" }.to_owned()
}

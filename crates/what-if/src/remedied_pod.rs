//! A waiting pod as a remedy would have it.

use ketcd_kube::Quantity;
use ketcd_scheduler::Fix;
use serde_json::{Value, json};

use super::amounts::amount;
use super::json::{list, member};

/// Changes the pod; returns whether the change is one of the pod.
pub(super) fn change(pod: &mut Value, fix: &Fix) -> bool {
    let spec = &mut pod["spec"];
    match fix {
        Fix::Tolerate(taint) => {
            let toleration = json!({"key": *taint.key, "operator": "Equal", "value": *taint.value, "effect": *taint.effect});
            let tolerations = list(spec, "/tolerations").iter().cloned().chain([toleration]).collect();
            spec["tolerations"] = tolerations;
        }
        Fix::LowerRequest { resource, by } => lower(spec, resource, *by),
        Fix::DropNodeSelector { key } => drop(member(spec, "nodeSelector").remove(&**key)),
        Fix::DropNodeAffinity => soften(spec, "nodeAffinity"),
        Fix::SoftenAffinity => soften(spec, "podAffinity"),
        Fix::SoftenAntiAffinity => soften(spec, "podAntiAffinity"),
        Fix::SoftenSpread { constraint, .. } => {
            spec["topologySpreadConstraints"][*constraint]["whenUnsatisfiable"] = json!("ScheduleAnyway")
        }
        Fix::HonorTaints { constraint, .. } => spec["topologySpreadConstraints"][*constraint]["nodeTaintsPolicy"] = json!("Honor"),
        Fix::RaiseMaxSkew { constraint, max_skew, .. } => spec["topologySpreadConstraints"][*constraint]["maxSkew"] = json!(max_skew),
        Fix::ChangeHostPort { protocol, port } => free_port(spec, protocol, *port),
        _ => return false,
    }
    true
}

/// Drops what an affinity requires.
fn soften(spec: &mut Value, kind: &str) {
    if let Some(affinity) = spec["affinity"][kind].as_object_mut() {
        affinity.remove("requiredDuringSchedulingIgnoredDuringExecution");
    }
}

/// The containers of a pod, those that run before the others included.
fn containers(spec: &mut Value) -> impl Iterator<Item = &mut Value> {
    let all = spec.as_object_mut().into_iter().flatten().filter(|(field, _)| ["containers", "initContainers"].contains(&field.as_str()));
    all.filter_map(|(_, containers)| containers.as_array_mut()).flatten()
}

/// Gives a host port up: which other one would be taken is open.
fn free_port(spec: &mut Value, protocol: &str, port: i32) {
    for ports in containers(spec).filter_map(|container| container["ports"].as_array_mut()) {
        ports.retain(|one| one["hostPort"] != port || one["protocol"].as_str().unwrap_or("TCP") != protocol);
    }
}

/// Requests less of a resource, of the containers with the largest requests first. `by`: in the scheduler's unit.
fn lower(spec: &mut Value, resource: &str, by: i64) {
    let unit = if resource == "cpu" { "m" } else { "" };
    let of = |requests: &Value| in_unit(amount(&requests[resource]), resource);
    let set = |requests: &mut Value, value: i64| requests[resource] = json!(format!("{}{unit}", value.max(0)));
    let mut left = by;
    let mut running: Vec<&mut Value> = spec["containers"].as_array_mut().into_iter().flatten().collect();
    running.retain(|container| container["resources"]["requests"].get(resource).is_some());
    running.sort_by_key(|container| std::cmp::Reverse(of(&container["resources"]["requests"])));
    for requests in running.into_iter().map(|container| &mut container["resources"]["requests"]) {
        let has = of(requests);
        set(requests, has - left);
        left = (left - has).max(0);
    }
    let early = spec["initContainers"].as_array_mut().into_iter().flatten().map(|container| &mut container["resources"]);
    for resources in early.collect::<Vec<_>>() {
        if let Some(requests) = resources.get_mut("requests").filter(|requests| requests.get(resource).is_some()) {
            let has = of(requests);
            set(requests, has - by);
        }
    }
    if let Some(requests) = spec.get_mut("resources").and_then(|resources| resources.get_mut("requests")) {
        let has = of(requests);
        if requests.get(resource).is_some() {
            set(requests, has - by);
        }
    }
}

/// An amount in the scheduler's unit: thousandths of CPU, whole numbers of everything else.
fn in_unit(amount: Quantity, resource: &str) -> i64 {
    if resource == "cpu" { amount.milli_value() } else { amount.value() }
}

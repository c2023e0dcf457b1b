//! LimitRanger: requests and limits that a namespace gives containers, and the bounds that it sets.
//! Source: `plugin/pkg/admission/limitranger/admission.go` (1.37).

use std::sync::Arc;

use ketcd_kube::Quantity;
use serde_json::{Value, json};

use crate::amounts::{amount, of_pod};
use crate::json::{list, member, text};
use crate::simulated_cluster::SimulatedCluster;

/// Sets what the namespace's LimitRanges give, then checks their bounds.
///
/// # Errors
/// The bounds that the pod is beyond.
pub(super) fn admit(world: &mut SimulatedCluster<'_>, pod: &mut Value, namespace: &str) -> Result<(), String> {
    let ranges: Vec<Arc<Value>> = world.model.ids_in("LimitRange", namespace).iter().filter_map(|id| world.model.get(id)).collect();
    let limits: Vec<&Value> = ranges.iter().flat_map(|range| list(range, "/spec/limits")).collect();
    for limit in limits.iter().filter(|limit| limit["type"] == "Container") {
        for containers in ["containers", "initContainers"] {
            for container in member(pod, "spec").get_mut(containers).and_then(Value::as_array_mut).into_iter().flatten() {
                set(container, "limits", &limit["default"]);
                set(container, "requests", &limit["defaultRequest"]);
            }
        }
    }
    let mut faults = Vec::new();
    for limit in limits {
        match text(limit, "/type") {
            "Container" => {
                let all = list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
                for container in all {
                    let resources = &container["resources"];
                    let of = |which: &str, resource: &str| resources[which].get(resource).map(amount);
                    faults.extend(beyond(limit, "Container", of));
                }
            }
            "Pod" => faults.extend(beyond(limit, "Pod", |which, resource| of_pod(pod, which, resource))),
            _ => {}
        }
    }
    match &faults[..] {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn set(container: &mut Value, which: &str, given: &Value) {
    for (resource, amount) in given.as_object().into_iter().flatten() {
        let resources = container.as_object_mut().map(|container| container.entry("resources").or_insert_with(|| json!({})));
        let Some(resources) = resources else { return };
        member(resources, which).entry(resource).or_insert_with(|| amount.clone());
    }
}

/// What of a LimitRange's item some amounts are beyond (`minConstraint`, `maxConstraint`).
fn beyond(limit: &Value, kind: &str, of: impl Fn(&str, &str) -> Option<Quantity>) -> Vec<String> {
    let mut faults = Vec::new();
    for (resource, least) in limit["min"].as_object().into_iter().flatten() {
        let shown = least.as_str().unwrap_or_default();
        match of("requests", resource) {
            None => faults.push(format!("minimum {resource} usage per {kind} is {shown}.  No request is specified")),
            Some(own) if own < amount(least) => {
                faults.push(format!("minimum {resource} usage per {kind} is {shown}, but request is {}", own));
            }
            Some(_) => {}
        }
    }
    for (resource, most) in limit["max"].as_object().into_iter().flatten() {
        let shown = most.as_str().unwrap_or_default();
        match (of("limits", resource), of("requests", resource)) {
            (None, _) => faults.push(format!("maximum {resource} usage per {kind} is {shown}.  No limit is specified")),
            (Some(own), _) if own > amount(most) => {
                faults.push(format!("maximum {resource} usage per {kind} is {shown}, but limit is {}", own));
            }
            (_, Some(own)) if own > amount(most) => {
                faults.push(format!("maximum {resource} usage per {kind} is {shown}, but request is {}", own));
            }
            _ => {}
        }
    }
    faults
}

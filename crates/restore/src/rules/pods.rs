//! Rules for Pods: what the scheduler and admission set.

use serde_json::{Map, Value};

use super::edit::{members, remove, remove_items};
use crate::identity::is;
use crate::pod_template::containers;

/// Where admission mounts a ServiceAccount's token (`plugin/pkg/admission/serviceaccount`).
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

fn spec(object: &mut Value) -> Option<&mut Map<String, Value>> {
    if is(object, "", "Pod") { members(object, "/spec") } else { None }
}

/// Whether a Pod names a class of this sort.
fn has_class(object: &Value, class: &str) -> bool {
    is(object, "", "Pod") && object["spec"][class].as_str().is_some_and(|name| !name.is_empty())
}

pub(super) fn node_name(object: &mut Value) -> bool {
    spec(object).is_some_and(|spec| spec.remove("nodeName").is_some())
}

pub(super) fn token_volumes(object: &mut Value) -> bool {
    let Some(spec) = spec(object) else { return false };
    let generated: Vec<String> = spec
        .get("volumes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|volume| is_generated(volume))
        .filter_map(|volume| volume["name"].as_str().map(str::to_owned))
        .collect();
    if generated.is_empty() || is_mounted_elsewhere(spec, &generated) {
        return false;
    }
    let is_it = |item: &Value, field: &str| item[field].as_str().is_some_and(|name| generated.iter().any(|own| own == name));
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let items = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in items.into_iter().flatten().filter_map(Value::as_object_mut) {
            remove_items(container, "volumeMounts", |mount| is_it(mount, "name"));
        }
    }
    remove_items(spec, "volumes", |volume| is_it(volume, "name"))
}

/// Whether a volume is one that admission adds: `kube-api-access-xxxxx`, or up to 1.20 the Secret `ACCOUNT-token-xxxxx` under its own name.
fn is_generated(volume: &Value) -> bool {
    let name = volume["name"].as_str().unwrap_or_default();
    let is_projected = name.strip_prefix("kube-api-access-").is_some_and(is_random) && volume["projected"].is_object();
    let is_secret = volume["secret"]["secretName"] == name && name.rsplit_once("-token-").is_some_and(|(_, end)| is_random(end));
    is_projected || is_secret
}

/// Whether it is the suffix of a generated name.
fn is_random(end: &str) -> bool {
    crate::identity::is_generated_suffix(end)
}

/// Whether a container has one of the volumes at a path of its own choice: then it is the user's.
fn is_mounted_elsewhere(spec: &Map<String, Value>, volumes: &[String]) -> bool {
    let spec = Value::Object(spec.clone());
    let mut mounts = containers(&spec).flat_map(|container| container["volumeMounts"].as_array().into_iter().flatten());
    mounts.any(|mount| mount["mountPath"] != TOKEN_PATH && volumes.iter().any(|name| mount["name"] == name.as_str()))
}

pub(super) fn priority(object: &mut Value) -> bool {
    let by_class: &[&str] = if has_class(object, "priorityClassName") { &["priority", "preemptionPolicy"] } else { &["priority"] };
    is(object, "", "Pod") && remove(object, "/spec", by_class)
}

pub(super) fn overhead(object: &mut Value) -> bool {
    has_class(object, "runtimeClassName") && remove(object, "/spec", &["overhead"])
}

pub(super) fn ephemeral_containers(object: &mut Value) -> bool {
    spec(object).is_some_and(|spec| spec.remove("ephemeralContainers").is_some())
}

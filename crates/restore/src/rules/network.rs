//! Rules for Services and for the addresses of Nodes' pods.

use serde_json::Value;

use super::edit::{members, remove};
use crate::identity::is;

pub(super) fn cluster_ip(object: &mut Value) -> bool {
    is(object, "", "Service") && object["spec"]["clusterIP"] != "None" && remove(object, "/spec", &["clusterIP", "clusterIPs"])
}

pub(super) fn node_port(object: &mut Value) -> bool {
    if !is(object, "", "Service") {
        return false;
    }
    let Some(spec) = members(object, "/spec") else { return false };
    let mut is_changed = spec.remove("healthCheckNodePort").is_some();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        is_changed |= port.remove("nodePort").is_some();
    }
    is_changed
}

pub(super) fn pod_cidr(object: &mut Value) -> bool {
    is(object, "", "Node") && remove(object, "/spec", &["podCIDR", "podCIDRs"])
}

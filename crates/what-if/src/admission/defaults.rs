//! The defaults of a pod's fields that matter to scheduling and to its end. Source: `pkg/apis/core/v1/defaults.go` (1.37).

use serde_json::{Value, json};

use crate::json::member;

pub(super) fn set(pod: &mut Value) {
    let spec = member(pod, "spec");
    for (field, value) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("schedulerName", json!("default-scheduler")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("serviceAccountName", json!("default")),
    ] {
        let slot = spec.entry(field).or_insert(Value::Null);
        if slot.is_null() || *slot == "" {
            *slot = value;
        }
    }
    let on_host = spec.get("hostNetwork").is_some_and(|on| *on == true);
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            set_container(container, on_host);
        }
    }
}

/// A limit without a request is requested too; ports are TCP, and on the host's network the host's (`SetDefaults_Pod`, `defaultHostNetworkPorts`).
fn set_container(container: &mut Value, on_host: bool) {
    if let Some(limits) = container.pointer("/resources/limits").and_then(Value::as_object).cloned() {
        let requests = member(&mut container["resources"], "requests");
        limits.into_iter().for_each(|(resource, amount)| {
            requests.entry(resource).or_insert(amount);
        });
    }
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if port["protocol"].is_null() {
            port["protocol"] = json!("TCP");
        }
        if on_host && port["hostPort"].is_null() {
            port["hostPort"] = port["containerPort"].clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_set_and_the_rest_stays() {
        let container = json!({"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}});
        let mut pod = json!({"spec": {"schedulerName": "own", "hostNetwork": true, "containers": [container]}});
        pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
        set(&mut pod);
        let spec = &pod["spec"];
        assert_eq!((&spec["schedulerName"], &spec["terminationGracePeriodSeconds"]), (&json!("own"), &json!(30)));
        assert_eq!(spec["containers"][0]["resources"]["requests"], json!({"cpu": "1", "memory": "1Gi"}));
        assert_eq!(spec["containers"][0]["ports"][0], json!({"containerPort": 80, "hostPort": 80, "protocol": "TCP"}));
    }
}

//! What a pod requests, or is limited to, of a resource: sums over its containers, as quotas count them.
//! Source: `component-helpers/resource/helpers.go` PodRequests, PodLimits (1.37).

use ketcd_kube::Quantity;
use serde_json::Value;

use super::json::list;

/// An amount; zero where the text is not a quantity.
pub(super) fn amount(amount: &Value) -> Quantity {
    match amount {
        Value::String(text) => text.parse().unwrap_or(Quantity::ZERO),
        Value::Number(number) => number.to_string().parse().unwrap_or(Quantity::ZERO),
        _ => Quantity::ZERO,
    }
}

pub(super) fn sum(one: Quantity, other: Quantity) -> Quantity {
    one.checked_add(&other).unwrap_or(one)
}

/// What a pod's containers have of a resource in `requests` or `limits`, overhead included; `None` where none names it.
pub(super) fn of_pod(pod: &Value, which: &str, resource: &str) -> Option<Quantity> {
    let of = |container: &Value| container.pointer(&format!("/resources/{which}")).and_then(|all| all.get(resource)).map(amount);
    let (mut running, mut sidecars, mut init, mut is_named) = (Quantity::ZERO, Quantity::ZERO, Quantity::ZERO, false);
    for container in list(pod, "/spec/containers") {
        is_named |= of(container).is_some();
        running = sum(running, of(container).unwrap_or(Quantity::ZERO));
    }
    for container in list(pod, "/spec/initContainers") {
        is_named |= of(container).is_some();
        let own = sum(sidecars, of(container).unwrap_or(Quantity::ZERO));
        if container["restartPolicy"] == "Always" {
            sidecars = own;
        }
        init = init.max(own);
    }
    let pod_level = pod.pointer(&format!("/spec/resources/{which}")).and_then(|all| all.get(resource)).map(amount);
    let overhead = pod.pointer("/spec/overhead").and_then(|all| all.get(resource)).map_or(Quantity::ZERO, amount);
    let own = pod_level.unwrap_or_else(|| init.max(sum(running, sidecars)));
    (is_named || pod_level.is_some()).then(|| sum(own, overhead))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sidecars_run_with_the_containers_and_with_the_init_containers_after_them() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = container("200m");
        sidecar["restartPolicy"] = json!("Always");
        let mut pod = json!({"spec": {"containers": [container("1")], "initContainers": [sidecar, container("3")]}});
        assert_eq!(of_pod(&pod, "requests", "cpu"), Some("3200m".parse().unwrap()));
        pod["spec"]["overhead"] = json!({"cpu": "100m"});
        assert_eq!(of_pod(&pod, "requests", "cpu"), Some("3300m".parse().unwrap()));
        assert_eq!(of_pod(&pod, "limits", "cpu"), None);
    }
}

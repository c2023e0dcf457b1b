//! ResourceQuota: whether a namespace's quotas leave room for a pod. What is used is counted from the pods that are there.
//! Source: `plugin/pkg/admission/resourcequota/controller.go`, `pkg/quota/v1/evaluator/core/pods.go` (1.37).

use std::collections::HashMap;
use std::sync::Arc;

use ketcd_kube::{Format, Quantity};
use serde_json::Value;

use crate::amounts::{amount, of_pod, sum};
use crate::json::{list, number, text};
use crate::quota_shapes::QuotaShape;
use crate::simulated_cluster::SimulatedCluster;

/// Checks every quota of the namespace that the pod is in the scope of.
///
/// # Errors
/// What the pod exceeds, or has to say.
pub(super) fn admit(world: &mut SimulatedCluster<'_>, pod: &Value, namespace: &str) -> Result<(), String> {
    let quotas: Vec<Arc<Value>> = world.model.ids_in("ResourceQuota", namespace).iter().filter_map(|id| world.model.get(id)).collect();
    if quotas.is_empty() {
        return Ok(());
    }
    let mut taken = Taken::of(counted(world, namespace));
    for quota in quotas.iter().filter(|quota| is_in_scope(quota, pod)) {
        let name = text(quota, "/metadata/name");
        let (mut requested, mut used, mut limited) = (Vec::new(), Vec::new(), Vec::new());
        for (resource, hard) in quota.pointer("/spec/hard").and_then(Value::as_object).into_iter().flatten() {
            let Some(own) = usage(pod, resource) else { continue };
            if own.is_zero() && must_be_named(pod, resource) {
                return Err(format!("failed quota: {name}: must specify {resource}"));
            }
            let taken = taken.of_quota(quota, resource);
            if !own.is_zero() && sum(taken, own) > amount(hard) {
                requested.push(format!("{resource}={own}"));
                used.push(format!("{resource}={taken}"));
                limited.push(format!("{resource}={}", hard.as_str().map_or_else(|| hard.to_string(), str::to_owned)));
            }
        }
        if !requested.is_empty() {
            let [requested, used, limited] = [requested, used, limited].map(|parts| parts.join(","));
            return Err(format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"));
        }
    }
    Ok(())
}

/// What the pods of a namespace take. A namespace may have thousands of quotas: those of one scope ask for the same sums.
struct Taken {
    /// What quotas read of the pods, each with how many pods have the same.
    pods: Vec<(QuotaShape, usize)>,
    /// The sums, by scope and resource.
    sums: HashMap<(String, String), Quantity>,
}

impl Taken {
    fn of(pods: Vec<(QuotaShape, usize)>) -> Self {
        Self { pods, sums: HashMap::new() }
    }

    /// What the pods in the scope of a quota take of a resource.
    fn of_quota(&mut self, quota: &Value, resource: &str) -> Quantity {
        let scope = format!("{} {}", quota["spec"]["scopes"], quota["spec"]["scopeSelector"]);
        let pods = &self.pods;
        *self.sums.entry((scope, resource.to_owned())).or_insert_with(|| {
            let in_scope = pods.iter().filter(|(pod, _)| is_in_scope(quota, pod));
            in_scope.filter_map(|(pod, pods)| times(usage(pod, resource)?, *pods)).fold(Quantity::ZERO, sum)
        })
    }
}

/// The sum of this many equal amounts, in as many steps as the number has binary digits; `None` of none.
fn times(amount: Quantity, mut count: usize) -> Option<Quantity> {
    let (mut total, mut doubled) = (None, amount);
    while count > 0 {
        if count % 2 == 1 {
            total = Some(total.map_or(doubled, |total| sum(total, doubled)));
        }
        count /= 2;
        if count > 0 {
            doubled = sum(doubled, doubled);
        }
    }
    total
}

/// What quotas read of the pods of a namespace that have not ended, in order, each with how many pods have the same.
fn counted(world: &mut SimulatedCluster<'_>, namespace: &str) -> Vec<(QuotaShape, usize)> {
    let (mut counted, mut places) = (Vec::new(), HashMap::new());
    for id in world.model.ids_in("Pod", namespace) {
        if world.model.pod_state(&id).is_some_and(|pod| !pod.is_finished)
            && let Some(shape) = world.model.quota_shape(&id)
        {
            let place = *places.entry(Arc::as_ptr(&shape)).or_insert_with(|| {
                counted.push((shape, 0));
                counted.len() - 1
            });
            counted[place].1 += 1;
        }
    }
    counted
}

/// What a pod uses of a quota's resource; `None` where pods use none of it.
fn usage(pod: &Value, resource: &str) -> Option<Quantity> {
    match resource {
        "pods" | "count/pods" => Some(Quantity::new(1, Format::DecimalSI)),
        "cpu" | "memory" | "ephemeral-storage" => Some(of_pod(pod, "requests", resource).unwrap_or(Quantity::ZERO)),
        other => match other.split_once('.') {
            Some(("requests", of)) if of != "storage" => Some(of_pod(pod, "requests", of).unwrap_or(Quantity::ZERO)),
            Some(("limits", of)) => Some(of_pod(pod, "limits", of).unwrap_or(Quantity::ZERO)),
            _ => None,
        },
    }
}

/// Whether a pod has to say what it wants of a resource that a quota limits (`PodConstraintsFunc`).
fn must_be_named(pod: &Value, resource: &str) -> bool {
    let (which, of) = match resource.split_once('.') {
        Some((which @ ("requests" | "limits"), of)) => (which, of),
        _ => ("requests", resource),
    };
    matches!(of, "cpu" | "memory") && of_pod(pod, which, of).is_none()
}

/// Whether a quota counts a pod (`podMatchesScopeFunc`).
fn is_in_scope(quota: &Value, pod: &Value) -> bool {
    let best_effort = || {
        ["requests", "limits"]
            .iter()
            .all(|which| ["cpu", "memory"].iter().all(|of| of_pod(pod, which, of).is_none_or(|amount| amount.is_zero())))
    };
    let is_terminating = || number(pod, "/spec/activeDeadlineSeconds").is_some();
    let class = text(pod, "/spec/priorityClassName");
    let scope = |scope: &str| match scope {
        "BestEffort" => best_effort(),
        "NotBestEffort" => !best_effort(),
        "Terminating" => is_terminating(),
        "NotTerminating" => !is_terminating(),
        _ => true,
    };
    let selected = |expression: &Value| {
        let values = list(expression, "/values");
        match (text(expression, "/scopeName"), text(expression, "/operator")) {
            ("PriorityClass", "In") => values.iter().any(|value| value == class),
            ("PriorityClass", "NotIn") => values.iter().all(|value| value != class),
            ("PriorityClass", "Exists") => !class.is_empty(),
            ("PriorityClass", _) => class.is_empty(),
            (name, _) => scope(name),
        }
    };
    list(quota, "/spec/scopes").iter().filter_map(Value::as_str).all(scope)
        && list(quota, "/spec/scopeSelector/matchExpressions").iter().all(selected)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shape(class: &str, cpu: &str) -> QuotaShape {
        let containers = json!([{"resources": {"requests": {"cpu": cpu}}}]);
        Arc::new(json!({"spec": {"priorityClassName": class, "containers": containers}}))
    }

    fn quota(number: usize, scope: &Value) -> Value {
        json!({"metadata": {"name": format!("q{number}")}, "spec": {"hard": {"cpu": "1k"}, "scopeSelector": scope}})
    }

    #[test]
    fn as_many_equal_amounts_are_what_their_sum_is() {
        let amount: Quantity = "1500m".parse().unwrap();
        for count in [1, 2, 3, 7, 100] {
            let one_by_one = (0..count).fold(Quantity::ZERO, |total, _| sum(total, amount));
            assert_eq!(times(amount, count).unwrap().to_string(), one_by_one.to_string(), "{count}");
        }
        assert!(times(amount, 0).is_none());
    }

    #[test]
    fn quotas_of_one_scope_are_summed_up_once() {
        let pods: Vec<(QuotaShape, usize)> = (0..300).map(|number| (shape(&format!("class{number}"), "100m"), 2)).collect();
        let mut taken = Taken::of(pods);
        let of_class = |class: &str| json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": [class]}]});
        for number in 0..2_000 {
            assert_eq!(taken.of_quota(&quota(number, &Value::Null), "cpu").to_string(), "60");
            assert_eq!(taken.of_quota(&quota(number, &of_class("class7")), "cpu").to_string(), "200m");
        }
        assert_eq!(taken.of_quota(&quota(0, &Value::Null), "pods").to_string(), "600");
        assert_eq!(taken.sums.len(), 3, "one sum for each scope and resource");
    }
}

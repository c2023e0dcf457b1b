//! How many disruptions each PodDisruptionBudget allows. Source: `pkg/controller/disruption/disruption.go` (1.37).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ketcd_kube::LabelSelector;
use serde_json::{Value, json};

use crate::simulate::json::{controller, list, member, number, scaled, text};
use crate::simulate::model::{Id, PodState};
use crate::simulate::world::World;

/// Counts the budgets of a namespace again.
pub(in crate::simulate) fn sync(world: &mut World<'_>, namespace: &str) {
    for id in world.model.ids_in("PodDisruptionBudget", namespace) {
        let Some(budget) = world.model.get(&id) else { continue };
        let pods = selected(world, &budget);
        let Some((expected, desired)) = expected(world, &budget, &pods) else {
            allow_none(world, &budget);
            continue;
        };
        let is_healthy = |id: &&Id| world.model.pod_state(id).is_some_and(PodState::is_healthy);
        let healthy = pods.iter().filter(is_healthy).count();
        let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
        let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
        let before = &budget["status"];
        if number(before, "/disruptionsAllowed").unwrap_or(0) == allowed && number(before, "/currentHealthy") == Some(healthy) {
            continue;
        }
        let mut budget = (*budget).clone();
        let generation = budget["metadata"]["generation"].clone();
        let status = member(&mut budget, "status");
        status.remove("disruptedPods");
        for (field, value) in
            [("disruptionsAllowed", allowed), ("currentHealthy", healthy), ("desiredHealthy", desired), ("expectedPods", expected)]
        {
            status.insert(field.to_owned(), json!(value));
        }
        status.insert("observedGeneration".to_owned(), generation);
        world.model.put(budget);
    }
}

/// Writes that a budget allows no disruption, as its pods cannot be counted.
fn allow_none(world: &mut World<'_>, budget: &Value) {
    if number(budget, "/status/disruptionsAllowed").unwrap_or(0) > 0 {
        let mut budget = budget.clone();
        member(&mut budget, "status").insert("disruptionsAllowed".to_owned(), json!(0));
        world.model.put(budget);
    }
}

/// The pods that a budget selects; one without a selector selects none, an empty one all (policy/v1).
fn selected(world: &mut World<'_>, budget: &Value) -> Vec<Id> {
    let Some(selector) = budget["spec"].get("selector").filter(|selector| selector.is_object()) else { return Vec::new() };
    let Some(selector) = LabelSelector::from_object(selector) else { return Vec::new() };
    let mut ids = world.model.ids_in("Pod", text(budget, "/metadata/namespace"));
    ids.retain(|id| world.model.pod(id).is_some_and(|pod| selector.matches(pod.labels())));
    ids.retain(|id| world.model.pod_state(id).is_some_and(|pod| !pod.is_finished));
    ids
}

/// How many pods there should be, and how many have to be healthy (`getExpectedPodCount`); `None` where a controller's scale is not known.
fn expected(world: &mut World<'_>, budget: &Value, pods: &[Id]) -> Option<(i64, i64)> {
    let spec = &budget["spec"];
    if !spec["maxUnavailable"].is_null() {
        let expected = scale(world, budget, pods)?;
        return Some((expected, (expected - scaled(&spec["maxUnavailable"], expected, true)?).max(0)));
    }
    match &spec["minAvailable"] {
        Value::Null => Some((i64::try_from(pods.len()).ok()?, 0)),
        whole @ Value::Number(_) => Some((i64::try_from(pods.len()).ok()?, whole.as_i64()?)),
        share => {
            let expected = scale(world, budget, pods)?;
            Some((expected, scaled(share, expected, true)?))
        }
    }
}

/// Kinds that have a scale.
const SCALED: [&str; 3] = ["ReplicaSet", "ReplicationController", "StatefulSet"];
/// Kinds that have none: where the controller needs it, it allows no disruption (`failSafe`).
const UNSCALED: [&str; 3] = ["DaemonSet", "Job", "Node"];

/// The sum of the scales of the controllers of some pods (`getExpectedScale`).
fn scale(world: &mut World<'_>, budget: &Value, pods: &[Id]) -> Option<i64> {
    let mut scales: BTreeMap<Id, i64> = BTreeMap::new();
    let mut counted: BTreeSet<String> = BTreeSet::new();
    for pod in pods {
        let uid = world.model.pod(pod).and_then(|pod| pod.controller_uid());
        if uid.is_none_or(|uid| !counted.insert(uid.to_owned())) {
            continue;
        }
        let pod = world.model.get(pod)?;
        let Some(owner) = controller(&pod) else { continue };
        let mut id = Id::new(text(owner, "/kind"), text(&pod, "/metadata/namespace"), text(owner, "/name"));
        if UNSCALED.contains(&&*id.kind) {
            return None;
        }
        if !SCALED.contains(&&*id.kind) {
            // A custom resource may have a scale: the one that the controller read last.
            return number(budget, "/status/expectedPods");
        }
        let mut object = world.model.get(&id)?;
        if let Some(above) = controller(&object).filter(|above| above["kind"] == "Deployment") {
            id = Id::new("Deployment", &id.namespace, text(above, "/name"));
            object = world.model.get(&id)?;
        }
        scales.insert(id, number(&object, "/spec/replicas").unwrap_or(1));
    }
    Some(scales.values().sum())
}

/// The budgets that select a pod.
pub(in crate::simulate) fn of_pod(world: &mut World<'_>, id: &Id) -> Vec<Arc<Value>> {
    let budgets: Vec<Arc<Value>> =
        world.model.ids_in("PodDisruptionBudget", &id.namespace).iter().filter_map(|id| world.model.get(id)).collect();
    let Some(pod) = world.model.pod(id) else { return Vec::new() };
    let selects = |budget: &Arc<Value>| {
        let selector = budget["spec"].get("selector").filter(|selector| selector.is_object());
        selector.and_then(LabelSelector::from_object).is_some_and(|selector| selector.matches(pod.labels()))
    };
    let mut found: Vec<Arc<Value>> = budgets.into_iter().filter(selects).collect();
    found.retain(|budget| list(budget, "/metadata/deletionTimestamp").is_empty());
    found
}

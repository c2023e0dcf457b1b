//! How many disruptions each PodDisruptionBudget allows. Source: `pkg/controller/disruption/disruption.go` (1.37).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ketcd_kube::{LabelSelector, Operator, Requirement};
use ketcd_scheduler::cluster::PodInfo;
use serde_json::{Value, json};

use crate::json::{controller, member, number, scaled, text};
use crate::model::{Id, PodState};
use crate::simulated_cluster::SimulatedCluster;

/// Counts the budgets of the namespaces in which something changed since they were counted.
///
/// Only evictions and preemptions read what budgets allow: they are counted when the cluster comes to rest, and before a pod is tried that may need room
/// made, not after each change. The count depends on nothing but the objects that are there, so it is the same.
pub(crate) fn count(world: &mut SimulatedCluster<'_>) {
    for namespace in std::mem::take(&mut world.uncounted) {
        count_in(world, &namespace);
    }
}

fn count_in(world: &mut SimulatedCluster<'_>, namespace: &str) {
    let budgets = world.model.ids_in("PodDisruptionBudget", namespace);
    if budgets.is_empty() {
        return;
    }
    let mut pods = Pods::of(world, namespace);
    for id in budgets {
        let Some(budget) = world.model.get(&id) else { continue };
        let selected = world.model.selector(&id).map_or_else(Vec::new, |selector| pods.selected(&selector));
        let selected: Vec<&CountedPod> = selected.into_iter().map(|place| &pods.all[place]).collect();
        let Some((expected, desired)) = expected(world, &budget, &selected) else {
            allow_none(world, &budget);
            continue;
        };
        let healthy = selected.iter().filter(|pod| pod.is_healthy).count();
        let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
        let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
        write_status(world, &budget, [allowed, healthy, desired, expected]);
    }
}

/// The fields of a budget's status, in the order in which they are counted.
const STATUS_COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/// Writes what was counted, unless it stands there (`updatePdbStatus`).
fn write_status(world: &mut SimulatedCluster<'_>, budget: &Value, counts: [i64; 4]) {
    let before = &budget["status"];
    let stands = |(field, value): (&str, i64)| before.get(field).and_then(Value::as_i64) == Some(value);
    if STATUS_COUNTS.into_iter().zip(counts).all(stands) && before.get("disruptedPods").is_none() {
        return;
    }
    let mut budget = budget.clone();
    let generation = budget["metadata"]["generation"].clone();
    let status = member(&mut budget, "status");
    status.remove("disruptedPods");
    for (field, value) in STATUS_COUNTS.into_iter().zip(counts) {
        status.insert(field.to_owned(), json!(value));
    }
    status.insert("observedGeneration".to_owned(), generation);
    world.model.put(budget);
}

struct CountedPod {
    id: Id,
    info: Arc<PodInfo>,
    is_healthy: bool,
}

/// The pods of a namespace that have not ended. A namespace may have thousands of budgets: each is compared with the pods that have one of its labels.
struct Pods {
    all: Vec<CountedPod>,
    /// Their places, by label and value, for the labels that were looked up.
    by_label: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    /// How often a selector was compared with a pod.
    #[cfg(test)]
    compared: usize,
}

impl Pods {
    fn of(world: &mut SimulatedCluster<'_>, namespace: &str) -> Self {
        let mut all = Vec::new();
        for id in world.model.ids_in("Pod", namespace) {
            let Some(info) = world.model.pod(&id).cloned() else { continue };
            if let Some(state) = world.model.pod_state(&id).filter(|state| !state.is_finished) {
                all.push(CountedPod { id, info, is_healthy: PodState::is_healthy(state) });
            }
        }
        Self {
            all,
            by_label: BTreeMap::new(),
            #[cfg(test)]
            compared: 0,
        }
    }

    /// The places of the pods that a selector selects, in order.
    fn selected(&mut self, selector: &LabelSelector) -> Vec<usize> {
        let is_equality = |requirement: &&Requirement| requirement.operator == Operator::In && requirement.values.len() == 1;
        let near = match selector.requirements.iter().find(is_equality) {
            Some(equality) => self.with_label(&equality.key, &equality.values[0]),
            None => (0..self.all.len()).collect(),
        };
        #[cfg(test)]
        {
            self.compared += near.len();
        }
        near.into_iter().filter(|place| selector.matches(self.all[*place].info.labels())).collect()
    }

    fn with_label(&mut self, key: &str, value: &str) -> Vec<usize> {
        if !self.by_label.contains_key(key) {
            let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (place, pod) in self.all.iter().enumerate() {
                if let Some(value) = pod.info.labels().get(key) {
                    places.entry(value.to_owned()).or_default().push(place);
                }
            }
            self.by_label.insert(key.to_owned(), places);
        }
        self.by_label.get(key).and_then(|places| places.get(value)).cloned().unwrap_or_default()
    }
}

/// Writes that a budget allows no disruption, as its pods cannot be counted.
fn allow_none(world: &mut SimulatedCluster<'_>, budget: &Value) {
    if number(budget, "/status/disruptionsAllowed").unwrap_or(0) > 0 {
        let mut budget = budget.clone();
        member(&mut budget, "status").insert("disruptionsAllowed".to_owned(), json!(0));
        world.model.put(budget);
    }
}

/// How many pods there should be, and how many have to be healthy (`getExpectedPodCount`); `None` where a controller's scale is not known.
fn expected(world: &mut SimulatedCluster<'_>, budget: &Value, pods: &[&CountedPod]) -> Option<(i64, i64)> {
    let spec = &budget["spec"];
    if !spec["maxUnavailable"].is_null() {
        let expected = scale(world, budget, pods)?;
        return Some((expected, (expected - scaled(&spec["maxUnavailable"], expected, true)?).max(0)));
    }
    match &spec["minAvailable"] {
        Value::Null => Some((i64::try_from(pods.len()).ok()?, 0)),
        Value::Number(_) => Some((i64::try_from(pods.len()).ok()?, number(spec, "/minAvailable")?)),
        share => {
            let expected = scale(world, budget, pods)?;
            Some((expected, scaled(share, expected, true)?))
        }
    }
}

const SCALED_KINDS: [&str; 3] = ["ReplicaSet", "ReplicationController", "StatefulSet"];
/// Kinds that have none: where the controller needs it, it allows no disruption (`failSafe`).
const UNSCALED_KINDS: [&str; 3] = ["DaemonSet", "Job", "Node"];

/// The sum of the scales of the controllers of some pods (`getExpectedScale`).
fn scale(world: &mut SimulatedCluster<'_>, budget: &Value, pods: &[&CountedPod]) -> Option<i64> {
    let mut scales: BTreeMap<Id, i64> = BTreeMap::new();
    let mut counted: BTreeSet<String> = BTreeSet::new();
    for pod in pods {
        if pod.info.controller_uid().is_none_or(|uid| !counted.insert(uid.to_owned())) {
            continue;
        }
        let pod = world.model.get(&pod.id)?;
        let Some(owner) = controller(&pod) else { continue };
        let mut id = Id::new(text(owner, "/kind"), text(&pod, "/metadata/namespace"), text(owner, "/name"));
        if UNSCALED_KINDS.contains(&&*id.kind) {
            return None;
        }
        if !SCALED_KINDS.contains(&&*id.kind) {
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

/// The budgets that select a pod. One without a selector selects none, an empty one all (policy/v1).
pub(crate) fn of_pod(world: &mut SimulatedCluster<'_>, id: &Id) -> Vec<Arc<Value>> {
    let Some(pod) = world.model.pod(id).cloned() else { return Vec::new() };
    let mut budgets = world.model.ids_in("PodDisruptionBudget", &id.namespace);
    budgets.retain(|budget| world.model.selector(budget).is_some_and(|selector| selector.matches(pod.labels())));
    budgets.iter().filter_map(|budget| world.model.get(budget)).collect()
}

#[cfg(test)]
mod tests {
    use ketcd_kube::Decoder;
    use ketcd_scheduler::cluster::ClusterState;
    use ketcd_scheduler::{Release, Scheduler, VersionEvidence, VersionFrom};

    use super::*;
    use crate::model::Model;

    const POD_COUNT: usize = 300;
    const BUDGET_COUNT: usize = 3_000;

    fn pod(name: &str, is_ready: bool) -> Value {
        let status = if is_ready { "True" } else { "False" };
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "lab", "labels": {"app": name, "tier": "all"}},
            "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}})
    }

    fn budget(name: &str, selector: &Value) -> Value {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "lab"},
            "spec": {"minAvailable": 0, "selector": selector}})
    }

    /// A namespace with one budget for each pod, and many more that select nothing.
    fn filled(decoder: &Decoder) -> SimulatedCluster<'_> {
        let scheduler = Scheduler::with_defaults(VersionFrom { release: Release(37), patch: None, evidence: VersionEvidence::Given });
        let mut model = Model::new(ClusterState::new(scheduler.profiles[0].rules.requests), decoder, 1);
        (0..POD_COUNT).for_each(|number| model.put(pod(&format!("p{number}"), true)));
        (0..BUDGET_COUNT).for_each(|number| {
            model.put(budget(&format!("b{number}"), &json!({"matchLabels": {"app": format!("p{number}"), "tier": "all"}})));
        });
        SimulatedCluster::new(model, scheduler, 0)
    }

    fn healthy(world: &mut SimulatedCluster<'_>, name: &str) -> Option<i64> {
        let budget = world.model.get(&Id::new("PodDisruptionBudget", "lab", name))?;
        number(&budget, "/status/currentHealthy")
    }

    #[test]
    fn each_budget_is_compared_with_the_pods_that_have_one_of_its_labels() {
        let decoder = Decoder::new();
        let mut world = filled(&decoder);
        let mut pods = Pods::of(&mut world, "lab");
        let budgets = world.model.ids_in("PodDisruptionBudget", "lab");
        let selectors: Vec<_> = budgets.iter().filter_map(|id| world.model.selector(id)).collect();
        let selected: usize = selectors.iter().map(|selector| pods.selected(selector).len()).sum();
        assert_eq!((selectors.len(), selected, pods.compared), (BUDGET_COUNT, POD_COUNT, POD_COUNT));
        let all = LabelSelector::from_object(&json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["p0"]}]}));
        assert_eq!(pods.selected(&all.unwrap()).len(), POD_COUNT - 1);
    }

    #[test]
    fn budgets_are_counted_once_however_much_changed() {
        let decoder = Decoder::new();
        let mut world = filled(&decoder);
        world.uncounted.insert("lab".to_owned());
        count(&mut world);
        assert_eq!((healthy(&mut world, "b7"), healthy(&mut world, "b2999")), (Some(1), Some(0)));
        world.update_pod(pod("p7", false));
        assert_eq!(healthy(&mut world, "b7"), Some(1), "nothing asks yet");
        world.uncounted.insert("lab".to_owned());
        count(&mut world);
        assert!(world.uncounted.is_empty());
        assert_eq!((healthy(&mut world, "b7"), healthy(&mut world, "b8")), (Some(0), Some(1)));
    }

    #[test]
    fn a_budget_of_another_selector_selects_other_pods() {
        let decoder = Decoder::new();
        let mut world = filled(&decoder);
        let of = |world: &mut SimulatedCluster<'_>| of_pod(world, &Id::pod("lab", "p1")).len();
        assert_eq!(of(&mut world), 1);
        let mark = world.mark();
        world.model.put(budget("b2", &json!({})));
        world.model.put(budget("b3", &Value::Null));
        assert_eq!(of(&mut world), 2);
        world.back(mark);
        assert_eq!(of(&mut world), 1);
    }
}

//! Nodes that are cordoned, tainted or silent: the taints that the controllers write, and the pods that have to leave.
//! Source: `pkg/controller/nodelifecycle/node_lifecycle_controller.go`, `pkg/controller/tainteviction/taint_eviction.go` (1.37).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::{Happening, Unmodelled};
use crate::in_memory_state::Due;
use crate::json::{is_condition_true, is_finished, is_terminating, list, member, number, set_condition, text};
use crate::model::Id;
use crate::seed::Choices;
use crate::simulated_cluster::SimulatedCluster;

const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";
/// The taint of a node that does not answer.
const UNREACHABLE_TAINT: &str = "node.kubernetes.io/unreachable";

/// Cordons a node or takes the cordon off; the taint follows.
pub(crate) fn cordon(world: &mut SimulatedCluster<'_>, name: &str, is_on: bool) {
    let id = Id::new("Node", "", name);
    let Some(node) = world.model.get(&id) else { return };
    let mut node = (*node).clone();
    let spec = member(&mut node, "spec");
    match is_on {
        true => spec.insert("unschedulable".to_owned(), json!(true)),
        false => spec.remove("unschedulable"),
    };
    world.write_node(node);
    match is_on {
        true => mark(world, name, &json!({"key": CORDON_TAINT, "effect": "NoSchedule"})),
        false => untaint(world, name, CORDON_TAINT, None),
    }
}

/// Taints a node; the pods leave that do not tolerate it.
pub(crate) fn taint(world: &mut SimulatedCluster<'_>, name: &str, taint: &Value, choices: &mut Choices) {
    mark(world, name, taint);
    if taint["effect"] == "NoExecute" {
        evict(world, name, choices);
    }
}

/// Writes a taint of a node; one with the same key and effect is replaced.
fn mark(world: &mut SimulatedCluster<'_>, name: &str, taint: &Value) {
    let Some(node) = world.model.get(&Id::new("Node", "", name)) else { return };
    let mut node = (*node).clone();
    let taints = member(&mut node, "spec").entry("taints").or_insert_with(|| json!([]));
    if let Some(taints) = taints.as_array_mut() {
        taints.retain(|known| known["key"] != taint["key"] || known["effect"] != taint["effect"]);
        taints.push(taint.clone());
    }
    world.write_node(node);
}

/// Takes a taint off a node, of one effect or of any.
pub(crate) fn untaint(world: &mut SimulatedCluster<'_>, name: &str, key: &str, effect: Option<&str>) {
    let Some(node) = world.model.get(&Id::new("Node", "", name)) else { return };
    let mut node = (*node).clone();
    if let Some(taints) = member(&mut node, "spec").get_mut("taints").and_then(Value::as_array_mut) {
        taints.retain(|taint| taint["key"] != key || effect.is_some_and(|effect| taint["effect"] != effect));
    }
    world.write_node(node);
}

/// Sets a label of a node, or removes it.
pub(crate) fn label(world: &mut SimulatedCluster<'_>, name: &str, key: &str, value: Option<&str>) {
    let Some(node) = world.model.get(&Id::new("Node", "", name)) else { return };
    let mut node = (*node).clone();
    let metadata = member(&mut node, "metadata");
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    match value {
        Some(value) => labels[key] = json!(value),
        None => drop(labels.as_object_mut().and_then(|labels| labels.remove(key))),
    }
    world.write_node(node);
}

/// Nodes stop answering: their pods are not ready. The pods leave when they have tolerated that long enough; in each zone one node comes after the
/// other, as fast as the zone's state lets it (`handleDisruption`, `setLimiterInZone`, with the default flags).
pub(crate) fn fail(world: &mut SimulatedCluster<'_>, names: &[String]) {
    names.iter().for_each(|name| fall_silent(world, name));
    let zones = zones(world);
    let is_lost = |zone: &Zone| matches!(zone.pace(), Pace::All);
    if zones.values().all(is_lost) {
        world.caveats.insert(Unmodelled::NoEvictions { zone: None });
        return;
    }
    let mut turns: BTreeMap<&str, i64> = BTreeMap::new();
    for name in names {
        let Some((key, zone)) = zones.iter().find(|(_, zone)| zone.silent.contains(name)) else { continue };
        let turn = turns.entry(key).or_insert(0);
        match zone.pace().interval() {
            Some(interval) => {
                world.later(*turn * interval, Due::Unreachable(name.clone()));
                *turn += 1;
            }
            None => drop(world.caveats.insert(Unmodelled::NoEvictions { zone: Some(key.clone()) })),
        }
    }
}

/// A node's kubelet is not heard of any more.
fn fall_silent(world: &mut SimulatedCluster<'_>, name: &str) {
    let Some(node) = world.model.get(&Id::new("Node", "", name)) else { return };
    let mut node = (*node).clone();
    let time = world.timestamp();
    set_condition(
        &mut node,
        json!({"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.", "lastTransitionTime": time}),
    );
    world.silent.insert(name.to_owned());
    world.write_node(node);
    for id in on_node(world, name) {
        if let Some(pod) = world.model.get(&id) {
            let mut pod = (*pod).clone();
            set_condition(&mut pod, json!({"type": "Ready", "status": "False", "lastTransitionTime": time}));
            world.update_pod(pod);
            world.budgets.insert(id.namespace);
        }
    }
    mark(world, name, &json!({"key": UNREACHABLE_TAINT, "effect": "NoSchedule"}));
}

/// The pods of a node that does not answer have to leave.
pub(crate) fn unreachable(world: &mut SimulatedCluster<'_>, name: &str, choices: &mut Choices) {
    taint(world, name, &json!({"key": UNREACHABLE_TAINT, "effect": "NoExecute"}), choices);
}

/// A zone's nodes: how many there are, and which do not answer.
#[derive(Default)]
struct Zone {
    nodes: usize,
    not_ready: usize,
    silent: Vec<String>,
}

/// How fast nodes of a zone that do not answer lose their pods.
enum Pace {
    /// The zone is well: 0.1 nodes a second (`--node-eviction-rate`).
    Usual,
    /// No node of the zone answers: the same, unless no node of the cluster does.
    All,
    /// Most of its nodes do not (`--unhealthy-zone-threshold`), and it is a large zone (`--large-cluster-size-threshold`): 0.01 nodes a second
    /// (`--secondary-node-eviction-rate`).
    Slow,
    /// The same in a small zone: no pod leaves.
    Never,
}

impl Pace {
    /// The time between two nodes, in milliseconds.
    fn interval(&self) -> Option<i64> {
        match self {
            Self::Usual | Self::All => Some(10_000),
            Self::Slow => Some(100_000),
            Self::Never => None,
        }
    }
}

impl Zone {
    /// How fast its nodes lose their pods (`ComputeZoneState`).
    fn pace(&self) -> Pace {
        match self {
            _ if self.not_ready == self.nodes => Pace::All,
            _ if self.not_ready <= 2 || self.not_ready * 100 < self.nodes * 55 => Pace::Usual,
            _ if self.nodes > 50 => Pace::Slow,
            _ => Pace::Never,
        }
    }
}

/// The zones of the cluster by region and zone (`GetZoneKey`).
fn zones(world: &mut SimulatedCluster<'_>) -> BTreeMap<String, Zone> {
    let mut zones: BTreeMap<String, Zone> = BTreeMap::new();
    for name in world.nodes() {
        let Some(node) = world.model.get(&Id::new("Node", "", &name)) else { continue };
        let label = |new: &str, old: &str| {
            let labels = &node["metadata"]["labels"];
            labels[new].as_str().or_else(|| labels[old].as_str()).unwrap_or_default().to_owned()
        };
        let zone = label("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone");
        let region = label("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region");
        let key = if region.is_empty() { zone } else { format!("{region}/{zone}") };
        let of = zones.entry(key).or_default();
        of.nodes += 1;
        of.not_ready += usize::from(!is_condition_true(&node, "Ready"));
        of.silent.extend(world.silent.contains(&name).then_some(name));
    }
    zones
}

/// The pods of a node, in order of namespace and name.
pub(crate) fn on_node(world: &SimulatedCluster<'_>, name: &str) -> Vec<Id> {
    let pods = world.model.state.node(name).map_or(&[][..], |node| &node.pods);
    let mut ids: Vec<Id> = pods.iter().map(|pod| Id::pod(&pod.namespace, &pod.name)).collect();
    ids.sort();
    ids
}

/// Lets pods leave a node whose taints they do not tolerate, at once or when their `tolerationSeconds` are over.
///
/// Several workers delete them, while controllers make others already: with a seed each leaves at a moment of its own.
fn evict(world: &mut SimulatedCluster<'_>, name: &str, choices: &mut Choices) {
    let Some(node) = world.model.get(&Id::new("Node", "", name)) else { return };
    let taints: Vec<Value> = list(&node, "/spec/taints").iter().filter(|taint| taint["effect"] == "NoExecute").cloned().collect();
    for id in choices.shuffled(on_node(world, name)) {
        let Some(pod) = world.model.get(&id).filter(|pod| !is_terminating(pod)) else { continue };
        let stays = tolerated_for(&taints, list(&pod, "/spec/tolerations"));
        match stays {
            Stay::Always => {}
            Stay::For(0) if !choices.is_seeded() => leave(world, &id, text(&pod, "/metadata/uid")),
            Stay::For(seconds) => {
                let uid = text(&pod, "/metadata/uid").to_owned();
                world.later(seconds * 1_000, Due::NoLongerTolerated(id, uid));
            }
        }
    }
}

/// How long a pod stays.
enum Stay {
    Always,
    For(i64),
}

/// The shortest time of the tolerations that cover the taints (`getMinTolerationTime`); none where a taint is not covered.
fn tolerated_for(taints: &[Value], tolerations: &[Value]) -> Stay {
    let covers = |toleration: &Value, taint: &Value| {
        let (key, effect) = (text(toleration, "/key"), text(toleration, "/effect"));
        (key.is_empty() || key == text(taint, "/key"))
            && matches!(effect, "" | "NoExecute")
            && (toleration["operator"] == "Exists" || text(toleration, "/value") == text(taint, "/value"))
    };
    let mut least: Option<i64> = None;
    for taint in taints {
        let Some(toleration) = tolerations.iter().find(|toleration| covers(toleration, taint)) else { return Stay::For(0) };
        if let Some(seconds) = number(toleration, "/tolerationSeconds") {
            least = Some(least.map_or(seconds, |least| least.min(seconds)).max(0));
        }
    }
    least.map_or(Stay::Always, Stay::For)
}

/// A pod leaves its node, if it is still that pod and the taints are still there.
pub(crate) fn leave(world: &mut SimulatedCluster<'_>, id: &Id, uid: &str) {
    let Some(pod) = world.model.get(id).filter(|pod| text(pod, "/metadata/uid") == uid && !is_terminating(pod) && !is_finished(pod)) else {
        return;
    };
    let node = text(&pod, "/spec/nodeName").to_owned();
    let taints = world.model.get(&Id::new("Node", "", &node)).map(|node| list(&node, "/spec/taints").to_vec()).unwrap_or_default();
    if !taints.iter().any(|taint| taint["effect"] == "NoExecute") {
        return;
    }
    world.record(Happening::Evicted, id, &pod).message = Some("TaintManagerEviction: deleting due to NoExecute taint".to_owned());
    let time = world.timestamp();
    world.terminate(id, |pod| {
        set_condition(
            pod,
            json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint", "lastTransitionTime": time}),
        );
    });
}

//! DaemonSets: one pod on each node that suits. Source: `pkg/controller/daemon/daemon_controller.go`, `util/daemonset_util.go` (1.37).

use std::collections::BTreeMap;

use ketcd_scheduler::Suitor;
use ketcd_scheduler::cluster::Node;
use serde_json::{Value, json};

use super::daemon_rollout;
use super::replica_set::{active_ids, delete};
use super::template;
use crate::json::{is_terminating, list, member, text};
use crate::model::Id;
use crate::seed::Choices;
use crate::simulated_cluster::SimulatedCluster;

/// Makes the pods that are missing, and deletes those whose node does not suit any more.
pub(super) fn sync(world: &mut SimulatedCluster<'_>, id: &Id, choices: &mut Choices) {
    let Some(set) = world.model.get(id).filter(|set| !is_terminating(set)) else { return };
    let mut by_node: BTreeMap<String, Vec<Id>> = BTreeMap::new();
    for id in world.model.owned_by(text(&set, "/metadata/uid")) {
        if let Some(node) = target_of(world, &id) {
            by_node.entry(node).or_default().push(id);
        }
    }
    let Some(daemon) = suitor(world, &set) else { return };
    for name in choices.shuffled(world.nodes()) {
        let Some(node) = world.model.state.node(&name) else { continue };
        let (runs, stays) = should_run(&daemon, node.object());
        match by_node.get(&name) {
            None if runs => {
                let is_made = create(world, &set, &name);
                by_node.insert(name, Vec::new());
                if is_made && choices.is_seeded() {
                    world.dirty.insert(id.clone());
                    return;
                }
            }
            Some(pods) if !stays => pods.iter().for_each(|pod| delete(world, pod)),
            _ => {}
        }
    }
    for node in daemon_rollout::step(world, &set, &by_node) {
        create(world, &set, &node);
    }
    for pod in active_ids(world, &set) {
        if target_of(world, &pod).is_some_and(|node| !world.model.has(&Id::new("Node", "", &node))) {
            delete(world, &pod);
        }
    }
}

/// The node that a daemon's pod is on or meant for; a pod that has one is not read in full.
fn target_of(world: &mut SimulatedCluster<'_>, id: &Id) -> Option<String> {
    match world.model.pod(id).and_then(|pod| pod.node_name.as_deref()) {
        Some(node) => Some(node.to_owned()),
        None => world.model.get(id).map(|pod| target(&pod)),
    }
}

/// Lets the DaemonSets look again to which it matters that a node was written (`addNode`, `updateNode`). `before`: as it was; `None`: it is new.
pub(super) fn node_written(world: &mut SimulatedCluster<'_>, before: Option<&Node>, after: &Node) {
    for id in world.model.ids("DaemonSet") {
        let Some(set) = world.model.get(&id) else { continue };
        let Some(daemon) = suitor(world, &set) else { continue };
        let was = before.map_or((false, false), |before| should_run(&daemon, before));
        if was != should_run(&daemon, after) {
            world.dirty.insert(id);
        }
    }
}

/// What a DaemonSet's pods ask of nodes; `None`: its template cannot be read.
fn suitor(world: &mut SimulatedCluster<'_>, set: &Value) -> Option<Suitor> {
    Suitor::new(&with_tolerations(&set["spec"]["template"]["spec"]), world.model.state.interner()).ok()
}

/// Whether a daemon runs on a node, and whether it stays where it is there already (`NodeShouldRunDaemonPod`): taints that only keep new pods away do
/// not matter to one that runs.
fn should_run(daemon: &Suitor, node: &Node) -> (bool, bool) {
    let suits = daemon.on(node);
    (suits.labels && suits.taints && suits.cordon, suits.labels && suits.stays)
}

/// The node that a daemon's pod is on or meant for (`GetTargetNodeName`).
fn target(pod: &Value) -> String {
    let terms = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    match text(pod, "/spec/nodeName") {
        "" => text(pod, terms).to_owned(),
        node => node.to_owned(),
    }
}

/// A daemon tolerates what its node reports (`AddOrUpdateDaemonPodTolerations`).
fn with_tolerations(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let mut all = list(&spec, "/tolerations").to_vec();
    for (key, effect) in [
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ] {
        all.push(json!({"key": key, "operator": "Exists", "effect": effect}));
    }
    if spec["hostNetwork"] == true {
        all.push(json!({"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"}));
    }
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("tolerations".to_owned(), json!(all));
    }
    spec
}

/// Makes a pod for a node; returns whether the API server admits it.
fn create(world: &mut SimulatedCluster<'_>, set: &Value, node: &str) -> bool {
    let name = format!("{}-{}", text(set, "/metadata/name"), world.generated());
    let mut pod = template::pod(world, set, &name);
    if let Some(revision) = world.revisions.get(&Id::of(set)).cloned() {
        member(&mut pod["metadata"], "labels").insert(daemon_rollout::REVISION_LABEL.to_owned(), json!(revision));
    }
    pod["spec"] = with_tolerations(&pod["spec"]);
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    let affinity = member(member_of(&mut pod["spec"], "affinity"), "nodeAffinity");
    let required = affinity.entry("requiredDuringSchedulingIgnoredDuringExecution").or_insert_with(|| json!({"nodeSelectorTerms": []}));
    match required["nodeSelectorTerms"].as_array_mut() {
        Some(terms) if !terms.is_empty() => terms.iter_mut().for_each(|term| term["matchFields"] = json!([field])),
        _ => required["nodeSelectorTerms"] = json!([{"matchFields": [field]}]),
    }
    template::create(world, set, pod)
}

fn member_of<'v>(object: &'v mut Value, name: &str) -> &'v mut Value {
    member(object, name);
    &mut object[name]
}

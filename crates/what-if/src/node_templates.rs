//! Nodes that a file describes: Nodes themselves, or what makes nodes, a MachineDeployment or a NodePool.
//!
//! Sources: Cluster API's `docs/book` (labels that machines hand to nodes; `v1beta1`, `v1beta2`), cluster-autoscaler's `cloudprovider/clusterapi`
//! (annotations of capacity), Karpenter's `pkg/apis/v1` (NodePool `karpenter.sh/v1`). What a file does not say of its nodes is an error that names it.

use std::sync::Arc;

use ketcd_cluster::{Error, Result};
use serde_json::{Map, Value, json};

use super::json::{list, text};
use super::model::Id;
use super::simulated_cluster::SimulatedCluster;

/// The prefix of cluster-autoscaler's annotations that say what the nodes of a group offer.
const CAPACITY_PREFIX: &str = "capacity.cluster-autoscaler.kubernetes.io/";
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// How many pods cluster-autoscaler takes a node to hold, where the group does not say.
const MOST_PODS: &str = "110";

/// The nodes that an object describes.
///
/// # Errors
/// The object makes no nodes, or does not say what they offer.
pub(super) fn nodes(world: &mut SimulatedCluster<'_>, object: &Value) -> Result<Vec<Value>> {
    match text(object, "/kind") {
        "Node" => of_node(object).map(|node| vec![node]),
        "MachineDeployment" | "MachineSet" | "MachinePool" => of_machines(world, object),
        "NodePool" => of_node_pool(world, object).map(|node| vec![node]),
        kind => Err(Error::invalid(format!("a {kind} describes no nodes")).hint("give a Node, a MachineDeployment or a NodePool")),
    }
}

fn of_node(node: &Value) -> Result<Value> {
    let offers = |field: &str, resource: &str| !node["status"][field][resource].is_null();
    for resource in ["cpu", "memory", "pods"] {
        if !offers("capacity", resource) && !offers("allocatable", resource) {
            return Err(lacks(node, &format!("its status.capacity has no {resource}")));
        }
    }
    Ok(node.clone())
}

fn lacks(object: &Value, what: &str) -> Error {
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    Error::invalid(format!("{kind} {name} does not say what its nodes offer: {what}"))
        .hint("give a Node with status.capacity, or write N*NODE")
}

/// The nodes of a group of machines, as many as it has replicas.
fn of_machines(world: &mut SimulatedCluster<'_>, group: &Value) -> Result<Vec<Value>> {
    let annotation = |name: &str| group["metadata"]["annotations"][format!("{CAPACITY_PREFIX}{name}")].as_str();
    let mut capacity = Map::new();
    for (name, resource) in [("cpu", "cpu"), ("memory", "memory")] {
        let amount = annotation(name).ok_or_else(|| lacks(group, &format!("it has no annotation {CAPACITY_PREFIX}{name}")))?;
        capacity.insert(resource.to_owned(), json!(amount));
    }
    capacity.insert("pods".to_owned(), json!(annotation("maxPods").unwrap_or(MOST_PODS)));
    capacity.extend(annotation("ephemeral-disk").map(|amount| ("ephemeral-storage".to_owned(), json!(amount))));
    if let (Some(kind), Some(count)) = (annotation("gpu-type"), annotation("gpu-count")) {
        capacity.insert(kind.to_owned(), json!(count));
    }
    let machine = &group["spec"]["template"];
    let mut labels: Map<String, Value> = pairs(annotation("labels").unwrap_or_default()).map(|(key, value)| (key, json!(value))).collect();
    let handed = machine["metadata"]["labels"].as_object().into_iter().flatten().filter(|(key, _)| is_handed_on(key));
    labels.extend(handed.map(|(key, value)| (key.clone(), value.clone())));
    labels.extend(machine["spec"]["failureDomain"].as_str().map(|zone| ("topology.kubernetes.io/zone".to_owned(), json!(zone))));
    let mut taints: Vec<Value> = list(machine, "/spec/taints").to_vec();
    taints.extend(annotation("taints").unwrap_or_default().split(',').filter_map(taint));
    let count = world.grant_nodes(group["spec"]["replicas"].as_u64().unwrap_or(1));
    let capacity = Value::Object(capacity);
    Ok((0..count).map(|_| node(world, group, &labels, &taints, &capacity)).collect())
}

/// Whether Cluster API hands a machine's label on to its node.
fn is_handed_on(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_of = |known: &str| domain == known || domain.ends_with(&format!(".{known}"));
    domain == "node-role.kubernetes.io" || is_of("node-restriction.kubernetes.io") || is_of("node.cluster.x-k8s.io")
}

/// `a=b,c=d`.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split(',').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
}

/// `key=value:EFFECT`.
fn taint(text: &str) -> Option<Value> {
    let (pair, effect) = text.trim().rsplit_once(':')?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Some(json!({"key": key, "value": value, "effect": effect}))
}

/// A node of a pool. A NodePool allows instance types and says nothing of what they offer: that is known where it allows one type alone and the
/// cluster has a node of it.
fn of_node_pool(world: &mut SimulatedCluster<'_>, pool: &Value) -> Result<Value> {
    let template = &pool["spec"]["template"];
    let mut labels = template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    for requirement in list(template, "/spec/requirements") {
        if let ("In", [value]) = (text(requirement, "/operator"), list(requirement, "/values")) {
            labels.insert(text(requirement, "/key").to_owned(), value.clone());
        }
    }
    labels.insert("karpenter.sh/nodepool".to_owned(), pool["metadata"]["name"].clone());
    let Some(wanted) = labels.get(INSTANCE_TYPE).and_then(Value::as_str).map(str::to_owned) else {
        return Err(lacks(pool, &format!("its requirements do not name one {INSTANCE_TYPE}, from which Karpenter takes the capacity")));
    };
    let of_type = |node: &Arc<Value>| node["metadata"]["labels"][INSTANCE_TYPE] == *wanted;
    let nodes: Vec<Arc<Value>> = world.nodes().iter().filter_map(|name| world.model.get(&Id::new("Node", "", name))).collect();
    let Some(known) = nodes.iter().find(|node| of_type(node)) else {
        return Err(lacks(pool, &format!("the cluster has no node of the instance type {wanted} to take the capacity from")));
    };
    for key in ["kubernetes.io/arch", "kubernetes.io/os"] {
        if !labels.contains_key(key) && !known["metadata"]["labels"][key].is_null() {
            labels.insert(key.to_owned(), known["metadata"]["labels"][key].clone());
        }
    }
    let mut made = node(world, pool, &labels, list(template, "/spec/taints"), &known["status"]["capacity"]);
    made["status"]["allocatable"] = known["status"]["allocatable"].clone();
    Ok(made)
}

/// A node under a name that nothing gives.
fn node(world: &mut SimulatedCluster<'_>, of: &Value, labels: &Map<String, Value>, taints: &[Value], capacity: &Value) -> Value {
    let name = format!("{}-{}", text(of, "/metadata/name"), world.generated());
    let mut labels = labels.clone();
    labels.insert("kubernetes.io/hostname".to_owned(), json!(name));
    for (key, usual) in [("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")] {
        labels.entry(key).or_insert_with(|| json!(usual));
    }
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": format!("simulated-{name}"), "labels": labels},
        "spec": {"taints": taints}, "status": {"capacity": capacity, "allocatable": capacity}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_api_hands_on_labels_of_its_domains_alone() {
        for (key, is_handed) in [
            ("node-role.kubernetes.io/worker", true),
            ("node-restriction.kubernetes.io/team", true),
            ("prod.node-restriction.kubernetes.io/team", true),
            ("node.cluster.x-k8s.io/pool", true),
            ("team", false),
            ("example.com/team", false),
        ] {
            assert_eq!(is_handed_on(key), is_handed, "{key}");
        }
    }

    #[test]
    fn taints_of_annotations() {
        assert_eq!(taint("a=b:NoSchedule"), Some(json!({"key": "a", "value": "b", "effect": "NoSchedule"})));
        assert_eq!(taint("a:NoExecute"), Some(json!({"key": "a", "value": "", "effect": "NoExecute"})));
        assert_eq!(taint("a"), None);
    }

    #[test]
    fn a_node_without_capacity_says_what_is_missing() {
        let node = json!({"kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1", "pods": "10"}}});
        let error = of_node(&node).unwrap_err().to_string();
        assert!(error.contains("Node n does not say what its nodes offer: its status.capacity has no memory"), "{error}");
    }
}

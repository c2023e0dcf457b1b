//! Does the actions of a what-if, one after the other, each on the cluster as the one before left it at rest.

use std::sync::Arc;

use ketcd_cluster::{Cluster, Error, Result};
use ketcd_kube::Address;
use serde_json::{Value, json};

use super::action::{NodeChoice, WhatIfAction};
use super::admission::{admit, admit_group};
use super::answer::{Happening, Unmodelled};
use super::control_loop::settle;
use super::controllers::{node_lifecycle, pod_claims};
use super::drain::{HeldBack, drain};
use super::json::{controller, list, member, text};
use super::model::Id;
use super::node_templates;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// Does an action, and lets the cluster come to rest.
///
/// # Errors
/// What the action names is not there, or it cannot be done.
pub(super) async fn perform(
    cluster: &Cluster,
    world: &mut SimulatedCluster<'_>,
    action: &WhatIfAction,
    choices: &mut Choices,
) -> Result<()> {
    match action {
        WhatIfAction::Drain(node) => {
            found(world, node)?;
            drain(world, node, HeldBack::Stay, choices);
        }
        WhatIfAction::Fail(which) => {
            let nodes = chosen(world, which)?;
            node_lifecycle::fail(world, &nodes);
        }
        WhatIfAction::Cordon(node) | WhatIfAction::Uncordon(node) => {
            found(world, node)?;
            node_lifecycle::cordon(world, node, matches!(action, WhatIfAction::Cordon(_)));
        }
        WhatIfAction::Taint { node, taint, is_removed } => {
            found(world, node)?;
            match is_removed {
                true => node_lifecycle::untaint(world, node, text(taint, "/key"), taint["effect"].as_str()),
                false => node_lifecycle::taint(world, node, taint, choices),
            }
        }
        WhatIfAction::Label { node, key, value } => {
            found(world, node)?;
            node_lifecycle::label(world, node, key, value.as_deref());
        }
        WhatIfAction::AddLike { count, node } => add_like(world, *count, node, choices)?,
        WhatIfAction::AddNodes(objects) => add_described(world, objects, choices)?,
        WhatIfAction::Delete(address) => delete(world, &one(cluster, address).await?)?,
        WhatIfAction::Scale { address, replicas } => scale(world, &one(cluster, address).await?, *replicas)?,
        WhatIfAction::Restart(address) => restart(world, &one(cluster, address).await?)?,
        WhatIfAction::Apply(objects) => objects.iter().try_for_each(|object| apply(cluster, world, object.clone()))?,
    }
    settle(world, choices);
    Ok(())
}

/// The most nodes that an error names.
const MAX_NODES_NAMED: usize = 20;

fn found(world: &mut SimulatedCluster<'_>, name: &str) -> Result<Arc<Value>> {
    let missing = |world: &SimulatedCluster<'_>| {
        let nodes = world.nodes();
        let more = if nodes.len() > MAX_NODES_NAMED { format!(" and {} more", nodes.len() - MAX_NODES_NAMED) } else { String::new() };
        let names: Vec<&str> = nodes.iter().take(MAX_NODES_NAMED).map(String::as_str).collect();
        Error::invalid(format!("node {name} does not exist")).hint(format!("the nodes are {}{more}", names.join(", ")))
    };
    world.model.get(&Id::new("Node", "", name)).ok_or_else(|| missing(world))
}

fn chosen(world: &mut SimulatedCluster<'_>, which: &NodeChoice) -> Result<Vec<String>> {
    match which {
        NodeChoice::Named(name) => found(world, name).map(|_| vec![name.clone()]),
        NodeChoice::Labelled(key, value) => {
            let has = |name: &String| world.model.state.node(name).is_some_and(|node| node.labels.get(key) == Some(value));
            let nodes: Vec<String> = world.nodes().into_iter().filter(has).collect();
            if nodes.is_empty() { Err(Error::invalid(format!("no node has the label {key}={value}"))) } else { Ok(nodes) }
        }
    }
}

fn member_of<'v>(object: &'v mut Value, name: &str) -> &'v mut Value {
    member(object, name);
    &mut object[name]
}

/// Adds nodes like another one: the same labels but the host name, the same taints but those that report its state, no cordon.
fn add_like(world: &mut SimulatedCluster<'_>, count: usize, like: &str, choices: &mut Choices) -> Result<()> {
    let model = found(world, like)?;
    let mut names = Vec::new();
    for _ in 0..world.grant_nodes(count as u64) {
        let name = format!("{like}-{}", world.generated());
        let mut node = (*model).clone();
        node["metadata"] = json!({"name": name, "labels": model["metadata"]["labels"], "annotations": {},
            "uid": format!("simulated-{name}"), "creationTimestamp": world.timestamp()});
        let labels = member(&mut node["metadata"], "labels");
        if labels.contains_key("kubernetes.io/hostname") {
            labels.insert("kubernetes.io/hostname".to_owned(), json!(name));
        }
        add(world, node);
        names.push(name);
    }
    join(world, names, choices);
    Ok(())
}

fn add_described(world: &mut SimulatedCluster<'_>, objects: &[Value], choices: &mut Choices) -> Result<()> {
    let mut names = Vec::new();
    for object in objects {
        for node in node_templates::nodes(world, object)? {
            names.push(text(&node, "/metadata/name").to_owned());
            add(world, node);
        }
    }
    join(world, names, choices);
    Ok(())
}

/// Lets nodes join as kubelets do: each is there with the taint of one that is not ready, until it is (`plugin/pkg/admission/nodetaint`,
/// `node_lifecycle_controller.go`).
fn join(world: &mut SimulatedCluster<'_>, names: Vec<String>, choices: &mut Choices) {
    settle(world, choices);
    for name in names {
        node_lifecycle::untaint(world, &name, NOT_READY, None);
        settle(world, choices);
    }
}

/// The taint of a node that is not ready yet.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Adds a node that has still to be ready: without a cordon, and without taints that report another state.
fn add(world: &mut SimulatedCluster<'_>, mut node: Value) {
    let reports = |taint: &Value| text(taint, "/key").starts_with("node.kubernetes.io/");
    let taints: Vec<Value> = list(&node, "/spec/taints").iter().filter(|taint| !reports(taint)).cloned().collect();
    let spec = member(&mut node, "spec");
    spec.remove("unschedulable");
    let not_ready = json!({"key": NOT_READY, "effect": "NoSchedule"});
    spec.insert("taints".to_owned(), taints.into_iter().chain([not_ready]).collect());
    node["apiVersion"] = json!("v1");
    node["kind"] = json!("Node");
    super::json::set_condition(&mut node, json!({"type": "Ready", "status": "True"}));
    let status = member(&mut node, "status");
    if status.get("allocatable").is_none_or(Value::is_null) {
        let capacity = status.get("capacity").cloned().unwrap_or(Value::Null);
        status.insert("allocatable".to_owned(), capacity);
    }
    world.write_node(node);
}

/// The one object that an address names.
async fn one(cluster: &Cluster, address: &str) -> Result<Id> {
    match &cluster.address(address).await?[..] {
        [Address::Objects { kind, namespace, name: Some(name) }] => {
            let namespace = if kind.namespaced { namespace.as_deref().unwrap_or(cluster.namespace()) } else { "" };
            Ok(Id::new(&kind.kind, namespace, name))
        }
        _ => {
            Err(Error::invalid(format!("{address:?} does not name one object")).hint("write KIND/NAMESPACE/NAME, such as deploy/shop/web"))
        }
    }
}

fn existing(world: &mut SimulatedCluster<'_>, id: &Id) -> Result<Arc<Value>> {
    let name = if id.namespace.is_empty() { id.name.clone() } else { format!("{}/{}", id.namespace, id.name) };
    world.model.get(id).ok_or_else(|| Error::invalid(format!("{} {name} does not exist", id.kind)))
}

/// Deletes an object; what a controller owns goes with it.
fn delete(world: &mut SimulatedCluster<'_>, id: &Id) -> Result<()> {
    let object = existing(world, id)?;
    match &*id.kind {
        "Pod" => {
            world.record(Happening::Deleted, id, &object);
            world.terminate(id, |_| {});
        }
        "Node" => {
            for pod in node_lifecycle::on_node(world, &id.name) {
                if let Some(object) = world.model.get(&pod) {
                    world.record(Happening::Deleted, &pod, &object);
                }
                world.gone(&pod);
            }
            world.delete_node(&id.name);
        }
        _ => delete_with_owned(world, id, &object),
    }
    Ok(())
}

fn delete_with_owned(world: &mut SimulatedCluster<'_>, id: &Id, object: &Value) {
    let uid = text(object, "/metadata/uid").to_owned();
    let sets: Vec<Id> = world.model.ids_in("ReplicaSet", &id.namespace);
    world.model.remove(id);
    for set in sets {
        let Some(owned) = world.model.get(&set) else { continue };
        if controller(&owned).is_some_and(|owner| text(owner, "/uid") == uid) {
            delete_with_owned(world, &set, &owned);
        }
    }
    for pod in world.model.owned_by(&uid) {
        if let Some(object) = world.model.get(&pod) {
            world.record(Happening::Deleted, &pod, &object);
        }
        world.terminate(&pod, |_| {});
    }
}

fn scale(world: &mut SimulatedCluster<'_>, id: &Id, replicas: i64) -> Result<()> {
    let mut object = (*existing(world, id)?).clone();
    let field = match &*id.kind {
        "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet" => "replicas",
        "Job" => "parallelism",
        kind => return Err(Error::invalid(format!("a {kind} has no number of replicas"))),
    };
    member(&mut object, "spec").insert(field.to_owned(), json!(replicas));
    world.changed.insert(id.clone());
    world.write(object);
    Ok(())
}

/// Restarts a workload as `kubectl rollout restart` does, by an annotation of its template.
fn restart(world: &mut SimulatedCluster<'_>, id: &Id) -> Result<()> {
    let mut object = (*existing(world, id)?).clone();
    if !["DaemonSet", "Deployment", "StatefulSet"].contains(&&*id.kind) {
        return Err(Error::invalid(format!("a {} cannot be restarted", id.kind)).hint("name a Deployment, a StatefulSet or a DaemonSet"));
    }
    let time = world.timestamp();
    let template = member_of(member_of(&mut object, "spec"), "template");
    member(member_of(template, "metadata"), "annotations").insert("kubectl.kubernetes.io/restartedAt".to_owned(), json!(time));
    renew(world, id, &mut object);
    world.write(object);
    Ok(())
}

/// Lets a workload make its pods anew by its strategy.
fn renew(world: &mut SimulatedCluster<'_>, id: &Id, object: &mut Value) {
    let revision = world.generated();
    world.caveats.insert(Unmodelled::Rollout { workload: format!("{}/{}/{}", id.kind, id.namespace, id.name) });
    if id.kind == "StatefulSet" {
        member(object, "status").insert("updateRevision".to_owned(), json!(format!("{}-{revision}", id.name)));
    }
    if id.kind == "Deployment" {
        world.rollouts.insert(id.clone());
    }
    if id.kind == "DaemonSet" {
        world.revisions.insert(id.clone(), revision);
    }
    world.changed.insert(id.clone());
}

/// Writes an object as the API server would admit it.
fn apply(cluster: &Cluster, world: &mut SimulatedCluster<'_>, mut object: Value) -> Result<()> {
    let kinds = ketcd_cluster::built_in();
    let kind = kinds.of_object(text(&object, "/apiVersion"), text(&object, "/kind")).cloned();
    if kind.is_none_or(|kind| kind.namespaced) && text(&object, "/metadata/namespace").is_empty() {
        member(&mut object, "metadata").insert("namespace".to_owned(), json!(cluster.namespace()));
    }
    let id = Id::of(&object);
    if id.kind.is_empty() || id.name.is_empty() {
        return Err(Error::invalid("an object to apply has no kind or no name"));
    }
    let before = world.model.get(&id);
    if text(&object, "/metadata/uid").is_empty() {
        let made = || format!("simulated-{}-{}-{}", id.kind, id.namespace, id.name);
        let uid = before.as_ref().map_or_else(made, |before| text(before, "/metadata/uid").to_owned());
        member(&mut object, "metadata").insert("uid".to_owned(), json!(uid));
    }
    match &*id.kind {
        "Pod" if before.is_some() => return Err(Error::invalid(format!("pod {}/{} exists", id.namespace, id.name))),
        "Pod" => create(world, &id, object)?,
        "Node" => world.write_node(object),
        _ => {
            if ["PodGroup", "CompositePodGroup"].contains(&&*id.kind) {
                admit_group(world, &mut object)
                    .map_err(|why| Error::invalid(format!("{} \"{}\" is forbidden: {why}", id.kind, id.name)))?;
            }
            let before = before.unwrap_or_default();
            if before["status"].is_object() {
                object["status"] = before["status"].clone();
            }
            if !before.is_null() && object["spec"]["template"] != before["spec"]["template"] {
                renew(world, &id, &mut object);
            }
            world.changed.insert(id);
            world.write(object);
        }
    }
    Ok(())
}

fn create(world: &mut SimulatedCluster<'_>, id: &Id, mut pod: Value) -> Result<()> {
    member(&mut pod, "metadata").insert("creationTimestamp".to_owned(), json!(world.timestamp()));
    member(&mut pod, "status").insert("phase".to_owned(), json!("Pending"));
    admit(world, &mut pod).map_err(|why| Error::invalid(format!("pods \"{}\" is forbidden: {why}", id.name)))?;
    pod_claims::make(world, &mut pod);
    world.create_pod(pod);
    Ok(())
}

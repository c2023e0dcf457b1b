//! How many more of a workload's pods fit: one after the other is made, until one finds no place.

use std::sync::Arc;

use ketcd_cluster::{Error, Result};
use serde_json::{Value, json};

use super::admission::admit;
use super::answer::{Fit, Happening};
use super::control_loop::settle;
use super::controllers::{deployment, pod_claims, set_replicas};
use super::json::{controller, member, number, text};
use super::model::Id;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// Makes pods like those of an object, until one finds no place.
///
/// # Errors
/// The object makes no pods.
pub(super) fn fit(world: &mut SimulatedCluster<'_>, object: &Value, choices: &mut Choices) -> Result<Fit> {
    let owner = maker(world, object, choices);
    let template = match text(object, "/kind") {
        "Pod" => json!({"metadata": object["metadata"], "spec": object["spec"]}),
        "CronJob" => object["spec"]["jobTemplate"]["spec"]["template"].clone(),
        _ => owner["spec"]["template"].clone(),
    };
    if !template["spec"].is_object() {
        return Err(Error::invalid(format!("a {} makes no pods", text(object, "/kind"))).hint("name a pod, or what has a template of pods"));
    }
    let most = usize::try_from(world.most_more_pods).unwrap_or(usize::MAX);
    for count in 0..most {
        let first = world.events.len();
        if let Err(why) = one_more(world, &owner, &template) {
            return Ok(Fit { count, message: Some(why) });
        }
        settle(world, choices);
        let made = world.events[first..].iter().find(|event| matches!(event.what, Happening::Created | Happening::Refused)).cloned();
        let Some(made) = made else { return Ok(Fit { count, message: None }) };
        let id = Id::pod(&made.pod.namespace, &made.pod.name);
        if made.what == Happening::Refused {
            return Ok(Fit { count, message: made.message });
        }
        if world.model.pod(&id).is_none_or(|pod| pod.node_name.is_none()) {
            // It was only a question.
            world.queue.remove(&(id.namespace.as_str().into(), id.name.as_str().into()));
            return Ok(Fit { count, message: world.messages.get(&id).cloned() });
        }
    }
    Ok(Fit { count: most, message: None })
}

/// Lets a controller of replicas have one more, or makes a pod.
///
/// # Errors
/// The API server refuses it.
fn one_more(world: &mut SimulatedCluster<'_>, owner: &Value, template: &Value) -> Result<(), String> {
    let id = Id::of(owner);
    if let Some(set) = world.model.get(&id).filter(|_| ["ReplicaSet", "ReplicationController", "StatefulSet"].contains(&&*id.kind)) {
        set_replicas(world, &set, number(&set, "/spec/replicas").unwrap_or(1) + 1);
        return Ok(());
    }
    let mut pod = another(world, owner, template);
    let name = text(&pod, "/metadata/name").to_owned();
    admit(world, &mut pod).map_err(|why| format!("pods \"{name}\" is forbidden: {why}"))?;
    pod_claims::make(world, &mut pod);
    world.create_pod(pod);
    Ok(())
}

/// What makes the pods: of a Deployment its newest ReplicaSet, made if there is none, else the object itself.
fn maker(world: &mut SimulatedCluster<'_>, object: &Value, choices: &mut Choices) -> Arc<Value> {
    if text(object, "/kind") != "Deployment" {
        return Arc::new(object.clone());
    }
    if deployment::replica_sets(world, object).is_empty() {
        world.write(object.clone());
        settle(world, choices);
    }
    deployment::replica_sets(world, object).pop().unwrap_or_else(|| Arc::new(object.clone()))
}

/// A pod of a template and an owner, under a name of its own, bound to no node.
fn another(world: &mut SimulatedCluster<'_>, owner: &Value, template: &Value) -> Value {
    let generated = world.generated();
    let name = format!("{}-{generated}", text(owner, "/metadata/name"));
    let mut metadata = json!({"name": name, "namespace": owner["metadata"]["namespace"], "uid": format!("simulated-{generated}"),
        "creationTimestamp": world.timestamp(), "labels": template["metadata"]["labels"]});
    let references = match controller(owner).filter(|_| owner["kind"] == "Pod") {
        Some(reference) => json!([reference]),
        None => json!([{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "controller": true}]),
    };
    if owner["kind"] != "Pod" || references[0]["kind"] != "Pod" {
        metadata["ownerReferences"] = references;
    }
    let mut pod =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": {"phase": "Pending"}});
    let spec = member(&mut pod, "spec");
    spec.remove("nodeName");
    pod
}

//! What is wrong with a pod.

use jiff::Timestamp;
use serde_json::Value;

use ketcd_kube::condition;

use super::{Trouble, TroubleKind, asked_to_end, holds, text, time};

/// Reasons to wait that every start goes through.
const STARTING_REASONS: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// Reasons of a kubelet that cannot get an image (kubelet pkg/kubelet/images/types.go).
const PULL_REASONS: [&str; 6] =
    ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError"];

/// The troubles of a pod, the gravest first.
pub(super) fn troubles(pod: &Value) -> Vec<Trouble> {
    let (metadata, status) = (&pod["metadata"], &pod["status"]);
    if let Some(end) = time(&metadata["deletionTimestamp"]) {
        let finalizers: Vec<String> = metadata["finalizers"].as_array().into_iter().flatten().filter_map(text).collect();
        let trouble = Trouble::new(TroubleKind::Terminating).since(asked_to_end(metadata)).about(finalizers);
        return vec![Trouble { counts_from: Some(end), ..trouble }];
    }
    match status["phase"].as_str().unwrap_or("Pending") {
        "Succeeded" => Vec::new(),
        "Failed" => failed(pod).into_iter().collect(),
        phase => {
            let mut troubles: Vec<Trouble> = containers(status).filter_map(|container| of_container(pod, container)).collect();
            troubles.sort_by_key(|trouble| trouble.kind);
            match (phase, pod["spec"]["nodeName"].is_string()) {
                ("Pending", false) => troubles.extend(unbound(pod)),
                ("Pending", true) if troubles.is_empty() => troubles.push(starting(pod)),
                _ => troubles.extend(unready(pod)),
            }
            troubles
        }
    }
}

fn containers(status: &Value) -> impl Iterator<Item = &Value> {
    ["initContainerStatuses", "containerStatuses"].into_iter().filter_map(|list| status[list].as_array()).flatten()
}

fn failed(pod: &Value) -> Option<Trouble> {
    let status = &pod["status"];
    let ended = containers(status).filter_map(|container| time(&container["state"]["terminated"]["finishedAt"])).max();
    let since = holds(pod, "Ready", "False").and_then(|ready| time(&ready["lastTransitionTime"])).or(ended);
    if status["reason"] == "Evicted" {
        return Some(Trouble::new(TroubleKind::Evicted).said_by(status).since(since));
    }
    let owners = pod["metadata"]["ownerReferences"].as_array();
    if owners.into_iter().flatten().any(|owner| owner["controller"] == true) {
        return None;
    }
    Some(Trouble::new(TroubleKind::PodFailed).said_by(status).since(since))
}

/// What is wrong with a container, by its status.
fn of_container(pod: &Value, container: &Value) -> Option<Trouble> {
    let (state, last) = (&container["state"], &container["lastState"]["terminated"]);
    let since = unready_since(pod);
    let name = text(&container["name"]);
    let restarts = container["restartCount"].as_i64().unwrap_or(0);
    let ended = |kind, end: &Value| Trouble {
        reason: text(&end["reason"]),
        message: text(&end["message"]),
        numbers: Some((restarts, end["exitCode"].as_i64().unwrap_or(0))),
        ..Trouble::new(kind).since(since).about(name.clone())
    };
    let kind_of = |end: &Value| if end["reason"] == "OOMKilled" { TroubleKind::OutOfMemory } else { TroubleKind::CrashLooping };
    if let Some(reason) = state["waiting"]["reason"].as_str() {
        return match reason {
            "CrashLoopBackOff" => Some(Trouble { counts_from: None, ..ended(TroubleKind::CrashLooping, last) }),
            _ if STARTING_REASONS.contains(&reason) => None,
            _ => {
                let kind = if PULL_REASONS.contains(&reason) { TroubleKind::ImageNotPulled } else { TroubleKind::ContainerNotStarted };
                Some(Trouble::new(kind).said_by(&state["waiting"]).since(since).about(name))
            }
        };
    }
    // Between its end and the next start.
    let end = &state["terminated"];
    let failed = end["exitCode"].as_i64().is_some_and(|code| code != 0);
    if failed && (restarts > 0 || end["reason"] == "OOMKilled") {
        return Some(ended(kind_of(end), end));
    }
    let killed = time(&last["finishedAt"]).filter(|_| last["reason"] == "OOMKilled");
    killed.map(|killed| ended(TroubleKind::OutOfMemory, last).since(Some(killed)))
}

/// When the pod stopped being ready.
fn unready_since(pod: &Value) -> Option<Timestamp> {
    holds(pod, "Ready", "False").and_then(|ready| time(&ready["lastTransitionTime"]))
}

/// Why a pod has no node.
fn unbound(pod: &Value) -> Option<Trouble> {
    let created = time(&pod["metadata"]["creationTimestamp"]);
    match condition(pod, "PodScheduled") {
        Some(scheduled) if scheduled["reason"] == "SchedulingGated" => {
            let gates = pod["spec"]["schedulingGates"].as_array().into_iter().flatten().filter_map(|gate| text(&gate["name"]));
            Some(Trouble::new(TroubleKind::Gated).said_by(scheduled).since(created).about(gates))
        }
        Some(scheduled) if scheduled["status"] == "False" => {
            let nominated = text(&pod["status"]["nominatedNodeName"]);
            let trouble = Trouble::new(TroubleKind::Unschedulable).said_by(scheduled).about(nominated);
            // Which ports it wants, the scheduler does not say (NodePorts' ErrReason, pkg/scheduler/framework/plugins/nodeports).
            let wants = trouble.message.as_ref().is_some_and(|message| message.contains("free ports for the requested pod ports"));
            let port = host_ports(pod).next().filter(|_| wants);
            Some(Trouble { numbers: port.map(|port| (port, 0)), ..trouble })
        }
        _ => Some(Trouble::new(TroubleKind::NotScheduled).since(created).about(text(&pod["spec"]["schedulerName"]))),
    }
}

fn host_ports(pod: &Value) -> impl Iterator<Item = i64> + '_ {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(|container| container["ports"].as_array()).flatten().filter_map(|port| port["hostPort"].as_i64())
}

fn starting(pod: &Value) -> Trouble {
    let bound = holds(pod, "PodScheduled", "True").and_then(|scheduled| time(&scheduled["lastTransitionTime"]));
    let waits = containers(&pod["status"]).find_map(|container| {
        let waiting = &container["state"]["waiting"];
        text(&waiting["reason"])
    });
    let since = bound.or_else(|| time(&pod["status"]["startTime"])).or_else(|| time(&pod["metadata"]["creationTimestamp"]));
    Trouble { reason: waits, ..Trouble::new(TroubleKind::NotStarting).since(since) }
}

fn unready(pod: &Value) -> Option<Trouble> {
    let ready = condition(pod, "Ready").filter(|ready| ready["status"] != "True")?;
    let unready = containers(&pod["status"]).filter(|container| container["ready"] == false);
    Some(Trouble::new(TroubleKind::NotReady).said_by(ready).about(unready.filter_map(|container| text(&container["name"]))))
}

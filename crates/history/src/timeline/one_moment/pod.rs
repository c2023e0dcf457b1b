//! A pod's steps: scheduled, initialized, containers started and ended, ready.

use std::collections::BTreeMap;

use serde_json::Value;

use super::managed::Field;
use super::{StepCollector, time, why};
use crate::timeline::pod::{exit, is_sidecar, names, ordinal};
use crate::timeline::{condition, items};

/// The annotation of pods that a kubelet reads from a file: no scheduler sees them.
const MIRROR: &str = "kubernetes.io/config.mirror";

pub(super) fn collect(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    let gates = names(items(Some(pod), ["spec", "schedulingGates"]));
    let node = pod["spec"]["nodeName"].as_str();
    let mirror = pod["metadata"]["annotations"][MIRROR].is_string();
    collector.conditions(|kind, status, condition| match (kind, status) {
        ("PodScheduled", "True") if !mirror => node.map(|node| ("Scheduled", format!("to {node}"))),
        ("PodScheduled", "False") if condition["reason"] == "SchedulingGated" => Some(("Gated", format!("held back by {gates}"))),
        ("PodScheduled", "False") => Some(("Refused", format!("last: {}", condition["message"].as_str().unwrap_or_default()))),
        ("PodReadyToStartContainers", "True") => Some(("SandboxReady", "network and volumes are there".to_owned())),
        ("Initialized", "True") => Some(("Initialized", String::new())),
        ("DisruptionTarget", "True") => Some(("Evicted", why(condition))),
        _ => None,
    });
    containers(collector);
    readiness(collector);
    ended(collector);
}

fn containers(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    const INIT: [&str; 3] = ["InitStarted", "InitFinished", "InitFailed"];
    const SIDECAR: [&str; 3] = ["SidecarStarted", "SidecarEnded", "SidecarFailed"];
    const DEBUG: [&str; 3] = ["DebugStarted", "DebugEnded", "DebugEnded"];
    for status in items(Some(pod), ["status", "initContainerStatuses"]) {
        aside(collector, status, if is_sidecar(pod, status) { SIDECAR } else { INIT }, "initContainerStatuses");
    }
    for status in items(Some(pod), ["status", "ephemeralContainerStatuses"]) {
        aside(collector, status, DEBUG, "ephemeralContainerStatuses");
    }
    let mut started: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for status in items(Some(pod), ["status", "containerStatuses"]) {
        let name = status["name"].as_str().unwrap_or_default();
        let (state, last) = (&status["state"], &status["lastState"]["terminated"]);
        let begun = [&state["running"], &state["terminated"]].into_iter().find_map(|state| state["startedAt"].as_str());
        let restarts = status["restartCount"].as_i64().unwrap_or(0);
        collector.add("Terminated", format!("{name}: {}", exit(last)), &last["finishedAt"], STATUSES);
        match begun {
            Some(begun) if restarts > 0 => {
                let because = if last.is_object() { format!(" after {}", exit(last)) } else { String::new() };
                collector.add("Restarted", format!("{name} for the {}{because}", ordinal(restarts)), &begun.into(), STATUSES);
            }
            Some(begun) => started.entry(begun.to_owned()).or_default().push(name),
            None => {}
        }
        let end = &state["terminated"];
        collector.add("Terminated", format!("{name}: {}", exit(end)), &end["finishedAt"], STATUSES);
    }
    for (at, names) in started {
        collector.add("ContainersStarted", names.join(", "), &at.into(), STATUSES);
    }
}

const STATUSES: Field<'static> = Field::Status("containerStatuses");

/// Init containers, sidecars and ephemeral containers: started, and ended well or badly.
fn aside(collector: &mut StepCollector<'_>, status: &Value, [started, finished, failed]: [&'static str; 3], list: &str) {
    let name = status["name"].as_str().unwrap_or_default();
    let (state, end) = (&status["state"], &status["state"]["terminated"]);
    // Of one that was restarted only the last run is known.
    for run in [&state["running"], end] {
        collector.add(started, name, &run["startedAt"], Field::Status(list));
    }
    let phase = if end["exitCode"] == 0 { finished } else { failed };
    collector.add(phase, format!("{name}: {}", exit(end)), &end["finishedAt"], Field::Status(list));
}

/// Ready since; not ready since, unless it never was: then the transition is that of its beginning on the node.
fn readiness(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    let Some(ready) = condition(pod, "Ready") else { return };
    let since = &ready["lastTransitionTime"];
    let field = Field::Condition("Ready");
    if ready["status"] == "True" {
        return collector.add("Ready", "", since, field);
    }
    let first = |list: &str| {
        let starts = items(Some(pod), ["status", list]).iter().flat_map(|status| {
            [&status["state"], &status["lastState"]]
                .into_iter()
                .flat_map(|state| [&state["running"]["startedAt"], &state["terminated"]["startedAt"]])
        });
        starts.filter_map(time).min()
    };
    // A container must have run before the pod could be ready.
    if first("containerStatuses").zip(time(since)).is_some_and(|(started, since)| since > started) {
        collector.add("NotReady", why(ready), since, field);
    }
}

/// The end of the last container is the pod's.
fn ended(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    let phase = match pod["status"]["phase"].as_str() {
        Some("Succeeded") => "Succeeded",
        Some("Failed") => "Failed",
        _ => return,
    };
    let statuses = items(Some(pod), ["status", "containerStatuses"]);
    let ends = statuses.iter().map(|status| status["state"]["terminated"]["finishedAt"].as_str());
    if let Some(end) = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max()) {
        let detail = if phase == "Failed" { why(&pod["status"]) } else { String::new() };
        collector.add(phase, detail, &end.into(), STATUSES);
    }
}

//! A pod's steps: scheduled, initialized, containers started and ended, ready.

use std::collections::BTreeMap;

use serde_json::Value;

use super::managed::StatusField;
use super::{StepCollector, StepDetail, StepKind, time, why};
use crate::timeline::pod::{exit, is_sidecar, names};
use crate::timeline::{ByField, condition, items};

/// The annotation of pods that a kubelet reads from a file: no scheduler sees them.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

pub(super) fn collect(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    let gates = names(items(Some(pod), ["spec", "schedulingGates"]));
    let node = pod["spec"]["nodeName"].as_str();
    let mirror = pod["metadata"]["annotations"][MIRROR_ANNOTATION].is_string();
    collector.conditions(|kind, status, condition| match (kind, status) {
        ("PodScheduled", "True") if !mirror => node.map(|node| (StepKind::Scheduled, StepDetail::Target(node.to_owned()))),
        ("PodScheduled", "False") if condition["reason"] == "SchedulingGated" => Some((StepKind::Gated, StepDetail::Gates(gates.clone()))),
        ("PodScheduled", "False") => {
            Some((StepKind::Refused, StepDetail::LastMessage(condition["message"].as_str().unwrap_or_default().to_owned())))
        }
        ("PodReadyToStartContainers", "True") => Some((StepKind::SandboxReady, StepDetail::None)),
        ("Initialized", "True") => Some((StepKind::Initialized, StepDetail::None)),
        ("DisruptionTarget", "True") => Some((StepKind::Evicted, why(condition).into())),
        _ => None,
    });
    containers(collector);
    readiness(collector);
    ended(collector);
}

fn containers(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    const INIT_STEPS: [StepKind; 3] = [StepKind::InitStarted, StepKind::InitFinished, StepKind::InitFailed];
    const SIDECAR_STEPS: [StepKind; 3] = [StepKind::SidecarStarted, StepKind::SidecarEnded, StepKind::SidecarFailed];
    const DEBUG_STEPS: [StepKind; 3] = [StepKind::DebugStarted, StepKind::DebugEnded, StepKind::DebugEnded];
    let init_containers = ByField::named(items(Some(pod), ["spec", "initContainers"]));
    for status in items(Some(pod), ["status", "initContainerStatuses"]) {
        aside(collector, status, if is_sidecar(&init_containers, status) { SIDECAR_STEPS } else { INIT_STEPS }, "initContainerStatuses");
    }
    for status in items(Some(pod), ["status", "ephemeralContainerStatuses"]) {
        aside(collector, status, DEBUG_STEPS, "ephemeralContainerStatuses");
    }
    let mut started: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for status in items(Some(pod), ["status", "containerStatuses"]) {
        let name = status["name"].as_str().unwrap_or_default();
        let (state, last) = (&status["state"], &status["lastState"]["terminated"]);
        let begun = [&state["running"], &state["terminated"]].into_iter().find_map(|state| state["startedAt"].as_str());
        let restarts = status["restartCount"].as_i64().unwrap_or(0);
        let ended = |end: &Value| StepDetail::ContainerEnded { container: name.to_owned(), exit: exit(end) };
        collector.add(StepKind::Terminated, ended(last), &last["finishedAt"], CONTAINER_STATUSES);
        match begun {
            Some(begun) if restarts > 0 => {
                let after = last.is_object().then(|| exit(last));
                let detail = StepDetail::Restarted { container: name.to_owned(), count: restarts, after };
                collector.add(StepKind::Restarted, detail, &begun.into(), CONTAINER_STATUSES);
            }
            Some(begun) => started.entry(begun.to_owned()).or_default().push(name.to_owned()),
            None => {}
        }
        let end = &state["terminated"];
        collector.add(StepKind::Terminated, ended(end), &end["finishedAt"], CONTAINER_STATUSES);
    }
    for (at, names) in started {
        collector.add(StepKind::ContainersStarted, StepDetail::Containers(names), &at.into(), CONTAINER_STATUSES);
    }
}

const CONTAINER_STATUSES: StatusField<'static> = StatusField::Status("containerStatuses");

/// Init containers, sidecars and ephemeral containers: started, and ended well or badly.
fn aside(collector: &mut StepCollector<'_>, status: &Value, [started, finished, failed]: [StepKind; 3], list: &str) {
    let name = || status["name"].as_str().unwrap_or_default().to_owned();
    let (state, end) = (&status["state"], &status["state"]["terminated"]);
    // A restarted container shows only its last run.
    for run in [&state["running"], end] {
        collector.add(started, StepDetail::Containers(vec![name()]), &run["startedAt"], StatusField::Status(list));
    }
    let phase = if end["exitCode"] == 0 { finished } else { failed };
    collector.add(phase, StepDetail::ContainerEnded { container: name(), exit: exit(end) }, &end["finishedAt"], StatusField::Status(list));
}

/// Ready since; not ready since, unless it never was: then the transition is that of its beginning on the node.
fn readiness(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    let Some(ready) = condition(pod, "Ready") else { return };
    let since = &ready["lastTransitionTime"];
    let field = StatusField::Condition("Ready");
    if ready["status"] == "True" {
        return collector.add(StepKind::Ready, StepDetail::None, since, field);
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
        collector.add(StepKind::NotReady, why(ready), since, field);
    }
}

fn ended(collector: &mut StepCollector<'_>) {
    let pod = collector.object;
    let phase = match pod["status"]["phase"].as_str() {
        Some("Succeeded") => StepKind::Succeeded,
        Some("Failed") => StepKind::Failed,
        _ => return,
    };
    let statuses = items(Some(pod), ["status", "containerStatuses"]);
    let ends = statuses.iter().map(|status| status["state"]["terminated"]["finishedAt"].as_str());
    if let Some(end) = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max()) {
        let detail = if phase == StepKind::Failed { why(&pod["status"]).into() } else { StepDetail::None };
        collector.add(phase, detail, &end.into(), CONTAINER_STATUSES);
    }
}

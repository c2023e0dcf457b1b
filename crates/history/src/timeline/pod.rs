//! A pod's steps: created, gated, refused, nominated, scheduled, initialized, started, ready, restarted, resized, evicted, deleting, gone.

use serde_json::Value;

use super::{ByField, ContainerExit, Step, StepDetail, StepKind, condition, generic, items, resize, turned, why};

/// Whether somebody may change this of a pod, and no other step shows it; other changes in spec are defaults that were added later.
fn is_news(path: &str) -> bool {
    let allowed = ["metadata.", "spec.tolerations", "spec.activeDeadlineSeconds", "spec.terminationGracePeriodSeconds"];
    allowed.iter().any(|start| path.starts_with(start))
        || path.starts_with("spec.") && path.ends_with(".image") && !path.starts_with("spec.ephemeralContainers")
}

const WAITING_IS_USUAL: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// Returns the steps between two neighbouring versions of a pod; `before` is `None` at its creation.
pub(super) fn steps(before: Option<&Value>, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    match before {
        None => created(after, &mut steps),
        Some(before) => {
            scheduling(before, after, &mut steps);
            debugging(before, after, &mut steps);
            let resized = resize::requested(before, after);
            // The binding copies labels of the node (KEP 4742), which nobody asked for.
            let bound = before["spec"]["nodeName"].is_null() && after["spec"]["nodeName"].is_string();
            if resized.is_empty() && !bound {
                steps.extend(generic::changed(before, after, is_news));
            }
            steps.extend(resized);
        }
    }
    containers(before, after, &mut steps);
    if let Some(before) = before {
        steps.extend(resize::answered(before, after));
        ending(before, after, &mut steps);
    }
    steps
}

fn created(pod: &Value, steps: &mut Vec<Step>) {
    steps.push(generic::created(pod));
    let gates = names(items(Some(pod), ["spec", "schedulingGates"]));
    if !gates.is_empty() {
        steps.push(Step::new(StepKind::Gated, StepDetail::Gates(gates)));
    }
    if let Some(node) = pod["spec"]["nodeName"].as_str() {
        steps.push(Step::new(StepKind::Scheduled, StepDetail::CreatedOn(node.to_owned())));
    }
}

/// Ephemeral containers that somebody asked for: `kubectl debug`.
fn debugging(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (items(Some(before), ["spec", "ephemeralContainers"]), items(Some(after), ["spec", "ephemeralContainers"]));
    let old = ByField::named(old);
    for container in new.iter().filter(|container| old.find(&container["name"]).is_none()) {
        let detail = StepDetail::ContainerImage { container: text(&container["name"]), image: text(&container["image"]) };
        steps.push(Step::new(StepKind::DebugRequested, detail));
    }
}

fn scheduling(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (items(Some(before), ["spec", "schedulingGates"]), items(Some(after), ["spec", "schedulingGates"]));
    if new.len() < old.len() {
        let left = ByField::named(new);
        let gone: Vec<Value> = old.iter().filter(|gate| left.find(&gate["name"]).is_none()).cloned().collect();
        let kind = if new.is_empty() { StepKind::Ungated } else { StepKind::GateRemoved };
        steps.push(Step::new(kind, StepDetail::GatesRemoved { removed: names(&gone), left: names(new) }));
    }
    let refusal =
        |pod| condition(pod, "PodScheduled").filter(|refused| refused["status"] == "False" && refused["reason"] == "Unschedulable");
    if let Some(refused) = refusal(after).filter(|refused| refusal(before).is_none_or(|known| known["message"] != refused["message"])) {
        steps.push(Step::new(StepKind::Refused, StepDetail::Message(text(&refused["message"]))));
    }
    let (old, new) = (&before["status"]["nominatedNodeName"], &after["status"]["nominatedNodeName"]);
    match new.as_str().filter(|_| old != new) {
        Some(node) => steps.push(Step::new(StepKind::Nominated, StepDetail::Target(node.to_owned()))),
        None if old != new => steps.push(Step::new(StepKind::NominationCleared, StepDetail::Target(text(old)))),
        None => {}
    }
    if let (None, Some(node)) = (before["spec"]["nodeName"].as_str(), after["spec"]["nodeName"].as_str()) {
        steps.push(Step::new(StepKind::Scheduled, StepDetail::BoundTo(node.to_owned())));
    }
}

fn containers(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    if turned(before, after, "PodReadyToStartContainers").is_some_and(|(_, now, _)| now == "True") {
        steps.push(Step::new(StepKind::SandboxReady, StepDetail::None));
    }
    let init_containers = ByField::named(items(Some(after), ["spec", "initContainers"]));
    for (list, init) in [("initContainerStatuses", true), ("ephemeralContainerStatuses", false)] {
        let old = ByField::named(items(before, ["status", list]));
        for status in items(Some(after), ["status", list]) {
            aside(old.find(&status["name"]), status, init && !is_sidecar(&init_containers, status), init, steps);
        }
    }
    if turned(before, after, "Initialized").is_some_and(|(_, now, _)| now == "True") {
        steps.push(Step::new(StepKind::Initialized, StepDetail::None));
    }
    let mut started = Vec::new();
    let mut creating = Vec::new();
    let old = ByField::named(items(before, ["status", "containerStatuses"]));
    for status in items(Some(after), ["status", "containerStatuses"]) {
        container(old.find(&status["name"]), status, &mut started, &mut creating, steps);
    }
    if !creating.is_empty() {
        steps.push(Step::new(StepKind::ContainersCreating, StepDetail::Containers(creating)));
    }
    if !started.is_empty() {
        steps.push(Step::new(StepKind::ContainersStarted, StepDetail::Containers(started)));
    }
    match turned(before, after, "Ready") {
        Some((_, "True", _)) => steps.push(Step::new(StepKind::Ready, StepDetail::None)),
        Some(("True", _, now)) => steps.push(Step::new(StepKind::NotReady, why(now))),
        _ => {}
    }
}

/// Init containers, sidecars and ephemeral containers: each on its own, as they run one after the other.
fn aside(before: Option<&Value>, status: &Value, init: bool, sidecar: bool, steps: &mut Vec<Step>) {
    let name = text(&status["name"]);
    let running = |status: &Value| status["state"]["running"].is_object();
    let (started, finished, failed) = match (init, sidecar) {
        (true, _) => (StepKind::InitStarted, StepKind::InitFinished, StepKind::InitFailed),
        (false, true) => (StepKind::SidecarStarted, StepKind::SidecarEnded, StepKind::SidecarFailed),
        (false, false) => (StepKind::DebugStarted, StepKind::DebugEnded, StepKind::DebugEnded),
    };
    if running(status) && !before.is_some_and(running) {
        steps.push(Step::new(started, StepDetail::Containers(vec![name.clone()])));
    }
    let ended = &status["state"]["terminated"];
    if ended.is_object() && before.is_none_or(|before| before["state"]["terminated"] != *ended) {
        let phase = if ended["exitCode"] == 0 { finished } else { failed };
        steps.push(Step::new(phase, StepDetail::ContainerEnded { container: name, exit: exit(ended) }));
    }
}

fn container(before: Option<&Value>, status: &Value, started: &mut Vec<String>, creating: &mut Vec<String>, steps: &mut Vec<Step>) {
    let name = text(&status["name"]);
    let restarts = |status: &Value| status["restartCount"].as_i64().unwrap_or(0);
    let (state, old) = (&status["state"], before.map_or(&Value::Null, |before| &before["state"]));
    let again = before.map_or(0, restarts);
    if restarts(status) > again {
        let last = &status["lastState"]["terminated"];
        let after = last.is_object().then(|| exit(last));
        steps.push(Step::new(StepKind::Restarted, StepDetail::Restarted { container: name.clone(), count: restarts(status), after }));
    } else if state["running"].is_object() && !old["running"].is_object() {
        started.push(name.clone());
    }
    if state["terminated"].is_object() && state["terminated"] != old["terminated"] {
        let detail = StepDetail::ContainerEnded { container: name.clone(), exit: exit(&state["terminated"]) };
        steps.push(Step::new(StepKind::Terminated, detail));
    }
    let waiting = &state["waiting"];
    match waiting["reason"].as_str().filter(|reason| old["waiting"]["reason"] != **reason) {
        Some(reason) if WAITING_IS_USUAL.contains(&reason) => creating.push(name),
        Some(_) => steps.push(Step::new(StepKind::Waiting, StepDetail::ContainerWaits { container: name, reason: why(waiting) })),
        None => {}
    }
}

fn ending(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    if let Some((_, "True", marked)) = turned(Some(before), after, "DisruptionTarget") {
        steps.push(Step::new(StepKind::Evicted, why(marked)));
    }
    // The kubelet evicts under pressure by failing the pod; since 1.26 it also sets DisruptionTarget.
    let evicted = |pod: &Value| pod["status"]["reason"] == "Evicted";
    if evicted(after) && !evicted(before) && !steps.iter().any(|step| step.phase == StepKind::Evicted) {
        steps.push(Step::new(StepKind::Evicted, why(&after["status"])));
    }
    let (old, new) = (&before["status"]["phase"], &after["status"]["phase"]);
    match new.as_str().filter(|_| old != new) {
        Some("Succeeded") => steps.push(Step::new(StepKind::Succeeded, StepDetail::None)),
        Some("Failed") => steps.push(Step::new(StepKind::Failed, why(&after["status"]))),
        _ => {}
    }
    let metadata = &after["metadata"];
    if metadata["deletionTimestamp"].is_string() && !before["metadata"]["deletionTimestamp"].is_string() {
        let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        steps.push(Step::new(StepKind::Deleting, StepDetail::GracePeriod(grace)));
    }
}

/// Whether a status is that of a sidecar, given the pod's init containers.
pub(super) fn is_sidecar(init_containers: &ByField<'_>, status: &Value) -> bool {
    init_containers.find(&status["name"]).is_some_and(|container| container["restartPolicy"] == "Always")
}

pub(super) fn exit(terminated: &Value) -> ContainerExit {
    ContainerExit {
        reason: terminated["reason"].as_str().map(str::to_owned),
        code: terminated["exitCode"].as_i64(),
        signal: terminated["signal"].as_i64().filter(|signal| *signal != 0),
    }
}

pub(super) fn names(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| text(&item["name"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

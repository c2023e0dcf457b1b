//! A pod's steps: created, gated, refused, nominated, scheduled, initialized, started, ready, restarted, resized, evicted, deleting, gone.

use serde_json::Value;

use super::{Step, StepKind, condition, controller, generic, items, named, resize, turned, why};

/// Whether somebody may change this of a pod, and no other step tells it; what else changes in spec are defaults that came later.
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
    let owner = controller(pod).map(|owner| format!("for {} {}", text(&owner["kind"]), text(&owner["name"])));
    steps.push(Step::new(StepKind::Created, owner.unwrap_or_default()));
    let gates = names(items(Some(pod), ["spec", "schedulingGates"]));
    if !gates.is_empty() {
        steps.push(Step::new(StepKind::Gated, format!("held back by {gates}")));
    }
    if let Some(node) = pod["spec"]["nodeName"].as_str() {
        steps.push(Step::new(StepKind::Scheduled, format!("created on {node}, no scheduler asked")));
    }
}

/// Ephemeral containers that somebody asked for: `kubectl debug`.
fn debugging(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (items(Some(before), ["spec", "ephemeralContainers"]), items(Some(after), ["spec", "ephemeralContainers"]));
    for container in new.iter().filter(|container| named(old, &container["name"]).is_none()) {
        steps.push(Step::new(StepKind::DebugRequested, format!("{}: {}", text(&container["name"]), text(&container["image"]))));
    }
}

fn scheduling(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (items(Some(before), ["spec", "schedulingGates"]), items(Some(after), ["spec", "schedulingGates"]));
    if new.len() < old.len() {
        let gone: Vec<Value> = old.iter().filter(|gate| named(new, &gate["name"]).is_none()).cloned().collect();
        let left = if new.is_empty() { "no gate is left".to_owned() } else { format!("still held back by {}", names(new)) };
        steps.push(Step::new(
            if new.is_empty() { StepKind::Ungated } else { StepKind::GateRemoved },
            format!("{} removed, {left}", names(&gone)),
        ));
    }
    let refusal =
        |pod| condition(pod, "PodScheduled").filter(|refused| refused["status"] == "False" && refused["reason"] == "Unschedulable");
    if let Some(refused) = refusal(after).filter(|refused| refusal(before).is_none_or(|known| known["message"] != refused["message"])) {
        steps.push(Step::new(StepKind::Refused, text(&refused["message"])));
    }
    let (old, new) = (&before["status"]["nominatedNodeName"], &after["status"]["nominatedNodeName"]);
    match new.as_str().filter(|_| old != new) {
        Some(node) => steps.push(Step::new(StepKind::Nominated, format!("to {node}, where others make room"))),
        None if old != new => steps.push(Step::new(StepKind::NominationCleared, format!("no longer to {}", text(old)))),
        None => {}
    }
    if let (None, Some(node)) = (before["spec"]["nodeName"].as_str(), after["spec"]["nodeName"].as_str()) {
        steps.push(Step::new(StepKind::Scheduled, format!("bound to {node}")));
    }
}

fn containers(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    if turned(before, after, "PodReadyToStartContainers").is_some_and(|(_, now, _)| now == "True") {
        steps.push(Step::new(StepKind::SandboxReady, "network and volumes are there"));
    }
    for (list, init) in [("initContainerStatuses", true), ("ephemeralContainerStatuses", false)] {
        for status in items(Some(after), ["status", list]) {
            aside(named(items(before, ["status", list]), &status["name"]), status, init && !is_sidecar(after, status), init, steps);
        }
    }
    if turned(before, after, "Initialized").is_some_and(|(_, now, _)| now == "True") {
        steps.push(Step::new(StepKind::Initialized, ""));
    }
    let mut started = Vec::new();
    let mut creating = Vec::new();
    for status in items(Some(after), ["status", "containerStatuses"]) {
        let old = named(items(before, ["status", "containerStatuses"]), &status["name"]);
        container(old, status, &mut started, &mut creating, steps);
    }
    if !creating.is_empty() {
        steps.push(Step::new(StepKind::ContainersCreating, creating.join(", ")));
    }
    if !started.is_empty() {
        steps.push(Step::new(StepKind::ContainersStarted, started.join(", ")));
    }
    match turned(before, after, "Ready") {
        Some((_, "True", _)) => steps.push(Step::new(StepKind::Ready, "")),
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
        steps.push(Step::new(started, name.clone()));
    }
    let ended = &status["state"]["terminated"];
    if ended.is_object() && before.is_none_or(|before| before["state"]["terminated"] != *ended) {
        let phase = if ended["exitCode"] == 0 { finished } else { failed };
        steps.push(Step::new(phase, format!("{name}: {}", exit(ended))));
    }
}

fn container(before: Option<&Value>, status: &Value, started: &mut Vec<String>, creating: &mut Vec<String>, steps: &mut Vec<Step>) {
    let name = text(&status["name"]);
    let restarts = |status: &Value| status["restartCount"].as_i64().unwrap_or(0);
    let (state, old) = (&status["state"], before.map_or(&Value::Null, |before| &before["state"]));
    let again = before.map_or(0, restarts);
    if restarts(status) > again {
        let last = &status["lastState"]["terminated"];
        let because = if last.is_object() { format!(" after {}", exit(last)) } else { String::new() };
        steps.push(Step::new(StepKind::Restarted, format!("{name} for the {}{because}", ordinal(restarts(status)))));
    } else if state["running"].is_object() && !old["running"].is_object() {
        started.push(name.clone());
    }
    if state["terminated"].is_object() && state["terminated"] != old["terminated"] {
        steps.push(Step::new(StepKind::Terminated, format!("{name}: {}", exit(&state["terminated"]))));
    }
    let waiting = &state["waiting"];
    match waiting["reason"].as_str().filter(|reason| old["waiting"]["reason"] != **reason) {
        Some(reason) if WAITING_IS_USUAL.contains(&reason) => creating.push(name),
        Some(_) => steps.push(Step::new(StepKind::Waiting, format!("{name}: {}", why(waiting)))),
        None => {}
    }
}

fn ending(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    if let Some((_, "True", marked)) = turned(Some(before), after, "DisruptionTarget") {
        steps.push(Step::new(StepKind::Evicted, why(marked)));
    }
    // The kubelet evicts under pressure by failing the pod; since 1.26 it says so in DisruptionTarget too.
    let evicted = |pod: &Value| pod["status"]["reason"] == "Evicted";
    if evicted(after) && !evicted(before) && !steps.iter().any(|step| step.phase == StepKind::Evicted) {
        steps.push(Step::new(StepKind::Evicted, why(&after["status"])));
    }
    let (old, new) = (&before["status"]["phase"], &after["status"]["phase"]);
    match new.as_str().filter(|_| old != new) {
        Some("Succeeded") => steps.push(Step::new(StepKind::Succeeded, "")),
        Some("Failed") => steps.push(Step::new(StepKind::Failed, why(&after["status"]))),
        _ => {}
    }
    let metadata = &after["metadata"];
    if metadata["deletionTimestamp"].is_string() && !before["metadata"]["deletionTimestamp"].is_string() {
        let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        steps.push(Step::new(StepKind::Deleting, format!("{grace} s to end")));
    }
}

pub(super) fn is_sidecar(pod: &Value, status: &Value) -> bool {
    named(items(Some(pod), ["spec", "initContainers"]), &status["name"]).is_some_and(|container| container["restartPolicy"] == "Always")
}

/// How a container ended: `Error, exit 1`.
pub(super) fn exit(terminated: &Value) -> String {
    let code = terminated["exitCode"].as_i64().map_or_else(|| "exit ?".to_owned(), |code| format!("exit {code}"));
    let signal = terminated["signal"].as_i64().filter(|signal| *signal != 0).map(|signal| format!(", signal {signal}")).unwrap_or_default();
    match terminated["reason"].as_str() {
        Some(reason) => format!("{reason}, {code}{signal}"),
        None => format!("{code}{signal}"),
    }
}

pub(super) fn ordinal(number: i64) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix} time")
}

pub(super) fn names(items: &[Value]) -> String {
    items.iter().map(|item| text(&item["name"])).collect::<Vec<_>>().join(", ")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

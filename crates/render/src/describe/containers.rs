//! The containers of a pod or of a pod template: image, state, last state, restarts, what they request.

use serde_json::Value;

use super::Look;
use super::page::Page;
use crate::table::fields::{at, flag, int, list, scalar, text};
use crate::value::plain;

/// Where containers are specified, where their statuses are, and what they are called.
const CONTAINER_LISTS: [(&str, &str, &str); 3] = [
    ("initContainers", "initContainerStatuses", "Init container"),
    ("containers", "containerStatuses", "Container"),
    ("ephemeralContainers", "ephemeralContainerStatuses", "Ephemeral container"),
];

/// Adds every container of a pod's spec, with its status where there is one.
pub(super) fn add(spec: &Value, status: &Value, look: Look<'_>, page: &mut Page) {
    for (field, statuses, word) in CONTAINER_LISTS {
        for container in list(spec, field) {
            let name = text(container, "name");
            let status = list(status, statuses).iter().find(|status| text(status, "name") == name);
            page.heading(0, format!("{word} {name}"));
            add_one(container, status, look, page);
        }
    }
}

fn add_one(container: &Value, status: Option<&Value>, look: Look<'_>, page: &mut Page) {
    page.field(1, "Image", text(container, "image"));
    if let Some(status) = status {
        page.field(1, "State", state(&status["state"], look));
        page.field(1, "Last state", state(&status["lastState"], look));
        page.field(1, "Ready", if flag(status, "ready") { "yes" } else { "no" });
        page.field(1, "Restarts", int(status, "restartCount").to_string());
    }
    if text(container, "restartPolicy") == "Always" {
        page.field(1, "Restart policy", "Always (a sidecar)");
    }
    page.field(1, "Command", words(container));
    page.field(1, "Ports", ports(container));
    page.field(1, "Requests", resources(at(container, "resources.requests")));
    page.field(1, "Limits", resources(at(container, "resources.limits")));
    for (label, field) in [("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe")] {
        page.field(1, label, at(container, field).map(plain).unwrap_or_default());
    }
    page.list(1, "Mounts", list(container, "volumeMounts").iter().map(mount).collect());
}

/// `Running since 2026-…Z (3m ago)`; `Terminated: Error, exit code 1, 2026-…Z to 2026-…Z (3m ago)`; empty if there is none.
fn state(state: &Value, look: Look<'_>) -> String {
    if let Some(running) = at(state, "running") {
        return format!("Running since {} ({})", text(running, "startedAt"), look.ago(at(running, "startedAt")));
    }
    if let Some(waiting) = at(state, "waiting") {
        return with_message(format!("Waiting: {}", text(waiting, "reason")), waiting);
    }
    let Some(ended) = at(state, "terminated") else { return String::new() };
    let how = match (text(ended, "reason"), int(ended, "signal")) {
        ("", 0) => "Terminated".to_owned(),
        ("", signal) => format!("Terminated by signal {signal}"),
        (reason, _) => format!("Terminated: {reason}"),
    };
    let (from, to) = (text(ended, "startedAt"), text(ended, "finishedAt"));
    let times = format!("{from} to {to} ({})", look.ago(at(ended, "finishedAt")));
    with_message(format!("{how}, exit code {}, {times}", int(ended, "exitCode")), ended)
}

fn with_message(text: String, of: &Value) -> String {
    match of["message"].as_str().unwrap_or_default().trim() {
        "" => text,
        message => format!("{text}: {message}"),
    }
}

fn words(container: &Value) -> String {
    let words = list(container, "command").iter().chain(list(container, "args"));
    words.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn ports(container: &Value) -> String {
    let port = |port: &Value| {
        let host = match int(port, "hostPort") {
            0 => String::new(),
            host => format!(" (host port {host})"),
        };
        let protocol = text(port, "protocol");
        format!("{}/{}{host}", int(port, "containerPort"), if protocol.is_empty() { "TCP" } else { protocol })
    };
    list(container, "ports").iter().map(port).collect::<Vec<_>>().join(", ")
}

/// `cpu 100m, memory 1Gi`.
pub(super) fn resources(resources: Option<&Value>) -> String {
    let of = resources.and_then(Value::as_object).into_iter().flatten();
    of.map(|(name, quantity)| format!("{name} {}", scalar(quantity))).collect::<Vec<_>>().join(", ")
}

fn mount(mount: &Value) -> String {
    let read_only = if flag(mount, "readOnly") { ", read-only" } else { "" };
    format!("{} from {}{read_only}", text(mount, "mountPath"), text(mount, "name"))
}

//! Pods and their templates.

use serde_json::Value;

use super::fields::{at, containers, flag, int, is_true, labels, list, name, text, text_or, time};
use super::{Printer, View};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    match (group, kind) {
        ("", "Pod") => Some(Printer { columns: "NAME|READY|STATUS|RESTARTS|AGE|+IP|+NODE|+NOMINATED NODE|+READINESS GATES", cells: pod }),
        ("", "PodTemplate") => Some(Printer {
            columns: "NAME|CONTAINERS|IMAGES|POD LABELS",
            cells: |object, _| {
                let [names, images] = containers(object, "template.spec.containers");
                vec![name(object), names, images, labels(at(object, "template.metadata.labels"))]
            },
        }),
        _ => None,
    }
}

fn pod(pod: &Value, view: View) -> Vec<String> {
    let summary = ContainerSummary::of(pod);
    let restarts = match summary.last_restart {
        Some(_) if summary.restarts != 0 => format!("{} ({} ago)", summary.restarts, view.since(summary.last_restart)),
        _ => summary.restarts.to_string(),
    };
    let first_ip = || list(pod, "status.podIPs").first().map_or("", |ip| text(ip, "ip"));
    let ip = text_or(pod, "status.podIP", first_ip());
    vec![
        name(pod),
        format!("{}/{}", summary.ready, summary.total),
        summary.reason,
        restarts,
        view.age(pod),
        if ip.is_empty() { "<none>".to_owned() } else { ip },
        text_or(pod, "spec.nodeName", "<none>"),
        text_or(pod, "status.nominatedNodeName", "<none>"),
        readiness_gates(pod),
    ]
}

/// What a pod's row says of all its containers together.
struct ContainerSummary<'a> {
    ready: usize,
    total: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<&'a Value>,
}

impl<'a> ContainerSummary<'a> {
    fn of(pod: &'a Value) -> Self {
        let is_sidecar = |container: &Value| text(container, "restartPolicy") == "Always";
        let sidecars: Vec<&str> =
            list(pod, "spec.initContainers").iter().filter(|own| is_sidecar(own)).map(|own| text(own, "name")).collect();
        let phase = text(pod, "status.phase");
        let is_gated = |condition: &Value| text(condition, "type") == "PodScheduled" && text(condition, "reason") == "SchedulingGated";
        let mut summary = Self {
            ready: 0,
            total: list(pod, "spec.containers").len() + sidecars.len(),
            reason: match list(pod, "status.conditions").iter().any(is_gated) {
                true => "SchedulingGated".to_owned(),
                false => text_or(pod, "status.reason", phase),
            },
            restarts: 0,
            last_restart: None,
        };
        let (is_initializing, sidecar_restarts, last_sidecar_restart) = summary.add_init_containers(pod, &sidecars);
        if !is_initializing || is_true(pod, "Initialized") {
            (summary.restarts, summary.last_restart) = (sidecar_restarts, last_sidecar_restart);
            summary.add_containers(pod);
        }
        if at(pod, "metadata.deletionTimestamp").is_some() {
            if text(pod, "status.reason") == "NodeLost" {
                summary.reason = "Unknown".to_owned();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                summary.reason = "Terminating".to_owned();
            }
        }
        summary
    }

    /// Returns whether initialisation goes on (or failed), and restarts of sidecars alone with the last of them.
    fn add_init_containers(&mut self, pod: &'a Value, sidecars: &[&str]) -> (bool, i64, Option<&'a Value>) {
        let (mut sidecar_restarts, mut last_sidecar_restart) = (0, None);
        for (index, status) in list(pod, "status.initContainerStatuses").iter().enumerate() {
            let is_sidecar = sidecars.contains(&text(status, "name"));
            self.restarts += int(status, "restartCount");
            later(&mut self.last_restart, status);
            if is_sidecar {
                sidecar_restarts += int(status, "restartCount");
                later(&mut last_sidecar_restart, status);
            }
            let terminated = at(status, "state.terminated");
            let waiting = text(status, "state.waiting.reason");
            if terminated.is_some_and(|terminated| int(terminated, "exitCode") == 0) {
                continue;
            }
            if is_sidecar && flag(status, "started") {
                self.ready += usize::from(flag(status, "ready"));
                continue;
            }
            self.reason = match terminated {
                Some(terminated) => format!("Init:{}", ending(terminated)),
                None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                None => format!("Init:{index}/{}", list(pod, "spec.initContainers").len()),
            };
            return (true, sidecar_restarts, last_sidecar_restart);
        }
        (false, sidecar_restarts, last_sidecar_restart)
    }

    fn add_containers(&mut self, pod: &'a Value) {
        let (mut has_running, mut error) = (false, None);
        for status in list(pod, "status.containerStatuses").iter().rev() {
            self.restarts += int(status, "restartCount");
            later(&mut self.last_restart, status);
            let waiting = text(status, "state.waiting.reason");
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if let Some(terminated) = at(status, "state.terminated") {
                self.reason = ending(terminated);
                if int(terminated, "exitCode") != 0 {
                    error = Some(self.reason.clone());
                }
            } else if flag(status, "ready") && at(status, "state.running").is_some() {
                has_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if has_running && is_true(pod, "Ready") {
                self.reason = "Running".to_owned();
            } else if let Some(error) = error {
                self.reason = error;
            } else if has_running {
                self.reason = "NotReady".to_owned();
            }
        }
    }
}

fn ending(terminated: &Value) -> String {
    match (text(terminated, "reason"), int(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", int(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Keeps the latest end of a container's life before its present one.
fn later<'a>(last: &mut Option<&'a Value>, status: &'a Value) {
    let finished = at(status, "lastState.terminated.finishedAt");
    if time(finished) > time(*last) {
        *last = finished;
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| is_true(pod, text(gate, "conditionType"))).count();
    format!("{open}/{}", gates.len())
}

//! Sections of `describe` for a pod.

use serde_json::Value;

use super::page::Page;
use super::{Look, containers, metadata};
use crate::table::fields::{at, flag, int, list, text};
use crate::value::plain;

pub(super) fn add(pod: &Value, look: Look<'_>, page: &mut Page) {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    page.field(0, "Node", node(pod));
    page.field(0, "Nominated node", text(status, "nominatedNodeName"));
    page.field(0, "Phase", with_reason(status));
    let started = text(status, "startTime");
    page.field(0, "Started", if started.is_empty() { String::new() } else { format!("{started} ({})", look.ago(at(status, "startTime"))) });
    page.field(0, "IPs", ips(status));
    page.field(0, "QoS class", text(status, "qosClass"));
    page.field(0, "Priority", priority(spec));
    page.field(0, "Service account", text(spec, "serviceAccountName"));
    page.field(0, "Restart policy", text(spec, "restartPolicy"));
    page.field(0, "Scheduler", Some(text(spec, "schedulerName")).filter(|name| *name != "default-scheduler").unwrap_or_default());
    page.list(0, "Scheduling gates", list(spec, "schedulingGates").iter().map(|gate| text(gate, "name").to_owned()).collect());
    page.list(0, "Node selector", metadata::pairs(at(spec, "nodeSelector"), usize::MAX));
    page.field(0, "Affinity", at(spec, "affinity").map(plain).unwrap_or_default());
    page.list(0, "Topology spread", list(spec, "topologySpreadConstraints").iter().map(plain).collect());
    page.list(0, "Tolerations", list(spec, "tolerations").iter().map(toleration).collect());
    page.list(0, "Volumes", list(spec, "volumes").iter().map(volume).collect());
    page.list(0, "Resource claims", list(spec, "resourceClaims").iter().map(plain).collect());
    containers::add(spec, status, look, page);
}

fn node(pod: &Value) -> String {
    match (text(pod, "spec.nodeName"), text(pod, "status.hostIP")) {
        ("", _) => "none".to_owned(),
        (node, "") => node.to_owned(),
        (node, ip) => format!("{node} ({ip})"),
    }
}

fn with_reason(status: &Value) -> String {
    let parts = ["phase", "reason", "message"].map(|field| text(status, field).trim());
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

fn ips(status: &Value) -> String {
    let all: Vec<&str> = list(status, "podIPs").iter().map(|ip| text(ip, "ip")).collect();
    if all.is_empty() { text(status, "podIP").to_owned() } else { all.join(", ") }
}

fn priority(spec: &Value) -> String {
    match (int(spec, "priority"), text(spec, "priorityClassName")) {
        (0, "") => String::new(),
        (priority, "") => priority.to_string(),
        (priority, class) => format!("{priority} ({class})"),
    }
}

/// `key=value:NoExecute for 300s`, as kubectl writes tolerations.
pub(super) fn toleration(toleration: &Value) -> String {
    let [key, value, effect, operator] = ["key", "value", "effect", "operator"].map(|field| text(toleration, field));
    let mut words = if key.is_empty() { "every taint".to_owned() } else { key.to_owned() };
    if !value.is_empty() {
        words += &format!("={value}");
    }
    if !effect.is_empty() {
        words += &format!(":{effect}");
    }
    if !operator.is_empty() && operator != "Equal" {
        words += &format!(" op={operator}");
    }
    match at(toleration, "tolerationSeconds").and_then(Value::as_i64) {
        Some(seconds) => format!("{words} for {seconds}s"),
        None => words,
    }
}

/// `data: PersistentVolumeClaim web-data`; a source that has no name of its own is shown by its fields.
fn volume(volume: &Value) -> String {
    let name = text(volume, "name");
    let source = volume.as_object().into_iter().flatten().find(|(field, _)| *field != "name");
    let Some((source, fields)) = source else { return format!("{name}: EmptyDir") };
    let shown = match source.as_str() {
        "persistentVolumeClaim" => {
            format!("PersistentVolumeClaim {}{}", text(fields, "claimName"), if flag(fields, "readOnly") { ", read-only" } else { "" })
        }
        "configMap" => format!("ConfigMap {}", text(fields, "name")),
        "secret" => format!("Secret {}", text(fields, "secretName")),
        "hostPath" => format!("HostPath {}", text(fields, "path")),
        "emptyDir" => "EmptyDir".to_owned(),
        "projected" => format!("Projected: {}", projected(fields)),
        other => format!("{other} {}", plain(fields)),
    };
    format!("{name}: {shown}")
}

fn projected(fields: &Value) -> String {
    let source = |source: &Value| {
        let (kind, of) = source.as_object()?.iter().next()?;
        let name = text(of, "name");
        Some(if name.is_empty() { kind.clone() } else { format!("{kind} {name}") })
    };
    list(fields, "sources").iter().filter_map(source).collect::<Vec<_>>().join(", ")
}

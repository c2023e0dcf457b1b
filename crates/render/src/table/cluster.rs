//! The cluster's own things: nodes, namespaces, events, leases, quotas, classes of priority and runtime.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{at, flag, int, list, name, quantity, text, text_or};
use super::{Cells, Printer, TableView};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("", "Node") => ("NAME|STATUS|ROLES|AGE|VERSION|+INTERNAL-IP|+EXTERNAL-IP|+OS-IMAGE|+KERNEL-VERSION|+CONTAINER-RUNTIME", node),
        ("", "Namespace") => {
            ("NAME|STATUS|AGE", |object, view| vec![name(object), text(object, "status.phase").to_owned(), view.age(object)])
        }
        ("", "Event") => ("LAST SEEN|TYPE|REASON|OBJECT|+SUBOBJECT|+SOURCE|MESSAGE|+FIRST SEEN|+COUNT|+NAME", event),
        ("", "ResourceQuota") => ("NAME|REQUEST|LIMIT|AGE", resource_quota),
        ("coordination.k8s.io", "Lease") => {
            ("NAME|HOLDER|AGE", |object, view| vec![name(object), text(object, "spec.holderIdentity").to_owned(), view.age(object)])
        }
        ("coordination.k8s.io", "LeaseCandidate") => ("NAME|LEASENAME|BINARYVERSION|EMULATIONVERSION|AGE", |object, view| {
            let spec = ["leaseName", "binaryVersion", "emulationVersion"].map(|field| text(&object["spec"], field).to_owned());
            [vec![name(object)], spec.to_vec(), vec![view.age(object)]].concat()
        }),
        ("scheduling.k8s.io", "PriorityClass") => ("NAME|VALUE|GLOBAL-DEFAULT|AGE|PREEMPTIONPOLICY", |object, view| {
            let policy = text_or(object, "preemptionPolicy", "PreemptLowerPriority");
            vec![name(object), int(object, "value").to_string(), flag(object, "globalDefault").to_string(), view.age(object), policy]
        }),
        ("node.k8s.io", "RuntimeClass") => ("NAME|HANDLER|AGE", |object, view| {
            // v1alpha1 kept it in spec.runtimeHandler.
            let handler = text_or(object, "handler", text(object, "spec.runtimeHandler"));
            vec![name(object), handler, view.age(object)]
        }),
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn node(node: &Value, view: TableView) -> Vec<String> {
    let ready = list(node, "status.conditions").iter().rfind(|condition| text(condition, "type") == "Ready");
    let mut status = match ready.map(|ready| text(ready, "status")) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if flag(node, "spec.unschedulable") {
        status += ",SchedulingDisabled";
    }
    let address = |wanted: &str| {
        let found = list(node, "status.addresses").iter().find(|address| text(address, "type") == wanted);
        found.map_or("<none>".to_owned(), |address| text(address, "address").to_owned())
    };
    let info = |field: &str| text_or(&node["status"]["nodeInfo"], field, "<unknown>");
    let architecture = text(node, "status.nodeInfo.architecture");
    let kernel = if architecture.is_empty() { info("kernelVersion") } else { format!("{} ({architecture})", info("kernelVersion")) };
    vec![
        name(node),
        status,
        roles(node),
        view.age(node),
        text(node, "status.nodeInfo.kubeletVersion").to_owned(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        kernel,
        info("containerRuntimeVersion"),
    ]
}

/// From the labels `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE`.
fn roles(node: &Value) -> String {
    let labels = at(node, "metadata.labels").and_then(Value::as_object).into_iter().flatten();
    let role = |(key, value): (&'_ String, &'_ Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None => value.as_str().filter(|_| key == "kubernetes.io/role").map(str::to_owned),
    };
    let roles: BTreeSet<String> = labels.filter_map(role).filter(|role| !role.is_empty()).collect();
    if roles.is_empty() { "<none>".to_owned() } else { Vec::from_iter(roles).join(",") }
}

fn event(event: &Value, view: TableView) -> Vec<String> {
    let first = view.since(at(event, "firstTimestamp").or_else(|| at(event, "eventTime")));
    let last = at(event, "lastTimestamp");
    let mut last = if last.is_some() { view.since(last) } else { first.clone() };
    let mut count = int(event, "count").max(1);
    if let Some(series) = at(event, "series") {
        last = view.since(at(series, "lastObservedTime"));
        count = int(series, "count");
    }
    let kind = text(event, "involvedObject.kind").to_lowercase();
    let target = match text(event, "involvedObject.name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = text_or(event, "source.component", text(event, "reportingComponent"));
    let source = match text_or(event, "source.host", text(event, "reportingInstance")) {
        host if host.is_empty() => source,
        host => format!("{source}, {host}"),
    };
    vec![
        last,
        text(event, "type").to_owned(),
        text(event, "reason").to_owned(),
        target,
        text(event, "involvedObject.fieldPath").to_owned(),
        source,
        text(event, "message").trim().to_owned(),
        first,
        count.to_string(),
        name(event),
    ]
}

fn resource_quota(object: &Value, view: TableView) -> Vec<String> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in at(object, "status.hard").and_then(Value::as_object).into_iter().flatten() {
        let used = object["status"]["used"].get(resource);
        let line = format!("{resource}: {}/{}", quantity(used), quantity(Some(hard)));
        if resource.starts_with("limits.") { limits.push(line) } else { requests.push(line) }
    }
    vec![name(object), requests.join(", "), limits.join(", "), view.age(object)]
}

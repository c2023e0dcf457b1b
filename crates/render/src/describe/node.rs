//! What is worth knowing of a node: whether pods may run there, what it has, and what its pods ask of it.

use serde_json::Value;

use super::Look;
use super::page::Page;
use crate::table::fields::{at, flag, list, scalar, text};
use ketcd_cluster::describe::NodePods;

pub(super) fn add(node: &Value, pods: Option<&NodePods>, look: Look<'_>, page: &mut Page) {
    let (spec, info) = (&node["spec"], &node["status"]["nodeInfo"]);
    page.field(0, "Unschedulable", if flag(spec, "unschedulable") { "yes (cordoned)" } else { "no" });
    page.list(0, "Taints", list(spec, "taints").iter().map(|own| taint(own, look)).collect());
    let addresses = list(node, "status.addresses").iter();
    page.list(0, "Addresses", addresses.map(|address| format!("{} {}", text(address, "type"), text(address, "address"))).collect());
    let cidrs: Vec<&str> = list(spec, "podCIDRs").iter().filter_map(Value::as_str).collect();
    page.field(0, "Pod CIDRs", if cidrs.is_empty() { text(spec, "podCIDR").to_owned() } else { cidrs.join(", ") });
    page.field(0, "Provider ID", text(spec, "providerID"));
    page.field(0, "Kubelet", text(info, "kubeletVersion"));
    page.field(0, "Runtime", text(info, "containerRuntimeVersion"));
    let system = ["osImage", "kernelVersion", "architecture"].map(|field| text(info, field));
    page.field(0, "System", system.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "));
    if let Some(pods) = pods {
        page.field(0, "Pods", pods.count.to_string());
    }
    add_resources(node, pods, page);
    let volumes: Vec<&str> = list(node, "status.volumesAttached").iter().map(|volume| text(volume, "name")).collect();
    page.list(0, "Attached volumes", volumes.into_iter().map(str::to_owned).collect());
}

fn taint(taint: &Value, look: Look<'_>) -> String {
    let [key, value, effect] = ["key", "value", "effect"].map(|field| text(taint, field));
    let value = if value.is_empty() { String::new() } else { format!("={value}") };
    let added = look.ago(at(taint, "timeAdded"));
    let added = if added.is_empty() { added } else { format!(" (added {added})") };
    format!("{key}{value}:{effect}{added}")
}

/// Each resource: what there is, how much of it pods may have, and what they request.
fn add_resources(node: &Value, pods: Option<&NodePods>, page: &mut Page) {
    let Some(capacity) = at(node, "status.capacity").and_then(Value::as_object) else { return };
    page.heading(0, "Resources");
    for (name, has) in capacity {
        let allocatable = node["status"]["allocatable"].get(name).map_or_else(|| "none".to_owned(), scalar);
        let requested = match (name.as_str(), pods) {
            (_, None) => String::new(),
            ("pods", Some(pods)) => format!(", {} in use", pods.count),
            (name, Some(pods)) => format!(", {} requested", pods.requests.get(name).map_or("0", String::as_str)),
        };
        page.field(1, name, format!("{allocatable} allocatable of {}{requested}", scalar(has)));
    }
}

//! Which members of an object its row shows, for the kinds of which a cluster has many or whose objects are large: of those no more is decoded.

use std::sync::LazyLock;

use ketcd_kube::{FieldSet, Kind};

/// What every row may show: the name, ages, and columns for labels.
const METADATA: [&str; 5] =
    ["metadata.name", "metadata.namespace", "metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp"];

const POD: [&str; 18] = [
    "spec.nodeName",
    "spec.containers.name",
    "spec.initContainers.name",
    "spec.initContainers.restartPolicy",
    "spec.readinessGates",
    "status.phase",
    "status.reason",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
    "status.conditions.type",
    "status.conditions.status",
    "status.conditions.reason",
    "status.containerStatuses.ready",
    "status.containerStatuses.restartCount",
    "status.containerStatuses.state",
    "status.containerStatuses.lastState.terminated.finishedAt",
    "status.initContainerStatuses",
];

const NODE: [&str; 5] = ["spec.unschedulable", "status.conditions.type", "status.conditions.status", "status.addresses", "status.nodeInfo"];

static POD_ROW: LazyLock<FieldSet> = LazyLock::new(|| row(&POD));
static NODE_ROW: LazyLock<FieldSet> = LazyLock::new(|| row(&NODE));

fn row(fields: &[&'static str]) -> FieldSet {
    FieldSet::of(METADATA.iter().chain(fields).copied())
}

/// The members that the row of an object of `kind` shows; `None` where it may show any.
pub fn row_fields(kind: &Kind) -> Option<&'static FieldSet> {
    if kind.is_custom() { None } else { of_kind(&kind.group, &kind.kind) }
}

fn of_kind(group: &str, kind: &str) -> Option<&'static FieldSet> {
    match (group, kind) {
        ("", "Pod") => Some(&POD_ROW),
        ("", "Node") => Some(&NODE_ROW),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::{View, printer};
    use super::*;

    #[test]
    fn rows_show_no_more() {
        let view = View { now: "2026-11-20T22:16:12Z".parse().ok(), is_wide: true };
        let objects = include_str!("../../../testdata/tables/objects.ndjson");
        let mut seen = 0;
        for object in objects.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let kind = object["kind"].as_str().unwrap();
            let Some(fields) = of_kind("", kind).filter(|_| object["apiVersion"] == "v1") else { continue };
            let mut part = object.clone();
            fields.keep(&mut part);
            let cells = printer("", kind).cells;
            assert_eq!(cells(&part, view), cells(&object, view), "{object}");
            seen += 1;
        }
        assert!(seen > 20, "only {seen} objects");
    }
}

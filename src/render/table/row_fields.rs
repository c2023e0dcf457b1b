//! Which members of an object its row shows, for the kinds of which a cluster has many or whose objects are large: of those no more is decoded.

use std::sync::LazyLock;

use ketcd_kube::{FieldSet, Kind};

/// What the cells of every row may show: the name and ages.
const METADATA: [&str; 3] = ["metadata.name", "metadata.creationTimestamp", "metadata.deletionTimestamp"];

/// What tables show beside the cells, or select by.
const AROUND: [&str; 2] = ["metadata.namespace", "metadata.labels"];

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

const NODE: [&str; 6] =
    ["metadata.labels", "spec.unschedulable", "status.conditions.type", "status.conditions.status", "status.addresses", "status.nodeInfo"];

static POD_ROW: LazyLock<RowFields> = LazyLock::new(|| RowFields::of(&POD));
static NODE_ROW: LazyLock<RowFields> = LazyLock::new(|| RowFields::of(&NODE));

/// The members of an object that its row needs.
pub struct RowFields {
    /// Needed for the columns of its kind.
    pub cells: FieldSet,
    /// The same, with namespace and labels.
    pub all: FieldSet,
}

impl RowFields {
    fn of(fields: &[&'static str]) -> Self {
        let cells = || METADATA.iter().chain(fields).copied();
        Self { cells: FieldSet::of(cells()), all: FieldSet::of(cells().chain(AROUND)) }
    }
}

/// The members that the row of an object of `kind` shows; `None` where it may show any.
pub fn row_fields(kind: &Kind) -> Option<&'static RowFields> {
    if kind.is_custom() { None } else { of_kind(&kind.group, &kind.kind) }
}

fn of_kind(group: &str, kind: &str) -> Option<&'static RowFields> {
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
            fields.cells.keep(&mut part);
            let cells = printer("", kind).cells;
            assert_eq!(cells(&part, view), cells(&object, view), "{object}");
            seen += 1;
        }
        assert!(seen > 20, "only {seen} objects");
    }
}

//! Which members of an object its row shows, for kinds with many or large objects. Only these members are decoded.

use std::sync::LazyLock;

use ketcd_kube::{FieldSet, Kind};

use super::PodRow;

/// Members that tables select or label rows by, and that the state is found by.
const COMMON_FIELDS: [&str; 3] = ["kind", "metadata.namespace", "metadata.labels"];

const NODE_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.labels",
    "spec.unschedulable",
    "status.conditions.type",
    "status.conditions.status",
    "status.addresses",
    "status.nodeInfo",
];

static POD_ROW: LazyLock<RowFields> = LazyLock::new(|| RowFields::of(FieldSet::read_by::<PodRow<'static>>(), true));
static NODE_ROW: LazyLock<RowFields> = LazyLock::new(|| RowFields::of(FieldSet::of(NODE_FIELDS), false));

/// The members of an object that its row needs.
pub struct RowFields {
    /// Needed for the columns of its kind.
    pub cells: FieldSet,
    /// The same, with kind, namespace and labels.
    pub all: FieldSet,
    /// Whether they are those of [`PodRow`].
    pub are_of_pods: bool,
}

impl RowFields {
    fn of(cells: FieldSet, are_of_pods: bool) -> Self {
        Self { are_of_pods, all: COMMON_FIELDS.iter().fold(cells.clone(), |all, path| all.with(path)), cells }
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
    use std::fs;

    use bytes::Bytes;
    use ketcd_history::state::state_of;
    use ketcd_kube::{Decoder, Kinds, Release, encode};
    use ketcd_store::{KeyValue, Revision};
    use ketcd_testing::testdata;
    use serde_json::Value;

    use super::super::pod::stored_row;
    use super::super::{TableView, printer};
    use super::*;

    #[test]
    fn rows_show_no_more() {
        let view = TableView { now: "2026-11-20T22:16:12Z".parse().ok(), is_wide: true, release: Release::NEWEST };
        let objects = fs::read_to_string(testdata::path("tables/objects.ndjson")).unwrap();
        let mut seen = 0;
        for object in objects.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let kind = object["kind"].as_str().unwrap();
            let Some(fields) = of_kind("", kind).filter(|_| object["apiVersion"] == "v1") else { continue };
            let mut part = object.clone();
            fields.cells.keep(&mut part);
            let cells = printer("", kind, view.release).cells;
            assert_eq!(cells(&part, view), cells(&object, view), "{object}");
            if fields.are_of_pods {
                rows_of_stored_pods_are_those_of_whole_ones(&object, view);
            }
            seen += 1;
        }
        assert!(seen > 20, "only {seen} objects");
    }

    fn rows_of_stored_pods_are_those_of_whole_ones(pod: &Value, view: TableView) {
        let (kinds, decoder, key) = (Kinds::builtin(), Decoder::new(), Bytes::from_static(b"/registry/pods/ns/a"));
        let value: Bytes = encode(pod, view.release).unwrap().expect("pods are stored as protobuf").into();
        let (create_revision, mod_revision, replaced) = (Revision(1), Revision(1), Revision(0));
        let entry = KeyValue { key, value, create_revision, mod_revision, version: 1, replaced, lease: 0 };
        let (row, unknown) = stored_row(view, kinds.find("pods").unwrap(), &decoder, &entry).expect("a row");
        let whole = decoder.decode(&entry.key, &entry.value, 1);
        let whole = whole.object().unwrap();
        assert_eq!(row.cells[0], whole["metadata"]["namespace"], "{whole}");
        assert_eq!(row.cells[1..], (printer("", "Pod", view.release).cells)(whole, view), "{whole}");
        assert!(row.tone == state_of(whole).tone && unknown.is_empty(), "{whole}");
    }
}

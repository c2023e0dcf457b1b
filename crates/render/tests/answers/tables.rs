//! Tables equal those of the API server's own printers, which made `testdata/tables`, on every kind that has columns.

use std::fs;
use std::io::Write as _;

use ketcd_kube::{Kinds, Release};
use ketcd_render::style::Plain;
use ketcd_render::table::{Decoration, LabelColumns, ObjectTable, TableView};
use ketcd_testing::testdata;
use serde_json::{Value, json};

use crate::fixture::text;

#[test]
fn tables_have_the_api_servers_default_columns() {
    check("table.txt", false);
}

#[test]
fn tables_have_the_api_servers_wide_columns() {
    check("wide.txt", true);
}

fn check(wanted: &str, is_wide: bool) {
    let read = |name: &str| fs::read_to_string(testdata::path("tables").join(name)).unwrap();
    let objects: Vec<Value> = read("objects.ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let view = TableView { now: "2026-11-21T10:00:00Z".parse().ok(), is_wide, release: Release(36) };
    let found = tables(&objects, view);
    let wanted = read(wanted);
    let differing: Vec<String> = found
        .lines()
        .zip(wanted.lines())
        .filter(|(found, wanted)| found != wanted)
        .map(|(found, wanted)| format!("want {wanted}\n got {found}"))
        .collect();
    assert!(differing.is_empty(), "{} lines differ:\n{}", differing.len(), differing.join("\n"));
    assert_eq!(found.lines().count(), wanted.lines().count());
}

/// Prints a section for each kind, in the order of their first objects.
fn tables(objects: &[Value], view: TableView) -> String {
    let kinds = Kinds::builtin();
    let mut sections: Vec<(String, ObjectTable)> = Vec::new();
    for object in objects {
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let group = api_version.rsplit_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        let heading = format!("# {kind}{group}\n");
        let index = sections.iter().position(|(own, _)| *own == heading).unwrap_or_else(|| {
            let kind = kinds.of_object(api_version, kind).unwrap_or_else(|| panic!("{heading} is no kind"));
            sections.push((heading, ObjectTable::new(Some(kind), view, LabelColumns::default())));
            sections.len() - 1
        });
        sections[index].1.push(object);
    }
    text(|out| {
        sections.into_iter().try_for_each(|(heading, table)| {
            write!(out, "{heading}")?;
            table.write(Decoration::default(), out)
        })
    })
}

fn cells(release: u16, object: &Value) -> Vec<String> {
    let view = TableView { now: "2026-11-24T20:00:00Z".parse().ok(), is_wide: true, release: Release(release) };
    let (kinds, field) = (Kinds::builtin(), |name: &str| object[name].as_str().unwrap());
    let kind = kinds.of_object(field("apiVersion"), field("kind")).unwrap();
    ObjectTable::new(Some(kind), view, LabelColumns::default()).cells(object)
}

/// What 1.37 prints otherwise than 1.36 (`pkg/printers/internalversion/printers.go`, apiextensions-apiserver `tableconvertor`).
#[test]
fn the_release_decides_what_is_printed() {
    let created = "2026-11-24T19:00:00Z";
    let object = |api_version: &str, kind: &str, rest: Value| {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "creationTimestamp": created}});
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    };
    let definition = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        json!({
        "spec": {"group": "a.io", "scope": "Cluster", "names": {"kind": "A", "shortNames": ["x", "y"]}, "versions": [
            {"name": "v1beta1", "served": true}, {"name": "v2", "served": false}, {"name": "v1", "served": true, "storage": true}]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]}}),
    );
    assert_eq!(cells(36, &definition), ["a", created]);
    assert_eq!(cells(37, &definition), ["a", "Cluster", "v1(storage),v1beta1", created, "a.io", "A", "x,y", "true"]);
    let group = object(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        json!({
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "workloadRef": {"workloadName": "w1"}},
        "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]}}),
    );
    assert_eq!(cells(37, &group), ["a", "Gang", "w1", "Scheduled", "60m"]);
    assert_eq!(cells(36, &group), ["a", "Gang", "<none>", "Pending", "60m"]);
    let composite = object("scheduling.k8s.io/v1alpha3", "CompositePodGroup", json!({"spec": {"schedulingPolicy": {"basic": {}}}}));
    assert_eq!(cells(37, &composite), ["a", "Basic", "<none>", "60m"]);
    let class = object("storage.k8s.io/v1", "StorageClass", json!({"provisioner": "p"}));
    let mut default = class.clone();
    default["metadata"]["annotations"] = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    assert_eq!((&*cells(36, &default)[0], &*cells(37, &default)[0], &*cells(36, &class)[0]), ("a (default)", "a", "a"));
}

#[test]
fn evictions_show_who_acts() {
    let request = json!({"apiVersion": "lifecycle.k8s.io/v1alpha1", "kind": "EvictionRequest",
        "metadata": {"name": "r", "creationTimestamp": "2026-11-24T19:59:00Z"},
        "spec": {"target": {"pod": {"name": "web-0"}}, "requester": "drain", "intent": "Eviction"},
        "status": {"observedGeneration": 1, "conditions": [{"type": "Failed", "status": "True", "reason": "EvictionInvalid"}]}});
    assert_eq!(cells(37, &request), ["r", "web-0", "Pod", "Failed (EvictionInvalid)", "drain", "Eviction", "60s"]);
    let mut eviction = json!({"apiVersion": "lifecycle.k8s.io/v1alpha1", "kind": "Eviction",
        "metadata": {"name": "e", "creationTimestamp": "2026-11-24T19:59:00Z"}, "spec": {"target": {}}, "status": {}});
    let wanted = ["e", "<unset>", "<unset>", "Pending", "<unset> (0/0)", "<unset>", "<unknown>", "<none>", "60s", "<unset>", "<unset>"];
    assert_eq!(cells(37, &eviction), wanted);
    eviction["status"] = json!({"observedGeneration": 2,
        "requesters": [{"name": "b", "intent": "Eviction"}, {"name": "a", "intent": "Eviction"}, {"name": "c", "intent": "Withdrawn"}],
        "targetResponders": [{"name": "old", "state": "Completed"}, {"name": "kubelet", "state": "Active"}, {"name": "next", "state": "Inactive"}],
        "responders": [{"name": "kubelet", "startTime": "2026-11-24T19:59:30Z", "expectedCompletionTime": "2026-11-24T20:00:45Z",
            "heartbeatTime": "2026-11-24T19:59:55Z", "message": " moving "}]});
    let wanted = [
        "e",
        "<unset>",
        "<unset>",
        "Progressing",
        "kubelet (2/3)",
        "Started (30s ago)",
        "in 45s",
        "a + 1 more...",
        "60s",
        "5s ago",
        "moving",
    ];
    assert_eq!(cells(37, &eviction), wanted);
    eviction["status"]["targetResponders"][1]["state"] = "Canceled".into();
    let found = cells(37, &eviction);
    assert_eq!(found[4..7], ["kubelet (2/3)", "Canceled", "-"]);
}

/// One class of a list is marked; none is marked when classes are requested by name.
#[test]
fn the_default_class_is_that_of_the_list() {
    let class = |name: &str, created: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p", "metadata": {
        "name": name, "creationTimestamp": created, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})
    };
    let (kinds, view) = (Kinds::builtin(), TableView { now: None, is_wide: false, release: Release(37) });
    let marked = |of_list: bool| -> Vec<String> {
        let mut table = ObjectTable::new(kinds.find("storageclasses").ok(), view, LabelColumns::default());
        [class("a", "2026-11-24T10:00:00Z"), class("b", "2026-11-24T11:00:00Z"), class("c", "2026-11-24T11:00:00Z")]
            .iter()
            .for_each(|class| table.push(class));
        let mut out = Plain::new(Vec::new());
        table.write(Decoration { of_list, without_headings: true, ..Decoration::default() }, &mut out).unwrap();
        String::from_utf8(out.into_inner())
            .unwrap()
            .lines()
            .filter(|line| line.contains("(default)"))
            .map(|line| line[..1].to_owned())
            .collect()
    };
    assert_eq!(marked(true), ["b"]);
    assert!(marked(false).is_empty());
}

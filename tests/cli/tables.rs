//! Tables equal those of the API server's own printers, which made `testdata/tables`, on every kind that has columns.

use std::fs;
use std::path::Path;

use ketcd::render::table::{Decoration, Labels, Table, View};
use ketcd_kube::Kinds;
use serde_json::Value;

#[test]
fn default_columns() {
    check("table.txt", false);
}

#[test]
fn wide_columns() {
    check("wide.txt", true);
}

fn check(wanted: &str, is_wide: bool) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tables");
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    let objects: Vec<Value> = read("objects.ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let view = View { now: "2026-11-21T10:00:00Z".parse().ok(), is_wide };
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
fn tables(objects: &[Value], view: View) -> String {
    let kinds = Kinds::builtin();
    let mut sections: Vec<(String, Table)> = Vec::new();
    for object in objects {
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let group = api_version.rsplit_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        let heading = format!("# {kind}{group}\n");
        let index = sections.iter().position(|(own, _)| *own == heading).unwrap_or_else(|| {
            let kind = kinds.of_object(api_version, kind).unwrap_or_else(|| panic!("{heading} is no kind"));
            sections.push((heading, Table::new(Some(kind), view, Labels::default())));
            sections.len() - 1
        });
        sections[index].1.push(object);
    }
    let mut out = Vec::new();
    for (heading, table) in sections {
        out.extend(heading.into_bytes());
        table.write(Decoration::default(), &mut out).unwrap();
    }
    String::from_utf8(out).unwrap()
}

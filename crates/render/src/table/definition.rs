//! CustomResourceDefinitions, which have columns of their own since 1.37.
//!
//! Source: apiextensions-apiserver v0.37 `pkg/registry/customresourcedefinition/tableconvertor`.

use ketcd_kube::Release;
use serde_json::Value;

use super::fields::{flag, is_true, joined, list, name, text};
use super::{Printer, TableView};

pub(super) fn printer(group: &str, kind: &str, release: Release) -> Option<Printer> {
    let is_definition = (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition");
    let columns = "NAME|SCOPE|VERSIONS|CREATED AT|+GROUP|+KIND|+SHORTNAMES|+ESTABLISHED";
    (is_definition && release >= Release(37)).then_some(Printer { columns, cells: definition })
}

fn definition(object: &Value, _: TableView) -> Vec<String> {
    let field = |path: &str| text(object, path).to_owned();
    vec![
        name(object),
        field("spec.scope"),
        versions(object),
        field("metadata.creationTimestamp"),
        field("spec.group"),
        field("spec.names.kind"),
        joined(object, "spec.names.shortNames"),
        is_true(object, "Established").to_string(),
    ]
}

/// The versions that are served, sorted.
fn versions(object: &Value) -> String {
    let served = list(object, "spec.versions").iter().filter(|version| flag(version, "served"));
    let label = |version: &Value| format!("{}{}", text(version, "name"), if flag(version, "storage") { "(storage)" } else { "" });
    let mut labels: Vec<String> = served.map(label).collect();
    labels.sort_unstable();
    labels.join(",")
}

//! Custom resources: read by the schemas of their definition, as an API server reads what it stored before the schema was as it is now.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::ketcd::ketcd;
use crate::server::Server;

/// A definition whose schemas have defaults, and an object that was stored before they had.
fn objects(folder: &Path) -> PathBuf {
    let schema = |properties: Value| json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}});
    let of_v1 = schema(json!({"size": {"type": "integer", "default": 3}, "old": {"type": "string"}, "mode": {"type": "string"}}));
    let of_v2 = schema(json!({"size": {"type": "integer"}, "mode": {"type": "string", "default": "fast"}}));
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets", "listKind": "WidgetList"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": of_v1},
            {"name": "v2", "served": true, "storage": false, "schema": of_v2},
        ]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    let widget = json!({
        "apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "shop", "generation": 1},
        "spec": {"old": "x", "gone": true, "mode": null},
    });
    let file = folder.join("objects.yaml");
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": [definition, widget]}).to_string()).unwrap();
    file
}

#[test]
fn schemas_say_what_is_left_out_and_filled_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = objects(folder.path());
    let server = Server::start(file.to_str().unwrap(), &[]);
    let path = |version: &str| format!("/apis/example.org/{version}/namespaces/shop/widgets");
    let (of_v1, of_v2) = (json!({"old": "x", "size": 3}), json!({"size": 3}));
    for (version, wanted) in [("v1", &of_v1), ("v2", &of_v2)] {
        assert_eq!(server.found(&format!("{}/a", path(version)))["spec"], *wanted, "{version}");
        let items = server.items(&path(version));
        assert_eq!((&items[0]["spec"], &items[0]["apiVersion"]), (wanted, &json!(format!("example.org/{version}"))));
    }
    for (arguments, pointer) in [
        (&["get", "widget/shop/a", "-o", "json"][..], "/spec"),
        (&["get", "widgets", "-n", "shop", "-o", "json"], "/items/0/spec"),
        (&["get", "widgets", "-n", "shop", "-o", "json", "--sort-by", ".metadata.name"], "/items/0/spec"),
    ] {
        let printed = ketcd().arg("-f").arg(&file).args(arguments).output().unwrap();
        let found: Value = serde_json::from_slice(&printed.stdout).unwrap();
        assert_eq!(found.pointer(pointer), Some(&of_v1), "{arguments:?}: {found}");
    }
}

//! `tree`: owners above, and what is owned below.

use super::*;

#[test]
fn what_is_asked_for_lost_owners_and_circles_are_drawn() {
    let node = json_of(&["tree", "node/node1", "-o", "json"]);
    assert_eq!((&node["asked"], &node["owned"][0]["kind"]), (&json!(true), &json!("Lease")));
    let object = |kind: &str, name: &str, owner: [&str; 3]| {
        let [owner_kind, owner_name, uid] = owner;
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "x", "uid": format!("uid-{name}"),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": owner_kind, "name": owner_name, "uid": uid}]}})
    };
    let objects = [
        object("Pod", "orphan", ["ReplicationController", "gone", "uid-gone"]),
        object("ConfigMap", "a", ["ConfigMap", "b", "uid-b"]),
        object("ConfigMap", "b", ["ConfigMap", "a", "uid-a"]),
    ];
    let tree = |address: &str| {
        let output = on_objects(&objects, &["tree", address, "-n", "x"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let lost = tree("pod/orphan");
    let lines: Vec<&str> = lost.lines().collect();
    assert!(lines[1].starts_with("ReplicationController/gone") && lines[1].contains("not found"), "{lost}");
    assert!(lines[2].contains("Pod/orphan"), "{lost}");
    assert!(tree("cm/a").contains("ConfigMap/b"), "{}", tree("cm/a"));
}

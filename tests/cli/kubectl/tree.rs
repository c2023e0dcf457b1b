//! `tree`: owners above, and what is owned below.

use super::*;

/// The names on the lines of a tree, without what is drawn before them.
fn names(tree: &str) -> Vec<&str> {
    let drawn = |c: char| "│├└─ ".contains(c);
    tree.lines().skip(1).filter_map(|line| line.trim_start_matches(drawn).split_whitespace().next()).collect()
}

#[test]
fn trees_hold_all_that_is_owned() {
    let replica_sets = json_of(&["get", "rs", "-n", "web", "-o", "json"]);
    let pods = json_of(&["get", "pods", "-n", "web", "-o", "json"]);
    for revision in ["700", "3190"] {
        let tree = text(&["tree", "deploy/web/tomcat", "--rev", revision]);
        assert!(names(&tree)[0] == "Deployment/tomcat", "{tree}");
    }
    let tree = text(&["tree", "deploy/web/tomcat"]);
    let shown: BTreeSet<&str> = names(&tree).into_iter().collect();
    let owned = |of: &Value, owner: &Value| {
        of["metadata"]["ownerReferences"].as_array().is_some_and(|all| all.iter().any(|one| one["uid"] == owner["metadata"]["uid"]))
    };
    let deployment = json_of(&["get", "deploy/web/tomcat", "-o", "json"]);
    let sets: Vec<&Value> = replica_sets["items"].as_array().unwrap().iter().filter(|set| owned(set, &deployment)).collect();
    let below: Vec<&Value> = pods["items"].as_array().unwrap().iter().filter(|pod| sets.iter().any(|set| owned(pod, set))).collect();
    let name = |kind: &str, object: &Value| format!("{kind}/{}", object["metadata"]["name"].as_str().unwrap());
    let wanted: Vec<String> = sets.iter().map(|set| name("ReplicaSet", set)).chain(below.iter().map(|pod| name("Pod", pod))).collect();
    assert!(sets.len() > 1 && below.len() > 1);
    assert_eq!(shown.len(), 1 + wanted.len());
    assert!(wanted.iter().all(|name| shown.contains(name.as_str())), "{tree}");
    // From below, the way up and nothing beside it.
    let pod = below[0]["metadata"]["name"].as_str().unwrap();
    let up = text(&["tree", &format!("pod/web/{pod}")]);
    let up = names(&up);
    assert!(up.len() == 3 && up[0] == "Deployment/tomcat" && up[2] == format!("Pod/{pod}"), "{up:?}");
    let node = json_of(&["tree", "node/node1", "-o", "json"]);
    assert_eq!((&node["asked"], &node["owned"][0]["kind"]), (&json!(true), &json!("Lease")));
}

#[test]
fn trees_lead_through_custom_resources_lost_owners_and_circles() {
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "apps.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "apps", "singular": "app", "kind": "App"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}});
    let owner = |api: &str, kind: &str, name: &str, uid: &str| json!([{"apiVersion": api, "kind": kind, "name": name, "uid": uid}]);
    let object = |api: &str, kind: &str, name: &str, owners: Value| {
        json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "x", "uid": format!("uid-{name}"),
            "creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": owners}})
    };
    let objects = [
        crd,
        object("example.com/v1", "App", "shop", json!([])),
        object("example.com/v1", "App", "part", owner("example.com/v1", "App", "shop", "uid-shop")),
        object("apps/v1", "Deployment", "web", owner("example.com/v1", "App", "part", "uid-part")),
        object("v1", "Pod", "orphan", owner("apps/v1", "ReplicaSet", "gone", "uid-gone")),
        // Another object has the name by now.
        object("v1", "Pod", "left", owner("example.com/v1", "App", "shop", "uid-of-before")),
        object("v1", "ConfigMap", "a", owner("v1", "ConfigMap", "b", "uid-b")),
        object("v1", "ConfigMap", "b", owner("v1", "ConfigMap", "a", "uid-a")),
    ];
    let tree = |address: &str| {
        let output = on_objects(&objects, &["tree", address, "-n", "x"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(names(&tree("app/shop")), ["App/shop", "App/part", "Deployment/web"]);
    assert_eq!(names(&tree("deploy/web")), ["App/shop", "App/part", "Deployment/web"]);
    for (pod, lost) in [("orphan", "ReplicaSet/gone"), ("left", "App/shop")] {
        let shown = tree(&format!("pod/{pod}"));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].starts_with(lost) && lines[1].contains("not found") && lines[2].contains(&format!("Pod/{pod}")), "{shown}");
    }
    let circle = tree("cm/a");
    assert!(names(&circle).contains(&"ConfigMap/b"), "{circle}");
}

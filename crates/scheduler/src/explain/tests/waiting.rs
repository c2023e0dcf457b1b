//! Pods that wait for their volumes or devices before they are bound.

use serde_json::{Value, json};

use super::history::{History, Pod, assumed, doubted, is_marked, scheduler, total};

const WAITING_POD: Pod =
    Pod { name: "waits", priority: 0, scheduler: "default-scheduler", claim: Some("c"), devices: None, image: "i", group: None };

/// A pod that waits, after `evidence` was written for it, while another one is bound; then it is bound too.
fn between(waits: &Pod, evidence: impl FnOnce(&mut History)) -> History {
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.volume("v", "n1", None);
    history.claim("c", &json!({}), None);
    history.pod(waits);
    evidence(&mut history);
    history.pod(&Pod { priority: 5, ..Pod::new("next") });
    history.bind(&Pod { priority: 5, ..Pod::new("next") }, "n2");
    (0..20).for_each(|_| {
        history.node("n2", &[]);
    });
    history
}

fn assert_counted(mut history: History, waits: &Pod) {
    let open = history.explained("next");
    assert_eq!((assumed(&open), doubted(&open)), (vec![("a/waits", "n1")], vec![]));
    assert!(total(&open, "n1") < total(&open, "n2"));
    history.bind(waits, "n1");
    assert_eq!(assumed(&history.explained("next")), [("a/waits", "n1")]);
}

#[test]
fn a_static_volume_that_was_taken_shows_the_node() {
    assert_counted(
        between(&WAITING_POD, |history| {
            history.volume("v", "n1", Some("c"));
        }),
        &WAITING_POD,
    );
}

#[test]
fn a_claim_to_be_provisioned_names_the_node() {
    assert_counted(
        between(&WAITING_POD, |history| {
            history.claim("c", &json!({"volume.kubernetes.io/selected-node": "n1"}), None);
        }),
        &WAITING_POD,
    );
}

#[test]
fn a_nomination_before_the_binding_names_the_node() {
    assert_counted(
        between(&WAITING_POD, |history| {
            history.put("pods/a/waits", WAITING_POD.object(None, json!({"phase": "Pending", "nominatedNodeName": "n1"})));
        }),
        &WAITING_POD,
    );
}

#[test]
fn devices_reserved_for_a_pod_show_that_it_was_assumed() {
    let claim = |status: Value| {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "d", "namespace": "a", "uid": "d"},
            "spec": {"devices": {"requests": []}}, "status": status})
    };
    let waits = Pod { claim: None, devices: Some("d"), ..WAITING_POD };
    let mut history = between(&waits, |history| {
        history.put("resourceclaims/a/d", claim(json!({})));
        let user = json!({"resource": "pods", "name": "waits", "uid": "waits"});
        history.put("resourceclaims/a/d", claim(json!({"allocation": {"devices": {"results": []}}, "reservedFor": [user]})));
    });
    history.bind(&waits, "n1");
    assert_eq!(assumed(&history.explained("next")), [("a/waits", "n1")], "the node is that of the binding");
}

#[test]
fn a_pod_whose_binding_failed_is_forgotten() {
    let mut history = between(&WAITING_POD, |history| {
        history.volume("v", "n1", Some("c"));
    });
    history.refuse(&WAITING_POD, "running PreBind plugin \"VolumeBinding\": binding volumes: timed out waiting for the condition");
    history.pod(&Pod::new("after"));
    history.bind(&Pod::new("after"), "n1");
    assert_eq!(assumed(&history.explained("next")), [("a/waits", "n1")]);
    assert!(assumed(&history.explained("after")).is_empty());
}

#[test]
fn a_new_process_does_not_know_what_the_one_before_had_assumed() {
    let history = between(&WAITING_POD, |history| {
        history.volume("v", "n1", Some("c"));
        history.restart();
    });
    assert!(assumed(&history.explained("next")).is_empty());
}

#[test]
fn a_volume_taken_before_the_last_refusal_shows_nothing() {
    let history = between(&WAITING_POD, |history| {
        history.volume("v", "n1", Some("c"));
        history.refuse(&WAITING_POD, "0/2 nodes are available");
    });
    assert!(assumed(&history.explained("next")).is_empty());
}

#[test]
fn another_process_sees_neither_the_assumption_nor_the_nomination() {
    let waits = Pod { priority: 5, scheduler: "other", ..WAITING_POD };
    let mut history = between(&waits, |history| {
        history.bind(&Pod::new("there"), "n1");
        history.put("pods/a/waits", waits.object(None, json!({"phase": "Pending", "nominatedNodeName": "n1"})));
    });
    history.bind(&waits, "n1");
    let unknown = crate::Scheduler { configured: false, ..scheduler(&["default-scheduler"]) };
    let next = history.explained_by(unknown, Some("next")).pop().unwrap();
    assert_eq!((assumed(&next), doubted(&next)), (vec![], vec!["a/waits"]), "it may be a profile of the same process");
    assert!(total(&next, "n1") < total(&next, "n2"), "n1 has room for one more");
}

#[test]
fn a_pod_that_was_forgotten_and_decided_about_again_is_two_decisions() {
    let selected = |node: &str| json!({"volume.kubernetes.io/selected-node": node});
    let mut history = History::with_nodes(&["n1", "n2", "n3"]);
    history.claim("c", &json!({}), None);
    history.pod(&WAITING_POD);
    let decided = |history: &mut History, name: &'static str, node: &str| {
        history.pod(&Pod::new(name));
        history.bind(&Pod::new(name), node);
    };
    history.claim("c", &selected("n1"), None);
    decided(&mut history, "first", "n3");
    history.claim("c", &json!({}), None);
    decided(&mut history, "between", "n2");
    history.claim("c", &selected("n2"), None);
    decided(&mut history, "second", "n1");
    (0..20).for_each(|_| {
        history.node("n3", &[]);
    });
    history.bind(&WAITING_POD, "n2");
    let [first, between, second] = ["first", "between", "second"].map(|name| history.explained(name));
    assert_eq!((assumed(&first), doubted(&first)), (vec![("a/waits", "n1")], vec![]));
    assert_eq!((assumed(&between), doubted(&between)), (vec![], vec!["a/waits"]), "it may have been forgotten already");
    assert!(is_marked(&between, "n1"));
    assert_eq!(assumed(&second), [("a/waits", "n2")]);
}

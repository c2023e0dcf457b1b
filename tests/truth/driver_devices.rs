//! A pod whose claim a driver allocates, from its creation to its binding: each attempt follows from the state it saw.

use ketcd_scheduler::cluster::ObjectKey;
use ketcd_scheduler::{Agreement, Explanation, Gates, Profile, Release, Replay, Scheduler, VersionEvidence, VersionFrom};
use serde_json::{Value, json};

const WAITS: &str = "0/1 nodes are available: 1 waiting for resource driver to allocate resource.";

fn history() -> Vec<(&'static str, Value)> {
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}]);
    let claim = |status: Value| {
        json!({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "a", "uid": "uc"},
            "spec": {"resourceClassName": "gpu", "allocationMode": "WaitForFirstConsumer"}, "status": status})
    };
    let pod = |spec: Value, status: Value| {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "u"},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": [{"name": "gpu", "source": {"resourceClaimName": "c"}}]}, "status": status});
        pod["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        pod
    };
    let context = |status: Value| {
        json!({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "PodSchedulingContext",
            "metadata": {"name": "p", "namespace": "a", "uid": "us", "ownerReferences": owner},
            "spec": {"potentialNodes": ["n1"], "selectedNode": "n1"}, "status": status})
    };
    let here = json!({"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]});
    let refused = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": WAITS});
    vec![
        (
            "minions/n1",
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}),
        ),
        (
            "resourceclasses/gpu",
            json!({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClass", "metadata": {"name": "gpu"}, "driverName": "d"}),
        ),
        ("resourceclaims/a/c", claim(json!({}))),
        ("pods/a/p", pod(json!({}), json!({"phase": "Pending"}))),
        ("podschedulingcontexts/a/p", context(json!({}))),
        ("pods/a/p", pod(json!({}), json!({"phase": "Pending", "conditions": [refused.clone()]}))),
        ("resourceclaims/a/c", claim(json!({"driverName": "d", "allocation": {"availableOnNodes": here}}))),
        (
            "resourceclaims/a/c",
            claim(json!({"driverName": "d", "allocation": {"availableOnNodes": here},
                "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]})),
        ),
        ("pods/a/p", pod(json!({"nodeName": "n1"}), json!({"phase": "Pending", "conditions": [refused]}))),
    ]
}

fn explained() -> Vec<Explanation> {
    let release = Release(29);
    let gates = Gates::new(release).parse("DynamicResourceAllocation=true").unwrap();
    let version = VersionFrom { release, patch: None, evidence: VersionEvidence::Given };
    let profiles = vec![Profile::new(release, gates)];
    let mut replay = Replay::new(Scheduler { profiles, recorded: release, version, configured: true }, true);
    let mut found = Vec::new();
    for (revision, (path, object)) in (1..).zip(history()) {
        let bytes = serde_json::to_vec(&object).unwrap();
        for attempt in replay.advance(&ObjectKey::parse(path).unwrap(), Some(&bytes), revision) {
            found.push(replay.explain(attempt));
        }
    }
    found
}

#[test]
fn the_driver_is_waited_for_then_the_pod_is_bound() {
    let attempts = explained();
    let [asked, bound] = attempts.as_slice() else { panic!("{} attempts", attempts.len()) };
    assert_eq!((asked.agreement, asked.judgement.message.as_deref()), (Agreement::Agrees, Some(WAITS)), "{:?}", asked.caveats);
    assert_eq!(asked.evaluated_revision, 4, "before the driver was asked");
    assert_eq!(asked.judgement.driver_waits[0].status, "Pending");
    assert_eq!((bound.agreement, bound.evaluated_revision), (Agreement::Agrees, 7), "{:?}", bound.caveats);
    assert!(bound.judgement.driver_waits.is_empty());
}

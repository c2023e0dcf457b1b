//! Devices that claims were seen to get, held against those the rules say: on a recorded cluster, and on histories made for it.

use std::path::Path;
use std::process::Command;

use ketcd_scheduler::cluster::ObjectKey;
use ketcd_scheduler::{
    Agreement, Depth, DeviceCheck, Explanation, FilterCheck, Gates, Profile, RecordedDevices, Release, Replay, Scheduler, VersionEvidence,
    VersionFrom,
};
use serde_json::{Value, json};

#[test]
fn a_real_scheduler_took_the_devices_that_the_rules_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k136-story/snapshot.db.zst");
    for (pod, claim, request, pool) in [("infer-1", "shared", "gpu", "node3"), ("train-1", "train-1-g-4wf9z", "gpu/small", "node1")] {
        let mut ketcd = Command::new(env!("CARGO_BIN_EXE_ketcd"));
        let output = ketcd.arg("-f").arg(&file).args(["explain", &format!("pod/lab/{pod}"), "-o", "json"]).output().unwrap();
        let explanation: Value = serde_json::from_slice(&output.stdout).unwrap();
        let claim = json!({"kind": "ResourceClaim", "namespace": "lab", "name": claim});
        let device = json!([{"claim": claim, "request": request, "driver": "gpu.example.com", "pool": pool, "device": "gpu-0"}]);
        let recorded = &explanation["recordedDevices"];
        assert_eq!((&recorded[0]["devices"], &recorded[0]["agrees"]), (&device, &json!(true)), "{pod}: {recorded}");
        assert_eq!(recorded.as_array().map(Vec::len), Some(1), "{pod}");
        let nodes = explanation["nodes"].as_array().unwrap();
        let on_it = nodes.iter().find(|node| node["name"] == pool).unwrap();
        assert_eq!(on_it["devices"], device, "{pod}");
    }
}

/// A pod that gets `device` of `pool` for its claim on n1, where two pools have two devices each.
fn history(pool: &str, device: &str) -> Vec<(String, Value)> {
    let slice = |pool: &str| {
        let devices = json!([{"name": "d0"}, {"name": "d1"}]);
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": pool, "uid": pool},
            "spec": {"driver": "gpu", "nodeName": "n1", "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}, "devices": devices}})
    };
    let claim = |status: Value| {
        let request = json!({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}});
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "a", "uid": "uc"},
            "spec": {"devices": {"requests": [request]}}, "status": status})
    };
    let pod = |node: Option<&str>| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "u"},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}], "nodeName": node,
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}, "status": {"phase": "Pending"}})
    };
    let result = json!({"request": "r", "driver": "gpu", "pool": pool, "device": device});
    let user = json!({"resource": "pods", "name": "p", "uid": "u"});
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}});
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}});
    let all = [
        ("minions/n1", node),
        ("deviceclasses/gpu", class),
        ("resourceslices/pool-a", slice("pool-a")),
        ("resourceslices/pool-b", slice("pool-b")),
        ("resourceclaims/a/c", claim(json!({}))),
        ("pods/a/p", pod(None)),
        ("resourceclaims/a/c", claim(json!({"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}))),
        ("pods/a/p", pod(Some("n1"))),
    ];
    all.map(|(path, object)| (path.to_owned(), object)).into()
}

fn explained(release: Release, history: Vec<(String, Value)>) -> Explanation {
    let version = VersionFrom { release, patch: None, evidence: VersionEvidence::Given };
    let profiles = vec![Profile::new(release, Gates::new(release))];
    let scheduler = Scheduler { profiles, recorded: release, version, configured: true };
    let mut replay = Replay::new(scheduler, true).with_depth(Depth::Node("n1".into()));
    let mut found = Vec::new();
    for (revision, (path, object)) in (1..).zip(history) {
        for attempt in replay.advance(&ObjectKey::parse(&path).unwrap(), Some(&serde_json::to_vec(&object).unwrap()), revision) {
            found.push(replay.explain(attempt));
        }
    }
    found.pop().unwrap()
}

/// What was seen: the device, when it was written and whether the rules say the same.
fn seen(explanation: &Explanation) -> Vec<(&str, i64, Option<bool>)> {
    let each = explanation.recorded_devices.iter().map(|RecordedDevices { devices, revision, agrees, .. }| {
        let [(_, _, _, device)] = devices.allocation.devices.as_slice() else { panic!("{devices:?}") };
        assert_eq!(devices.claim, "a/c");
        (device.as_str(), *revision, *agrees)
    });
    each.collect()
}

#[test]
fn devices_that_were_recorded_agree_or_do_not() {
    let same = explained(Release(36), history("pool-a", "d0"));
    assert_eq!(seen(&same), [("d0", 7, Some(true))]);
    let other = explained(Release(36), history("pool-a", "d1"));
    assert_eq!(seen(&other), [("d1", 7, Some(false))]);
    let rules = &other.devices[0].claims[0].allocation.devices[0];
    assert_eq!((rules.2.as_str(), rules.3.as_str()), ("pool-a", "d0"));
    // The node is the same either way.
    assert_eq!([same.agreement, other.agreement], [Agreement::Agrees; 2]);
    let compared = |of: &Explanation| {
        of.evidence.iter().flat_map(|evidence| &evidence.facts).find_map(|fact| match &fact.check {
            FilterCheck::Devices(DeviceCheck::Recorded { agrees, .. }) => Some((fact.holds, *agrees)),
            _ => None,
        })
    };
    assert_eq!([compared(&same), compared(&other)], [Some((true, Some(true))), Some((false, Some(false)))]);
}

#[test]
fn where_pools_come_in_random_order_another_device_is_no_contradiction() {
    assert_eq!(seen(&explained(Release(35), history("pool-b", "d0"))), [("d0", 7, None)]);
    assert_eq!(seen(&explained(Release(36), history("pool-b", "d0"))), [("d0", 7, Some(false))], "1.36 takes them by name");
}

//! Claims, volumes and disks as 1.9 to 1.17 look at them.

use ketcd_scheduler::{Verdict, WholePod};
use serde_json::{Value, json};

use super::cluster::{Cluster, claiming, fitting, node, three, with};

/// The text is that of the release; up to 1.16 each node that gets so far adds one, in 1.17 the first ends the attempt.
#[test]
fn a_claim_that_nobody_binds() {
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}, "spec": {}});
    let mut objects = three();
    objects.push(claim.clone());
    let cluster = Cluster::new(objects.clone());
    let message = |release| cluster.message(release, &claiming("data"));
    assert_eq!(message(9), "", "1.9 does not look at claims");
    assert_eq!(message(10), "pod has unbound PersistentVolumeClaims (repeated 3 times)");
    for release in 11..=16 {
        assert_eq!(message(release), "pod has unbound immediate PersistentVolumeClaims (repeated 3 times)", "1.{release}");
    }
    let text = "error while running \"VolumeBinding\" filter plugin for pod \"new\": pod has unbound immediate PersistentVolumeClaims";
    assert_eq!(message(17), text);
    // A node that an earlier predicate refuses does not get so far.
    objects[0]["spec"] = json!({"taints": [{"key": "a", "effect": "NoSchedule"}]});
    assert_eq!(Cluster::new(objects).message(13, &claiming("data")), "pod has unbound immediate PersistentVolumeClaims (repeated 2 times)");
}

#[test]
fn a_claim_that_is_missing_or_going_ends_the_attempt_from_1_10_on() {
    let going = json!({"kind": "PersistentVolumeClaim", "spec": {"volumeName": "pv"},
        "metadata": {"name": "data", "namespace": "default", "deletionTimestamp": "2026-01-01T00:00:00Z",
                     "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}});
    let volume = json!({"kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {}});
    let mut objects = three();
    objects.extend([going, volume]);
    let cluster = Cluster::new(objects);
    for release in 10..=17 {
        assert_eq!(cluster.message(release, &claiming("none")), "persistentvolumeclaim \"none\" not found", "1.{release}");
        assert_eq!(cluster.message(release, &claiming("data")), "persistentvolumeclaim \"data\" is being deleted", "1.{release}");
    }
    assert_eq!(fitting(&cluster.evaluate(9, &claiming("none"))).len(), 3);
    assert!(matches!(cluster.evaluate(13, &claiming("none")).whole_pod, Some(WholePod::Error(_))));
}

/// An unbound claim on a node with a zone label: up to 1.14 in one word, from 1.15 on in another.
#[test]
fn zones_and_unbound_claims() {
    let zoned = with(node("n1"), "/metadata/labels/failure-domain.beta.kubernetes.io~1zone", json!("a"));
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}, "spec": {}});
    let cluster = Cluster::new([zoned, node("n2"), claim]);
    assert_eq!(cluster.message(9, &claiming("data")), "PersistentVolumeClaim is not bound: \"data\"");
    let zone = |release| {
        let judgement = cluster.evaluate(release, &claiming("data"));
        let at = judgement.filters.iter().position(|name| matches!(*name, "NoVolumeZoneConflict" | "VolumeZone")).unwrap();
        (judgement.nodes[0].verdicts[at].clone(), judgement.nodes[1].verdicts[at].clone())
    };
    for (release, verb) in [(10, "is not bound"), (14, "is not bound"), (15, "was not found"), (17, "was not found")] {
        let want = Verdict::Error(format!("PersistentVolumeClaim {verb}: \"data\""));
        assert_eq!(zone(release), (want, Verdict::Pass), "1.{release}");
    }
}

/// A volume that names its claim, before and after both sides agreed.
#[test]
fn claims_that_name_their_volume() {
    let class = json!({"kind": "StorageClass", "metadata": {"name": "local"}, "provisioner": "example.com/p", "volumeBindingMode": "WaitForFirstConsumer"});
    let claim = |extra: Value| {
        let mut claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default", "uid": "u"},
                               "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}});
        for (field, value) in extra.as_object().unwrap() {
            claim["metadata"][field] = value.clone();
        }
        claim
    };
    let free = json!({"kind": "PersistentVolume", "metadata": {"name": "pv"}, "status": {"phase": "Pending"},
        "spec": {"storageClassName": "local", "capacity": {"storage": "1Gi"}, "accessModes": []}});
    // Up to 1.12 the phase of a volume does not matter; from 1.12 on the class may provision one.
    let cluster = Cluster::new([node("n1"), class.clone(), claim(json!({})), free.clone()]);
    for release in 10..=17 {
        assert_eq!(fitting(&cluster.evaluate(release, &claiming("data"))), ["n1"], "1.{release}");
    }
    let static_only = with(class.clone(), "/provisioner", json!("kubernetes.io/no-provisioner"));
    let cluster = Cluster::new([node("n1"), static_only, claim(json!({})), free]);
    let none = "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.";
    for release in 10..=17 {
        let want = if release <= 12 { "" } else { none };
        assert_eq!(cluster.message(release, &claiming("data")), want, "1.{release}");
    }
    // Without any volume, 1.10 and 1.11 do not think of provisioning.
    let cluster = Cluster::new([node("n1"), class.clone(), claim(json!({}))]);
    for release in 10..=17 {
        let want = if release <= 11 { none } else { "" };
        assert_eq!(cluster.message(release, &claiming("data")), want, "1.{release}");
    }
    // Once a node was selected, 1.12 and 1.13 wait for the claim to be bound.
    let selected = claim(json!({"annotations": {"volume.kubernetes.io/selected-node": "n1"}}));
    let cluster = Cluster::new([node("n1"), class, selected]);
    for (release, want) in
        [(12, "pod has unbound immediate PersistentVolumeClaims"), (13, "pod has unbound immediate PersistentVolumeClaims"), (14, "")]
    {
        assert_eq!(cluster.message(release, &claiming("data")), want, "1.{release}");
    }
}

/// Disks: a claim without its volume counts for every kind up to 1.15.
#[test]
fn disks_behind_claims_without_volumes() {
    let full = with(node("n1"), "/status/allocatable/attachable-volumes-gce-pd", json!("0"));
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}, "spec": {}});
    let cluster = Cluster::new([full, claim]);
    let refused = |release| {
        let judgement = cluster.evaluate(release, &claiming("data"));
        let at = judgement.filters.iter().position(|name| matches!(*name, "MaxGCEPDVolumeCount" | "GCEPDLimits")).unwrap();
        judgement.nodes[0].verdicts[at].clone()
    };
    for release in 9..=17 {
        let want = match release {
            // Up to 1.11 limits are not read from the node.
            12..=15 => Verdict::unschedulable("node(s) exceed max volume count"),
            _ => Verdict::Pass,
        };
        assert_eq!(refused(release), want, "1.{release}");
    }
}

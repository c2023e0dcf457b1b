//! What `triage`'s rules find in made-up clusters: each on the case it is for, on a healthy variant, and where the data lacks a kind that it needs.

use jiff::{SignedDuration, Timestamp};
use ketcd_cluster::Options;
use ketcd_cluster::triage::Answer;
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::TroubleKind;
use ketcd_history::trouble::triage::Finding;
use ketcd_kube::{Release, encode};
use ketcd_testing::written::Written;
use serde_json::{Value, json};

use crate::fixture::{at, capture, cluster_of, database, stored};

const NOW_TIME: &str = "2026-11-28T10:00:00Z";

/// What is broken in a cluster of these objects, as kubectl prints them, at [`NOW_TIME`].
async fn triage(objects: &[Value]) -> Answer {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    cluster_of(list.to_string(), at(NOW_TIME)).await.triage().await.unwrap()
}

fn meta(namespace: &str, name: &str) -> Value {
    let mut metadata = json!({"name": name, "uid": format!("{namespace}-{name}"), "creationTimestamp": "2026-11-28T09:00:00Z"});
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

fn object(api: &str, kind: &str, namespace: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": meta(namespace, name)});
    merge(&mut object, rest);
    object
}

fn merge(into: &mut Value, other: &Value) {
    match (into.as_object_mut(), other.as_object()) {
        (Some(object), Some(members)) => members.iter().for_each(|(name, value)| merge(object.entry(name).or_insert(Value::Null), value)),
        _ => *into = other.clone(),
    }
}

fn node(name: &str) -> Value {
    object("v1", "Node", "", name, &json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
}

/// A pod that runs and is ready.
fn pod(name: &str, node: &str, rest: &Value) -> Value {
    let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    let mut pod = object("v1", "Pod", "shop", name, &json!({"spec": {"nodeName": node, "containers": []}, "status": status}));
    merge(&mut pod, rest);
    pod
}

/// A pod that is bound and whose containers do not start.
fn starting(name: &str, node: &str, claim: &str) -> Value {
    let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-28T09:30:00Z"});
    let spec = json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]});
    pod(name, node, &json!({"spec": spec, "status": {"phase": "Pending", "conditions": [scheduled]}}))
}

fn event(kind: &str, name: &str, reason: &str, message: &str, count: i64) -> Value {
    let about = json!({"kind": kind, "namespace": "shop", "name": name, "uid": format!("shop-{name}")});
    let rest = json!({"involvedObject": about, "type": "Warning", "reason": reason, "message": message, "count": count,
        "lastTimestamp": "2026-11-28T09:59:30Z", "firstTimestamp": "2026-11-28T09:00:00Z"});
    object("v1", "Event", "shop", &format!("{name}.{count}"), &rest)
}

/// Every finding and effect: its trouble, its first object, what it is about.
fn all(answer: &Answer) -> Vec<(TroubleKind, String, Vec<String>)> {
    fn add(finding: &Finding, into: &mut Vec<(TroubleKind, String, Vec<String>)>) {
        let Subject { kind, namespace, name, .. } = &finding.subjects[0];
        let address = [kind.to_lowercase(), namespace.clone(), name.clone()];
        let address = address.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        into.push((finding.trouble.kind, address, finding.trouble.about.clone()));
        finding.effects.iter().for_each(|effect| add(effect, into));
    }
    let mut found = Vec::new();
    answer.findings.iter().for_each(|finding| add(finding, &mut found));
    found
}

/// The troubles of these objects, as far as they are of these kinds.
async fn kinds(objects: &[Value]) -> Vec<TroubleKind> {
    all(&triage(objects).await).into_iter().map(|(kind, ..)| kind).collect()
}

#[track_caller]
fn check(found: &(TroubleKind, String, Vec<String>), kind: TroubleKind, object: &str, about: &[&str]) {
    assert_eq!((found.0, found.1.as_str(), found.2.iter().map(String::as_str).collect::<Vec<_>>()), (kind, object, about.to_vec()));
}

fn claim(name: &str, rest: &Value) -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}, "storageClassName": "disk"});
    let mut claim = object("v1", "PersistentVolumeClaim", "shop", name, &json!({"spec": spec, "status": {"phase": "Pending"}}));
    merge(&mut claim, rest);
    claim
}

fn volume(name: &str, phase: &str, claim: &Value) -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}, "storageClassName": "disk", "claimRef": claim});
    object("v1", "PersistentVolume", "", name, &json!({"spec": spec, "status": {"phase": phase}}))
}

fn class(provisioner: &str, mode: &str) -> Value {
    object("storage.k8s.io/v1", "StorageClass", "", "disk", &json!({"provisioner": provisioner, "volumeBindingMode": mode}))
}

fn attachment(node: &str) -> Value {
    let rest = json!({"spec": {"attacher": "disk.csi", "nodeName": node, "source": {"persistentVolumeName": "pv-1"}}, "status": {"attached": true}});
    object("storage.k8s.io/v1", "VolumeAttachment", "", "csi-1", &rest)
}

fn of_claim(name: &str, uid: &str) -> Value {
    json!({"kind": "PersistentVolumeClaim", "namespace": "shop", "name": name, "uid": uid})
}

#[tokio::test]
async fn an_attachment_that_holds_a_volume_stands_above_the_pod_that_waits() {
    let bound = claim("data", &json!({"spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}}));
    let held = |attached: &str, of: &[Value]| {
        let common = [node("node1"), node("node2"), bound.clone(), volume("pv-1", "Bound", &of_claim("data", "shop-data"))];
        [&common[..], &[starting("pg-0", "node2", "data"), attachment(attached)], of].concat()
    };
    let found = all(&triage(&held("node1", &[])).await);
    check(&found[0], TroubleKind::VolumeHeld, "volumeattachment/csi-1", &["pv-1", "node1", "unused", "", "shop/pg-0", "disk.csi"]);
    assert_eq!((found[1].0, &*found[1].1), (TroubleKind::NotStarting, "pod/shop/pg-0"));
    let user = pod("pg-old", "node1", &json!({"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}));
    check(
        &all(&triage(&held("node1", &[user])).await)[0],
        TroubleKind::VolumeHeld,
        "volumeattachment/csi-1",
        &["pv-1", "node1", "used", "shop/pg-old", "shop/pg-0", "disk.csi"],
    );
    assert_eq!(all(&triage(&held("node9", &[])).await)[0].2[2], "missing");
    // Somebody has deleted it already.
    let mut ending = held("node1", &[]);
    merge(&mut ending[5], &json!({"metadata": {"deletionTimestamp": "2026-11-28T09:40:00Z"}}));
    let found = all(&triage(&ending).await);
    check(
        &found[0],
        TroubleKind::VolumeHeld,
        "volumeattachment/csi-1",
        &["pv-1", "node1", "unused", "", "shop/pg-0", "disk.csi", "deleting"],
    );
    // Attached where it should be, and where many nodes may have it.
    assert!(!kinds(&held("node2", &[])).await.contains(&TroubleKind::VolumeHeld));
    let mut shared = held("node1", &[]);
    shared[3]["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    assert!(!kinds(&shared).await.contains(&TroubleKind::VolumeHeld));
    let without: Vec<Value> = held("node1", &[]).into_iter().filter(|object| object["kind"] != "PersistentVolume").collect();
    assert!(!kinds(&without).await.contains(&TroubleKind::VolumeHeld));
}

/// The attacher writes why into the VolumeAttachment, and there need not be an Event.
#[tokio::test]
async fn what_an_attacher_says_of_a_volume_is_quoted() {
    let bound = claim("data", &json!({"spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}}));
    let of = |on: &str, status: Value, event: Option<Value>| {
        let mut attachment = attachment(on);
        merge(&mut attachment["status"], &status);
        let pv = volume("pv-1", "Bound", &of_claim("data", "shop-data"));
        let mut objects = vec![node("node1"), node("node2"), bound.clone(), pv, starting("pg-0", "node2", "data"), attachment];
        objects.extend(event);
        objects
    };
    let failed = json!({"attached": false, "attachError": {"message": "rpc error: code = Internal desc = no such disk"}});
    let sum = event("Pod", "pg-0", "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data]", 9);
    let said = async |objects: Vec<Value>| triage(&objects).await.findings[0].trouble.message.clone();
    let quoted = Some("rpc error: code = Internal desc = no such disk".to_owned());
    assert_eq!(said(of("node2", failed.clone(), None)).await, quoted);
    assert_eq!(said(of("node2", failed.clone(), Some(sum))).await, quoted);
    assert_eq!(said(of("node1", failed, None)).await, None, "of another node");
    let old = json!({"attached": true, "attachError": {"message": "x"}});
    assert_eq!(said(of("node2", old, None)).await, None, "it is attached by now");
    let held = triage(&of("node1", json!({"detachError": {"message": "disk is busy"}}), None)).await;
    assert_eq!(
        (held.findings[0].trouble.kind, held.findings[0].trouble.message.as_deref()),
        (TroubleKind::VolumeHeld, Some("disk is busy"))
    );
}

#[tokio::test]
async fn a_claim_whose_volume_is_another_ones_says_so_instead_of_having_none() {
    let named = claim("media", &json!({"spec": {"volumeName": "pv-1"}}));
    let with = |holder: &Value| [class("smb.csi", "Immediate"), named.clone(), volume("pv-1", "Released", holder)];
    let found = all(&triage(&with(&of_claim("media", "earlier"))).await);
    check(&found[0], TroubleKind::VolumeTaken, "persistentvolumeclaim/shop/media", &["pv-1", "earlier", "shop/media"]);
    assert_eq!(found.len(), 1, "{found:?}");
    check(
        &all(&triage(&with(&of_claim("other", "x"))).await)[0],
        TroubleKind::VolumeTaken,
        "persistentvolumeclaim/shop/media",
        &["pv-1", "other", "shop/other"],
    );
    // Its own, reserved by name, and free ones are bound sooner or later; without volumes nothing is known.
    for holder in [of_claim("media", "shop-media"), json!({"namespace": "shop", "name": "media"}), Value::Null] {
        assert_eq!(kinds(&with(&holder)).await, [TroubleKind::ClaimPending], "{holder}");
    }
    assert_eq!(kinds(&[class("smb.csi", "Immediate"), named]).await, [TroubleKind::ClaimPending]);
}

/// Whatever the class: a claim that names a volume waits for no pod.
#[tokio::test]
async fn a_claim_whose_volume_does_not_suit_it_says_what_of_it() {
    let named = claim("media", &json!({"spec": {"volumeName": "pv-1"}}));
    let with = |mode: &str, of_volume: &Value| {
        let mut free = volume("pv-1", "Available", &Value::Null);
        merge(&mut free, of_volume);
        [class("disk.csi", mode), named.clone(), free]
    };
    for (of_volume, wanted) in [
        (json!({"spec": {"capacity": {"storage": "1Gi"}}}), ["storage", "10Gi", "1Gi"]),
        (json!({"spec": {"storageClassName": "fast"}}), ["storageClassName", "disk", "fast"]),
        (json!({"spec": {"volumeMode": "Block"}}), ["volumeMode", "Filesystem", "Block"]),
        (
            json!({"spec": {"accessModes": ["ReadOnlyMany", "ReadWriteMany"]}}),
            ["accessModes", "ReadWriteOnce", "ReadOnlyMany,ReadWriteMany"],
        ),
    ] {
        for mode in ["Immediate", "WaitForFirstConsumer"] {
            let found = all(&triage(&with(mode, &of_volume)).await);
            let about = [&["pv-1", "unsuited"][..], &wanted].concat();
            check(&found[0], TroubleKind::VolumeTaken, "persistentvolumeclaim/shop/media", &about);
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }
    // More than is asked for suits, and so does what is larger.
    let more =
        json!({"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"], "capacity": {"storage": "20Gi"}, "volumeMode": "Filesystem"}});
    assert!(!kinds(&with("Immediate", &more)).await.contains(&TroubleKind::VolumeTaken));
}

#[tokio::test]
async fn a_claim_that_only_a_released_volume_would_suit_names_it() {
    let none = class("kubernetes.io/no-provisioner", "Immediate");
    let released = volume("pv-1", "Released", &of_claim("gone", "x"));
    let found = all(&triage(&[none.clone(), claim("data", &json!({})), released.clone()]).await);
    check(&found[0], TroubleKind::VolumeTaken, "persistentvolumeclaim/shop/data", &["pv-1", "released", "shop/gone"]);
    let small = claim("data", &json!({"spec": {"resources": {"requests": {"storage": "20Gi"}}}}));
    assert_eq!(kinds(&[none.clone(), small, released.clone()]).await, [TroubleKind::ClaimPending]);
    let free = volume("pv-2", "Available", &Value::Null);
    assert_eq!(kinds(&[none, claim("data", &json!({})), released.clone(), free]).await, [TroubleKind::ClaimPending]);
    // Another is made.
    assert_eq!(kinds(&[class("disk.csi", "Immediate"), claim("data", &json!({})), released.clone()]).await, [TroubleKind::ClaimPending]);
    // Where nothing is bound before a pod needs it, one has to.
    let patient = class("kubernetes.io/no-provisioner", "WaitForFirstConsumer");
    assert_eq!(kinds(&[patient.clone(), claim("data", &json!({})), released.clone()]).await, []);
    let unscheduled = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "2026-11-28T09:30:00Z",
        "message": "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."});
    let spec = json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]});
    let mut waiting = pod("web", "", &json!({"spec": spec, "status": {"phase": "Pending", "conditions": [unscheduled]}}));
    waiting["spec"].as_object_mut().unwrap().remove("nodeName");
    assert!(kinds(&[patient, claim("data", &json!({})), released, waiting]).await.contains(&TroubleKind::VolumeTaken));
}

#[tokio::test]
async fn a_claim_without_a_class_is_suited_by_a_volume_without_one() {
    let mut bare = claim("data", &json!({}));
    bare["spec"].as_object_mut().unwrap().remove("storageClassName");
    let mut released = volume("pv-1", "Released", &of_claim("gone", "x"));
    released["spec"]["storageClassName"] = json!("");
    let mut other = class("disk.csi", "Immediate");
    let found = all(&triage(&[other.clone(), bare.clone(), released.clone()]).await);
    check(&found[0], TroubleKind::VolumeTaken, "persistentvolumeclaim/shop/data", &["pv-1", "released", "shop/gone"]);
    // It gets the default class sooner or later; what classes there are is not known without them.
    assert_eq!(kinds(&[bare.clone(), released.clone()]).await, [TroubleKind::ClaimPending]);
    other["metadata"]["annotations"] = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    assert_eq!(kinds(&[other, bare, released]).await, [TroubleKind::ClaimPending]);
}

#[tokio::test]
async fn a_claim_that_no_scheduler_places_stands_above_its_pod() {
    let patient = || class("disk.csi", "WaitForFirstConsumer");
    let found = all(&triage(&[patient(), claim("d1", &json!({})), starting("pinned", "node1", "d1")]).await);
    check(&found[0], TroubleKind::ClaimUnplaced, "persistentvolumeclaim/shop/d1", &["disk", "shop/pinned", "node1"]);
    assert_eq!(found[1].1, "pod/shop/pinned");
    let selected = claim("d1", &json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node1"}}}));
    for healthy in [vec![patient(), claim("d1", &json!({}))], vec![patient(), selected, starting("pinned", "node1", "d1")]] {
        assert!(!kinds(&healthy).await.contains(&TroubleKind::ClaimUnplaced));
    }
}

#[tokio::test]
async fn a_class_in_the_annotation_of_before_counts() {
    let patient = class("disk.csi", "WaitForFirstConsumer");
    let mut old = claim("d1", &json!({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "disk"}}}));
    old["spec"].as_object_mut().unwrap().remove("storageClassName");
    let found = all(&triage(&[patient.clone(), old.clone(), starting("pinned", "node1", "d1")]).await);
    check(&found[0], TroubleKind::ClaimUnplaced, "persistentvolumeclaim/shop/d1", &["disk", "shop/pinned", "node1"]);
    // Nobody has a trouble where no pod asks for it.
    assert!(kinds(&[patient, old]).await.is_empty());
}

#[tokio::test]
async fn an_event_says_why_a_pod_does_not_start_and_a_claim_has_no_volume() {
    // A namespace as it is pasted: its attachments and volumes are not of it.
    let multi = event("Pod", "db-0", "FailedAttachVolume", "Multi-Attach error for volume \"pv-1\"", 1);
    let mut waits = event("Pod", "db-0", "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data]", 9);
    waits["lastTimestamp"] = json!("2026-11-28T09:59:50Z");
    let pod = || starting("db-0", "node2", "data");
    let answer = triage(&[pod(), multi.clone(), waits.clone()]).await;
    let trouble = &answer.findings[0].trouble;
    assert_eq!(trouble.kind, TroubleKind::NotStarting);
    assert_eq!(trouble.message.as_deref(), Some("Multi-Attach error for volume \"pv-1\""));
    // What the kubelet says itself is newer than an attachment that has succeeded since.
    waits["message"] = json!("MountVolume.SetUp failed for volume \"conf\" : configmap \"conf\" not found");
    let answer = triage(&[pod(), multi, waits]).await;
    assert!(answer.findings[0].trouble.message.as_deref().unwrap().contains("configmap"));
    let mut earlier = event("Pod", "db-0", "FailedMount", "of an earlier pod", 9);
    earlier["involvedObject"]["uid"] = json!("another");
    assert_eq!(triage(&[pod(), earlier]).await.findings[0].trouble.message, None);
    let taken = event("PersistentVolumeClaim", "data", "FailedBinding", "volume \"pv-1\" already bound to a different claim.", 30);
    let answer = triage(&[claim("data", &json!({"spec": {"volumeName": "pv-1"}})), taken]).await;
    let trouble = &answer.findings[0].trouble;
    assert_eq!(trouble.kind, TroubleKind::ClaimPending);
    assert_eq!(trouble.message.as_deref(), Some("volume \"pv-1\" already bound to a different claim."));
    // A class that was made since is no reason any more.
    let no_class = || event("PersistentVolumeClaim", "data", "ProvisioningFailed", "storageclass.storage.k8s.io \"disk\" not found", 3);
    let said = async |objects: Vec<Value>| triage(&objects).await.findings[0].trouble.message.clone();
    assert!(said(vec![claim("data", &json!({})), no_class()]).await.unwrap().contains("not found"));
    assert_eq!(said(vec![claim("data", &json!({})), no_class(), class("disk.csi", "Immediate")]).await, None);
}

#[tokio::test]
async fn a_protected_claim_names_the_pods_that_hold_it() {
    let ending = json!({"metadata": {"deletionTimestamp": "2026-11-28T09:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}, "status": {"phase": "Bound"}});
    let user = |name: &str, node: &str| {
        pod(name, node, &json!({"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}))
    };
    let found = all(&triage(&[claim("data", &ending), user("a", "node1"), pod("b", "node1", &json!({}))]).await);
    check(&found[0], TroubleKind::ClaimInUse, "persistentvolumeclaim/shop/data", &["pod/shop/a"]);
    assert_eq!(found.len(), 1, "{found:?}");
    // A finalizer of somebody else, and no pod that is on a node.
    let other = json!({"metadata": {"finalizers": ["kubernetes.io/pvc-protection", "example.com/keep"]}});
    let mut claim = claim("data", &ending);
    assert_eq!(kinds(std::slice::from_ref(&claim)).await, [TroubleKind::FinalizersStuck]);
    merge(&mut claim, &other);
    assert!(kinds(&[claim, user("a", "node1")]).await.contains(&TroubleKind::FinalizersStuck));
    // Those who detach the volume and remove its storage wait until it is no longer bound.
    let mut bound = volume("pv-1", "Bound", &of_claim("data", "shop-data"));
    let finalizers = ["kubernetes.io/pv-protection", "external-attacher/disk-csi", "external-provisioner.volume.kubernetes.io/finalizer"];
    merge(&mut bound, &json!({"metadata": {"deletionTimestamp": "2026-11-28T09:00:00Z", "finalizers": finalizers}}));
    let found = all(&triage(&[bound.clone()]).await);
    check(&found[0], TroubleKind::ClaimInUse, "persistentvolume/pv-1", &["pvc/shop/data"]);
    bound["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection", "example.com/keep"]);
    assert_eq!(kinds(&[bound]).await, [TroubleKind::FinalizersStuck]);
}

#[tokio::test]
async fn pods_on_a_node_that_is_not_there_are_one_finding() {
    let ending = json!({"metadata": {"deletionTimestamp": "2026-11-28T09:00:00Z", "deletionGracePeriodSeconds": 30}});
    let pods = [pod("ghost-1", "node9", &ending), pod("ghost-2", "node9", &json!({})), pod("fine", "node1", &json!({}))];
    let answer = triage(&[&pods[..], &[node("node1"), node("node2")]].concat()).await;
    let finding = &answer.findings[0];
    assert_eq!(
        (finding.trouble.kind, &finding.trouble.about[..], finding.subjects.len()),
        (TroubleKind::NodeMissing, &["node9".to_owned()][..], 2)
    );
    assert_eq!((answer.findings.len(), finding.effects[0].trouble.kind), (1, TroubleKind::Terminating));
    // Without nodes nothing is known, and somebody printed one of several.
    assert!(!kinds(&pods).await.contains(&TroubleKind::NodeMissing));
    let others = [pod("a", "node7", &json!({})), pod("b", "node8", &json!({})), node("node1")];
    assert!(kinds(&others).await.is_empty());
    // A node has a lease as long as it is there.
    let lease = |name: &str| {
        let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": "2026-11-28T09:59:55.000000Z"});
        object("coordination.k8s.io/v1", "Lease", "kube-node-lease", name, &json!({"spec": spec}))
    };
    let leased = [pod("a", "node9", &json!({})), node("node1"), node("node2"), lease("node1"), lease("node9")];
    assert!(!kinds(&leased).await.contains(&TroubleKind::NodeMissing));
}

#[tokio::test]
async fn a_cron_job_that_is_overdue_is_told_with_its_event() {
    let cron = |rest: &Value| {
        let mut job =
            object("batch/v1", "CronJob", "shop", "poll", &json!({"spec": {"schedule": "*/5 * * * *", "concurrencyPolicy": "Forbid"}}));
        merge(&mut job, rest);
        job
    };
    let late = cron(&json!({"status": {"lastScheduleTime": "2026-11-21T11:20:00Z"}}));
    let missed = event("CronJob", "poll", "TooManyMissedTimes", "too many missed start times: 101", 900);
    let answer = triage(&[late.clone(), missed.clone()]).await;
    let trouble = &answer.findings[0].trouble;
    assert_eq!((trouble.kind, trouble.reason.as_deref()), (TroubleKind::CronJobNotStarted, Some("TooManyMissedTimes")));
    assert_eq!(trouble.since.unwrap().to_string(), "2026-11-21T11:25:00Z");
    assert!(answer.warnings.is_empty(), "the finding explains it: {:?}", answer.warnings);
    // What refuses it says more than how long that lasts.
    let refused = event("CronJob", "poll", "FailedCreate", "Error creating job: quota", 899);
    let answer = triage(&[late.clone(), missed, refused]).await;
    assert_eq!(answer.findings[0].trouble.reason.as_deref(), Some("FailedCreate"));
    let mut old = late.clone();
    old["apiVersion"] = json!("batch/v1beta1");
    assert_eq!(kinds(&[old]).await, [TroubleKind::CronJobNotStarted]);
    // Nothing is due by a schedule that nobody can read; one that was corrected since is read.
    let unparseable = event("CronJob", "poll", "UnparseableSchedule", "end of range (61) above maximum (59): 61", 300);
    let invalid = cron(&json!({"spec": {"schedule": "61 * * * *"}}));
    let found = all(&triage(&[invalid.clone(), unparseable.clone()]).await);
    check(&found[0], TroubleKind::CronJobNotStarted, "cronjob/shop/poll", &["61 * * * *", "", "", "unreadable"]);
    assert_eq!(kinds(&[invalid]).await, []);
    let corrected = cron(&json!({"status": {"lastScheduleTime": "2026-11-28T09:55:00Z"}}));
    assert_eq!(kinds(&[corrected, unparseable]).await, []);
    let healthy = [
        json!({"status": {"lastScheduleTime": "2026-11-28T09:55:00Z"}}),
        json!({"spec": {"suspend": true}, "status": {"lastScheduleTime": "2026-11-21T11:20:00Z"}}),
        json!({"status": {"lastScheduleTime": "2026-11-28T09:20:00Z", "active": [{"name": "poll-1"}]}}),
        json!({"spec": {"schedule": "0 3 * * 0"}, "status": {"lastScheduleTime": "2026-11-22T03:00:00Z"}}),
    ];
    for rest in healthy {
        assert_eq!(kinds(&[cron(&rest)]).await, [], "{rest}");
    }
    // The Event is newer than what is late: when both were printed need not be known. Alone, the job may have been printed in time.
    let missed = event("CronJob", "poll", "TooManyMissedTimes", "too many missed start times: 101", 900);
    for (objects, wanted) in [(vec![late.clone(), missed], 1), (vec![late], 0)] {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        let mut job = serde_json::from_str::<Value>(&list).unwrap();
        job["items"][0]["metadata"]["creationTimestamp"] = json!("2026-08-16T06:00:00Z");
        let answer = cluster_of(job.to_string(), Options::default()).await.triage().await.unwrap();
        assert_eq!((answer.findings.len(), answer.now, answer.absence), (wanted, None, None), "{job}");
    }
}

#[tokio::test]
async fn a_job_without_pods_is_told_with_what_refuses_them() {
    let job = |rest: &Value| {
        let mut job = object(
            "batch/v1",
            "Job",
            "shop",
            "nightly",
            &json!({"spec": {"parallelism": 1}, "status": {"startTime": "2026-11-28T09:56:15Z"}}),
        );
        merge(&mut job, rest);
        job
    };
    assert_eq!(kinds(&[job(&json!({}))]).await, [TroubleKind::JobWithoutPods]);
    let own = json!({"spec": {"managedBy": "kubernetes.io/job-controller"}});
    assert_eq!(kinds(&[job(&own)]).await, [TroubleKind::JobWithoutPods]);
    let message =
        "Error creating: Internal error occurred: failed calling webhook \"pods.example.com\": no endpoints available for service \"hook\"";
    let refused = event("Job", "nightly", "FailedCreate", message, 5);
    assert_eq!(kinds(&[job(&json!({})), refused.clone()]).await, [TroubleKind::PodsRefused]);
    let service = json!({"spec": {"selector": {"app": "hook"}}});
    let hook = json!({"webhooks": [{"name": "pods.example.com", "clientConfig": {"service": {"namespace": "cfg", "name": "hook"}}}]});
    let configuration = object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "hooks", &hook);
    let found = all(&triage(&[job(&json!({})), refused, configuration, object("v1", "Service", "cfg", "hook", &service)]).await);
    assert_eq!(found.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), [TroubleKind::WebhookUnreachable, TroubleKind::PodsRefused]);
    let healthy = [
        json!({"status": {"active": 1}}),
        json!({"status": {"failed": 1}}),
        json!({"spec": {"suspend": true}}),
        json!({"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}),
        json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}),
        json!({"status": {"startTime": "2026-11-28T09:59:30Z"}}),
    ];
    for rest in healthy {
        assert_eq!(kinds(&[job(&rest)]).await, [], "{rest}");
    }
    let owned = json!({"metadata": {"ownerReferences": [{"kind": "Job", "name": "nightly", "uid": "shop-nightly", "controller": true}]}});
    assert_eq!(kinds(&[job(&json!({})), pod("nightly-x", "node1", &owned)]).await, []);
}

#[tokio::test]
async fn an_autoscaler_that_does_not_scale_is_told() {
    let of = |kind: &str, status: &str, reason: &str| {
        let condition = json!({"type": kind, "status": status, "reason": reason, "message": "missing request for cpu", "lastTransitionTime": "2026-11-28T08:53:20Z"});
        let rest = json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "api"}}, "status": {"conditions": [condition]}});
        object("autoscaling/v2", "HorizontalPodAutoscaler", "shop", "api", &rest)
    };
    let found = all(&triage(&[of("ScalingActive", "False", "FailedGetResourceMetric")]).await);
    check(&found[0], TroubleKind::AutoscalerStuck, "horizontalpodautoscaler/shop/api", &["deployment/api"]);
    assert_eq!(kinds(&[of("AbleToScale", "False", "FailedGetScale")]).await, [TroubleKind::AutoscalerStuck]);
    for healthy in [
        of("ScalingActive", "True", "ValidMetricFound"),
        of("ScalingActive", "False", "ScalingDisabled"),
        of("ScalingLimited", "True", "TooManyReplicas"),
    ] {
        assert_eq!(kinds(&[healthy]).await, []);
    }
    let mut old = of("ScalingActive", "False", "FailedGetResourceMetric");
    old["apiVersion"] = json!("autoscaling/v2beta2");
    assert_eq!(kinds(&[old]).await, [TroubleKind::AutoscalerStuck]);
    // autoscaling/v1 has conditions in an annotation.
    let condition = json!([{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "lastTransitionTime": "2026-11-28T08:53:20Z"}]);
    let annotations = json!({"autoscaling.alpha.kubernetes.io/conditions": condition.to_string()});
    let old = json!({"metadata": {"annotations": annotations}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "api"}}});
    assert_eq!(kinds(&[object("autoscaling/v1", "HorizontalPodAutoscaler", "shop", "api", &old)]).await, [TroubleKind::AutoscalerStuck]);
}

#[tokio::test]
async fn a_service_that_selects_no_pod_names_the_label_that_is_near() {
    let service = |selector: &Value| object("v1", "Service", "shop", "front", &json!({"spec": {"selector": selector}}));
    let front = |name: &str| pod(name, "node1", &json!({"metadata": {"labels": {"app": "front"}}}));
    let answer = triage(&[service(&json!({"app": "frnt"})), front("a"), front("b")]).await;
    let trouble = &answer.findings[0].trouble;
    assert_eq!(
        (trouble.kind, &trouble.about[..], trouble.numbers),
        (TroubleKind::ServiceSelectsNothing, &["app=frnt".to_owned(), "app=front".to_owned()][..], Some((2, 0)))
    );
    let of_front = |endpoints: &Value| {
        let rest = json!({"metadata": {"labels": {"kubernetes.io/service-name": "front"}}, "endpoints": endpoints, "addressType": "IPv4"});
        object("discovery.k8s.io/v1", "EndpointSlice", "shop", "front-x", &rest)
    };
    let far = all(&triage(&[service(&json!({"app": "billing"})), front("a"), of_front(&json!([]))]).await);
    check(&far[0], TroubleKind::ServiceSelectsNothing, "service/shop/front", &["app=billing", ""]);
    let both = service(&json!({"app": "front", "tier": "web"}));
    let lacking = all(&triage(&[both.clone(), front("a"), front("b"), of_front(&json!([]))]).await);
    let about = ["app=front,tier=web", "", "tier=web", "2"];
    check(&lacking[0], TroubleKind::ServiceSelectsNothing, "service/shop/front", &about);
    let controller = json!([{"apiVersion": "example.com/v1", "kind": "Cluster", "name": "front", "uid": "9", "controller": true}]);
    let mut controlled = service(&json!({"app": "frnt"}));
    merge(&mut controlled, &json!({"metadata": {"ownerReferences": controller}}));
    // It selects; pods may come; somebody else writes its endpoints; no pod can be meant; it selects nothing on purpose.
    let template = object(
        "apps/v1",
        "Deployment",
        "shop",
        "later",
        &json!({"spec": {"replicas": 0, "template": {"metadata": {"labels": {"app": "later"}}}}}),
    );
    let slice = of_front(&json!([{"addresses": ["10.0.0.1"]}]));
    // Somebody may have printed one pod of several.
    let healthy = [
        vec![service(&json!({"app": "billing"})), front("a")],
        vec![both, front("a")],
        vec![controlled, front("a"), of_front(&json!([]))],
        vec![service(&json!({"app": "front"})), front("a")],
        vec![service(&json!({"app": "later"})), front("a"), template],
        vec![service(&json!({"app": "frnt"})), front("a"), slice],
        vec![service(&json!({"app": "frnt"}))],
        vec![service(&json!({})), front("a")],
    ];
    for objects in healthy {
        assert_eq!(kinds(&objects).await, [], "{objects:?}");
    }
}

/// Pods are told apart by bytes as stored, which are JSON only where a test writes them.
#[tokio::test]
async fn a_service_that_selects_no_pod_is_found_whatever_the_encoding() {
    let selector = json!({"spec": {"selector": {"app": "frnt"}}});
    let labels = json!({"metadata": {"labels": {"app": "front"}}});
    let last = json!({"metadata": {"creationTimestamp": NOW_TIME}});
    let objects = [
        ("services/specs/shop/front", object("v1", "Service", "shop", "front", &selector)),
        ("pods/shop/a", pod("a", "node1", &labels)),
        ("pods/shop/b", pod("b", "node1", &labels)),
        ("minions/node1", node("node1")),
        ("configmaps/shop/last", object("v1", "ConfigMap", "shop", "last", &last)),
    ];
    let release = Release(36);
    let found = async |encoded: &dyn Fn(&Value) -> Vec<u8>| {
        let mut written = Written::default();
        objects.iter().for_each(|(key, object)| written.put(&format!("/registry/{key}"), encoded(object)));
        database(written.finish(), Options::default()).await.triage().await.unwrap()
    };
    for answer in [found(&|object| object.to_string().into_bytes()).await, found(&|object| encode(object, release).unwrap().unwrap()).await]
    {
        let finding = answer.findings.iter().find(|finding| finding.trouble.kind == TroubleKind::ServiceSelectsNothing);
        let trouble = &finding.unwrap_or_else(|| panic!("{:?}", all(&answer))).trouble;
        assert_eq!((&trouble.about[..], trouble.numbers), (&["app=frnt".to_owned(), "app=front".to_owned()][..], Some((2, 0))));
    }
}

#[tokio::test]
async fn a_version_that_is_stored_and_not_served_is_told() {
    let definition = |served: bool, stored: &Value| {
        let versions = json!([{"name": "v1", "served": true, "storage": true, "schema": {}}, {"name": "v1alpha1", "served": served, "storage": false, "schema": {}}]);
        let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget"});
        let spec = json!({"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions});
        let rest = json!({"spec": spec, "status": {"storedVersions": stored}});
        object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com", &rest)
    };
    let of = async |served, stored: &Value| all(&triage(&[definition(served, stored)]).await);
    check(
        &of(false, &json!(["v1alpha1", "v1"])).await[0],
        TroubleKind::VersionNotServed,
        "customresourcedefinition/widgets.example.com",
        &["v1alpha1", "unserved", "v1"],
    );
    check(
        &of(true, &json!(["v1beta1", "v1"])).await[0],
        TroubleKind::VersionNotServed,
        "customresourcedefinition/widgets.example.com",
        &["v1beta1", "gone", "v1"],
    );
    assert_eq!((of(true, &json!(["v1alpha1", "v1"])).await, of(false, &json!(["v1"])).await), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_stateful_set_waits_for_its_old_pod_to_be_deleted() {
    let set = |rest: &Value| {
        let status =
            json!({"currentRevision": "db-a", "updateRevision": "db-c", "readyReplicas": 0, "replicas": 1, "observedGeneration": 1});
        let mut set = object(
            "apps/v1",
            "StatefulSet",
            "shop",
            "db",
            &json!({"metadata": {"generation": 1}, "spec": {"replicas": 1}, "status": status}),
        );
        merge(&mut set, rest);
        set
    };
    let of = |revision: &str, ready: &str| {
        let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "shop-db", "controller": true}]);
        let waits = json!([{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]);
        let ready = json!({"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-28T09:10:00Z"});
        let rest = json!({"metadata": {"labels": {"controller-revision-hash": revision}, "ownerReferences": owner},
            "status": {"phase": "Running", "conditions": [ready], "containerStatuses": waits}});
        pod("db-0", "node1", &rest)
    };
    let found = all(&triage(&[set(&json!({})), of("db-b", "False")]).await);
    check(&found[0], TroubleKind::OutdatedPodKept, "statefulset/shop/db", &["db-0", "db-b", "db-c"]);
    assert_eq!((found[1].0, &*found[1].1), (TroubleKind::ImageNotPulled, "pod/shop/db-0"));
    let mut second = of("db-b", "False");
    merge(&mut second, &json!({"metadata": {"name": "db-1", "uid": "shop-db-1"}}));
    let answer = triage(&[set(&json!({"spec": {"replicas": 2}})), of("db-b", "False"), second]).await;
    let [finding] = &answer.findings[..] else { panic!("{:?}", all(&answer)) };
    assert_eq!((finding.trouble.kind, finding.pods, finding.effects[0].subjects.len()), (TroubleKind::OutdatedPodKept, 2, 2));
    // The template is the one of before again.
    let back = json!({"status": {"updateRevision": "db-a"}});
    let found = all(&triage(&[set(&back), of("db-b", "False")]).await);
    check(&found[0], TroubleKind::OutdatedPodKept, "statefulset/shop/db", &["db-0", "db-b", "db-a"]);
    for (rest, revision, ready) in [
        (json!({}), "db-c", "False"),
        (json!({}), "db-b", "True"),
        (json!({"metadata": {"deletionTimestamp": "2026-11-28T09:30:00Z"}}), "db-b", "False"),
        (json!({"spec": {"ordinals": {"start": 1}}}), "db-b", "False"),
        (json!({"spec": {"podManagementPolicy": "Parallel"}}), "db-b", "False"),
        (json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}}), "db-b", "False"),
        (json!({"status": {"observedGeneration": 0}}), "db-b", "False"),
    ] {
        let kinds = kinds(&[set(&rest), of(revision, ready)]).await;
        assert!(!kinds.contains(&TroubleKind::OutdatedPodKept), "{rest} {revision} {ready}: {kinds:?}");
    }
}

#[tokio::test]
async fn a_quota_whose_counter_is_wrong_says_so() {
    let quota = |used: &str, spec: &Value| {
        let rest = json!({"spec": spec, "status": {"hard": {"pods": "3", "services": "2"}, "used": {"pods": used, "services": "1"}}});
        object("v1", "ResourceQuota", "shop", "quota", &rest)
    };
    let pods: Vec<Value> = ["a", "b", "c"].iter().map(|name| pod(name, "node1", &json!({}))).collect();
    let found = all(&triage(&[quota("3", &json!({})), pods[0].clone()]).await);
    check(&found[0], TroubleKind::QuotaMiscounted, "resourcequota/shop/quota", &["pods", "3", "1"]);
    let counted = |objects: Vec<Value>| async move { kinds(&objects).await };
    assert_eq!(counted([vec![quota("3", &json!({}))], pods.clone()].concat()).await, [TroubleKind::QuotaExhausted]);
    assert_eq!(counted(vec![quota("3", &json!({}))]).await, [TroubleKind::QuotaExhausted], "without pods nothing is known");
    assert_eq!(counted(vec![quota("3", &json!({"scopes": ["BestEffort"]})), pods[0].clone()]).await, [TroubleKind::QuotaExhausted]);
    assert_eq!(counted(vec![quota("2", &json!({})), pods[0].clone()]).await, []);
    // Those that have ended are there and do not count.
    let ended = pod("a", "node1", &json!({"status": {"phase": "Succeeded", "conditions": []}}));
    check(
        &all(&triage(&[quota("3", &json!({})), ended]).await)[0],
        TroubleKind::QuotaMiscounted,
        "resourcequota/shop/quota",
        &["pods", "3", "0"],
    );
    let secrets = json!({"status": {"hard": {"secrets": "2"}, "used": {"secrets": "2"}}});
    let secret = |name: &str| object("v1", "Secret", "shop", name, &json!({"type": "Opaque"}));
    let of_secrets = object("v1", "ResourceQuota", "shop", "quota", &secrets);
    let of = |secrets: &[Value]| [std::slice::from_ref(&of_secrets), secrets].concat();
    check(&all(&triage(&of(&[secret("a")])).await)[0], TroubleKind::QuotaMiscounted, "resourcequota/shop/quota", &["secrets", "2", "1"]);
    assert_eq!(counted(of(&[secret("a"), secret("b")])).await, [TroubleKind::QuotaExhausted]);
    // The ConfigMap that each namespace has was left out, and so may others have been.
    let maps = json!({"status": {"hard": {"count/configmaps": "3"}, "used": {"count/configmaps": "3"}}});
    let map = |name: &str| object("v1", "ConfigMap", "shop", name, &json!({"data": {}}));
    let of_maps = object("v1", "ResourceQuota", "shop", "quota", &maps);
    assert_eq!(counted(vec![of_maps.clone(), map("a")]).await, [TroubleKind::QuotaExhausted]);
    assert_eq!(counted(vec![of_maps, map("a"), map("kube-root-ca.crt")]).await, [TroubleKind::QuotaMiscounted]);
    // One that is really used up does not hide the other.
    let rest = json!({"status": {"hard": {"pods": "3", "secrets": "2", "requests.cpu": "4"},
        "used": {"pods": "3", "secrets": "2", "requests.cpu": "4"}}});
    let both = [object("v1", "ResourceQuota", "shop", "quota", &rest), pods[0].clone(), secret("a"), secret("b")];
    check(
        &all(&triage(&both).await)[0],
        TroubleKind::QuotaMiscounted,
        "resourcequota/shop/quota",
        &["pods", "3", "1", "requests.cpu", "4", "", "secrets", "2", ""],
    );
}

#[tokio::test]
async fn an_owner_in_another_namespace_is_told_of_a_database() {
    let owner = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "parent", "namespace": "infra", "uid": "1"}}"#;
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kid", "namespace": "shop", "uid": "2",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "parent", "uid": "1"}]}})
    .to_string();
    let found = async |namespace: &str, child: &str| {
        let key = format!("/registry/configmaps/{namespace}/kid");
        all(&stored(&[("/registry/deployments/infra/parent", owner), (&*key, child)], ketcd_cluster::Options::default())
            .await
            .triage()
            .await
            .unwrap())
    };
    let elsewhere = found("shop", &child).await;
    let place = elsewhere.iter().position(|(kind, ..)| *kind == TroubleKind::OwnerElsewhere).unwrap();
    check(&elsewhere[place], TroubleKind::OwnerElsewhere, "configmap/shop/kid", &["deployment/parent", "infra"]);
    let beside = found("infra", &child.replace("shop", "infra")).await;
    assert!(beside.iter().all(|(kind, ..)| *kind != TroubleKind::OwnerElsewhere), "{beside:?}");
}

/// An owner that is not there may have been left out.
#[tokio::test]
async fn an_owner_in_another_namespace_is_told_of_printed_objects_where_it_is_among_them() {
    let owner = |namespace: &str| {
        let status = json!({"replicas": 0, "observedGeneration": 1});
        object("apps/v1", "Deployment", namespace, "parent", &json!({"spec": {"replicas": 0}, "status": status}))
    };
    let of = |name: &str, namespace: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": format!("{namespace}-{name}")});
    let kid = |owners: &Value| object("v1", "ConfigMap", "shop", "kid", &json!({"metadata": {"ownerReferences": owners}}));
    let found = all(&triage(&[owner("infra"), kid(&json!([of("parent", "infra")]))]).await);
    let place = found.iter().position(|(kind, ..)| *kind == TroubleKind::OwnerElsewhere).unwrap();
    check(&found[place], TroubleKind::OwnerElsewhere, "configmap/shop/kid", &["deployment/parent", "infra"]);
    for owners in [json!([of("parent", "infra"), of("other", "shop")]), json!([of("parent", "shop")]), json!([of("gone", "infra")])] {
        let found = kinds(&[owner("infra"), owner("shop"), kid(&owners)]).await;
        assert!(!found.contains(&TroubleKind::OwnerElsewhere), "{owners}");
    }
}

#[tokio::test]
async fn a_custom_owner_in_another_namespace_is_told_of_a_database() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "tracks.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "tracks", "singular": "track", "kind": "Track"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {}}]}});
    let owner = json!({"apiVersion": "example.com/v1", "kind": "Track", "metadata": {"name": "parent", "namespace": "infra", "uid": "1"}});
    let child = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "kid", "namespace": "shop", "uid": "2",
        "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Track", "name": "parent", "uid": "1"}]}});
    let (definition, owner, child) = (definition.to_string(), owner.to_string(), child.to_string());
    let keys = [
        ("/registry/apiextensions.k8s.io/customresourcedefinitions/tracks.example.com", &*definition),
        ("/registry/example.com/tracks/infra/parent", &*owner),
        ("/registry/roles/shop/kid", &*child),
    ];
    let found = all(&stored(&keys, ketcd_cluster::Options::default()).await.triage().await.unwrap());
    let place = found.iter().position(|(kind, ..)| *kind == TroubleKind::OwnerElsewhere).unwrap();
    check(&found[place], TroubleKind::OwnerElsewhere, "role/shop/kid", &["track/parent", "infra"]);
}

#[tokio::test]
async fn an_api_server_that_is_gone_is_told() {
    const LEASE_KEY: &str = "/registry/leases/kube-node-lease/node1";
    let renewed = |minute: u32, second: u32| {
        let spec = json!({"holderIdentity": "node1", "leaseDurationSeconds": 40, "renewTime": format!("2026-11-28T10:{minute:02}:{second:02}.000000Z")});
        object("coordination.k8s.io/v1", "Lease", "kube-node-lease", "node1", &json!({"spec": spec})).to_string()
    };
    let created = |name: &str, minute: u32, second: u32| {
        let metadata = json!({"creationTimestamp": format!("2026-11-28T10:{minute:02}:{second:02}Z")});
        object("v1", "ConfigMap", "lab", name, &json!({"metadata": metadata})).to_string()
    };
    let subsets = |addresses: &[&str]| {
        let addresses: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
        object("v1", "Endpoints", "default", "kubernetes", &json!({"subsets": [{"addresses": addresses}]})).to_string()
    };
    let found = async |renewed_at: (u32, u32), addresses: &[&str]| {
        let mut written =
            Written::of(&[("/registry/services/endpoints/default/kubernetes", &*subsets(addresses)), (LEASE_KEY, &*renewed(0, 0))]);
        for (key, (minute, second)) in [("/registry/masterleases/10.0.0.1", renewed_at), ("/registry/masterleases/10.0.0.2", (5, 0))] {
            let address = key.rsplit('/').next().unwrap();
            let name = format!("{address}-before");
            written.put(&format!("/registry/configmaps/lab/{name}"), created(&name, minute, second));
            // As API servers write it, without a time.
            written.put(key, json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {}, "subsets": null}).to_string());
            let name = format!("{address}-after");
            written.put(&format!("/registry/configmaps/lab/{name}"), created(&name, minute, second + 1));
            written.put(LEASE_KEY, renewed(minute, second + 1));
        }
        let answer = database(written.finish(), ketcd_cluster::Options::default()).await.triage().await.unwrap();
        let about = all(&answer).into_iter().filter(|(kind, ..)| *kind == TroubleKind::ApiServerGone).map(|(_, _, about)| about.join(" "));
        about.collect::<Vec<_>>()
    };
    assert_eq!(found((0, 10), &["10.0.0.1", "10.0.0.2"]).await, ["10.0.0.1 expired"]);
    assert_eq!(found((0, 10), &["10.0.0.2"]).await, ["10.0.0.1 lease"]);
    assert_eq!(found((4, 50), &["10.0.0.1", "10.0.0.2"]).await, Vec::<String>::new());
    assert_eq!(found((4, 50), &["10.0.0.1", "10.0.0.2", "10.0.0.3"]).await, ["10.0.0.3 unleased"]);
}

/// kine's table as text, after a compaction or before the first one: one lease, which is renewed with each row up to the newest, so many seconds after
/// the one before. kine's own row is the first and holds no time.
fn kine(compacted: i64, newest: i64, step: i64) -> String {
    let value = |id: i64| {
        let spec = json!({"holderIdentity": "node1", "leaseDurationSeconds": 40, "renewTime": format!("{:.6}", renewed(id, step))});
        let metadata = json!({"name": "node1", "namespace": "kube-node-lease"});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}).to_string();
        lease.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let row = |id: i64| {
        let (made, create_revision, prev_revision, old) = match id {
            2 => (1, 0, 0, Value::Null),
            _ => (0, 2, id - 1, json!(value(id - 1))),
        };
        json!({"id": id, "name": "/registry/leases/kube-node-lease/node1", "created": made, "deleted": 0, "create_revision": create_revision,
            "prev_revision": prev_revision, "lease": 0, "value": value(id), "old_value": old})
    };
    let first = json!({"id": 1, "name": "compact_rev_key", "created": 1, "deleted": 0, "create_revision": 0, "prev_revision": compacted,
        "lease": 0, "value": "", "old_value": null});
    std::iter::once(first).chain((compacted.max(2)..=newest).map(row)).map(|row| format!("{row}\n")).collect()
}

/// When the lease was renewed with a row.
fn renewed(id: i64, step: i64) -> Timestamp {
    "2026-11-28T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(id * step)
}

#[tokio::test]
async fn a_kine_that_nobody_compacts_is_told() {
    let found = async |compacted: i64, newest: i64, step: i64| {
        let answer = cluster_of(kine(compacted, newest, step), Options::default()).await.triage().await.unwrap();
        let is_of_compaction = |kind| matches!(kind, TroubleKind::CompactionStalled | TroubleKind::CompactionAwaited);
        let finding = answer.findings.into_iter().find(|finding| is_of_compaction(finding.trouble.kind))?;
        let far = finding.since().unwrap().duration_since(renewed((compacted + 1).max(2), step)).abs();
        assert!(far <= SignedDuration::from_secs(step), "{:?}", finding.trouble);
        Some((finding.subjects[0].kind.clone(), finding.trouble.kind, finding.trouble.numbers))
    };
    let told = |kind, numbers| Some(("Etcd".to_owned(), kind, Some(numbers)));
    // A revision a minute: the first could be compacted 100 minutes ago. One in ten seconds: 17 minutes ago.
    assert_eq!(found(20, 1_121, 60).await, told(TroubleKind::CompactionStalled, (20, 1_101)));
    assert_eq!(found(20, 1_121, 10).await, None);
    // Fewer than are kept anyway, the first of them 100 or 17 minutes ago.
    assert_eq!(found(20, 120, 60).await, told(TroubleKind::CompactionAwaited, (20, 100)));
    assert_eq!(found(20, 120, 10).await, None);
    // Never compacted: 120 minutes ago the first could be; 20 minutes ago; few for 118 minutes; few and young.
    assert_eq!(found(0, 1_121, 60).await, told(TroubleKind::CompactionStalled, (0, 1_121)));
    assert_eq!(found(1, 1_121, 60).await, told(TroubleKind::CompactionStalled, (1, 1_120)));
    assert_eq!(found(0, 1_121, 10).await, None);
    assert_eq!(found(0, 120, 60).await, told(TroubleKind::CompactionAwaited, (0, 120)));
    assert_eq!(found(0, 120, 10).await, None);
    // Without kine's record of it nobody knows what was compacted.
    let unrecorded: String = kine(0, 1_121, 60).lines().skip(1).map(|line| format!("{line}\n")).collect();
    let unknown = cluster_of(unrecorded, Options::default()).await.triage().await.unwrap();
    assert!(!all(&unknown).iter().any(|(kind, ..)| *kind == TroubleKind::CompactionStalled));
    // Nobody compacts an etcd so.
    let recorded = capture("k136-story", Options::default()).await.triage().await.unwrap();
    assert!(!all(&recorded).iter().any(|(kind, ..)| matches!(kind, TroubleKind::CompactionStalled | TroubleKind::CompactionAwaited)));
}

/// The rollout that is stuck on a host port (story.log): 25% of 2 replicas.
#[tokio::test]
async fn a_rollout_that_may_take_no_pod_away_says_so() {
    for name in ["k120-story", "k136-story"] {
        let answer = capture(name, ketcd_cluster::Options::default()).await.triage().await.unwrap();
        let rollout = all(&answer).into_iter().find(|(kind, ..)| *kind == TroubleKind::RolloutUnfinished).unwrap();
        check(&rollout, TroubleKind::RolloutUnfinished, "deployment/web/tomcat", &["4", "1", "25%", "2"]);
    }
}

#[tokio::test]
async fn warnings_that_nothing_explains_come_last() {
    let often = |kind: &str, name: &str, count| event(kind, name, "Unhealthy", "probe failed", count);
    let objects = [
        pod("web", "node1", &json!({})),
        pod("seldom", "node1", &json!({})),
        pod(
            "lost",
            "node1",
            &json!({"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-28T09:00:00Z"}]}}),
        ),
        often("Pod", "web", 40),
        often("Pod", "seldom", 3),
        often("Pod", "lost", 50),
        often("Pod", "gone", 60),
        pod(
            "better",
            "node1",
            &json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-28T09:59:31Z"}]}}),
        ),
        often("Pod", "better", 70),
        event("Pod", "web", "FailedScheduling", "0/3 nodes are available", 20),
    ];
    let answer = triage(&objects).await;
    let told: Vec<_> = answer.warnings.iter().map(|warning| (&*warning.subject.name, &*warning.reason, warning.count)).collect();
    assert_eq!(told, [("web", "Unhealthy", 40)]);
    assert_eq!(answer.findings.len(), 1);
}

/// The kinds of trouble that rules find.
const RULE_KINDS: [TroubleKind; 16] = [
    TroubleKind::QuotaMiscounted,
    TroubleKind::VolumeHeld,
    TroubleKind::VolumeTaken,
    TroubleKind::ClaimUnplaced,
    TroubleKind::ClaimInUse,
    TroubleKind::NodeMissing,
    TroubleKind::CronJobNotStarted,
    TroubleKind::JobWithoutPods,
    TroubleKind::AutoscalerStuck,
    TroubleKind::ServiceSelectsNothing,
    TroubleKind::VersionNotServed,
    TroubleKind::OutdatedPodKept,
    TroubleKind::OwnerElsewhere,
    TroubleKind::ApiServerGone,
    TroubleKind::CompactionStalled,
    TroubleKind::CompactionAwaited,
];

/// Nobody serves metrics in the recorded stories, so their autoscalers cannot scale; nothing else is found.
#[tokio::test]
async fn recorded_clusters_have_nothing_that_is_not_so() {
    const NO_RULES: &[&str] = &[];
    let captures = [
        ("k120-story", &["tomcat"][..]),
        ("k136-story", &["tomcat", "wide"]),
        ("k137-story", &["idle", "tomcat", "wide"]),
        ("k120-random", NO_RULES),
        ("k120-burst", NO_RULES),
        ("k131-burst", NO_RULES),
        ("k136-random", NO_RULES),
        ("k136-clock", NO_RULES),
        ("k136-restart", NO_RULES),
        ("k136-whatif", NO_RULES),
        ("k137-whatif", NO_RULES),
        ("matrix-1.24", NO_RULES),
        ("matrix-1.31", NO_RULES),
    ];
    for (name, wanted) in captures {
        let answer = capture(name, ketcd_cluster::Options::default()).await.triage().await.unwrap();
        let mut found: Vec<_> =
            all(&answer).into_iter().filter(|(kind, ..)| RULE_KINDS.contains(kind)).map(|(kind, object, _)| (kind, object)).collect();
        found.sort();
        let wanted: Vec<_> =
            wanted.iter().map(|name| (TroubleKind::AutoscalerStuck, format!("horizontalpodautoscaler/web/{name}"))).collect();
        assert_eq!((found, answer.warnings), (wanted, Vec::new()), "{name}");
    }
}

//! What objects say of themselves, and what follows from what.

use serde_json::{Value, json};

use super::triage::{Finding, Triage};
use super::*;

const NOW_TIME: &str = "2026-11-20T22:30:00Z";

fn now() -> Option<Timestamp> {
    NOW_TIME.parse().ok()
}

/// What is due of an object's troubles, gravest first.
#[track_caller]
fn check(object: &Value, wanted: &[(TroubleKind, &str)]) {
    let due = troubles_of(object).into_iter().filter(|trouble| trouble.is_due(now()));
    let found: Vec<_> = due.map(|trouble| (trouble.kind, trouble.since.map_or(String::new(), |since| since.to_string()))).collect();
    let wanted: Vec<_> = wanted.iter().map(|(kind, since)| (*kind, (*since).to_owned())).collect();
    assert_eq!(found, wanted, "{object}");
}

fn pod(name: &str, spec: Value, status: Value) -> Value {
    json!({"kind": "Pod", "metadata": {"name": name, "namespace": "shop", "creationTimestamp": "2026-11-20T22:29:00Z"}, "spec": spec, "status": status})
}

fn refused(message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
        "lastTransitionTime": "2026-11-20T22:29:01Z"}]})
}

fn owned(mut object: Value, kind: &str, name: &str) -> Value {
    object["metadata"]["ownerReferences"] = json!([{"kind": kind, "name": name, "controller": true}]);
    object
}

fn deployment(name: &str, ready: i64, wanted: i64, conditions: Value) -> Value {
    json!({"kind": "Deployment", "metadata": {"name": name, "namespace": "shop", "creationTimestamp": "2026-11-20T22:00:00Z"},
        "spec": {"replicas": wanted}, "status": {"readyReplicas": ready, "updatedReplicas": wanted, "conditions": conditions}})
}

fn triaged(objects: &[Value]) -> Vec<Finding> {
    let mut triage = Triage::new(now());
    objects.iter().for_each(|object| triage.observe(object));
    triage.findings()
}

/// Findings as `Kind name(effects)`.
fn text(findings: &[Finding]) -> String {
    let one = |finding: &Finding| {
        let names: Vec<&str> = finding.subjects.iter().map(|subject| subject.name.as_str()).collect();
        let effects = if finding.effects.is_empty() { String::new() } else { format!("({})", text(&finding.effects)) };
        format!("{} {}{effects}", finding.trouble.kind, names.join("+"))
    };
    findings.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_pod_says_what_is_wrong_with_it() {
    let waits = |reason: &str| {
        json!({"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 3,
        "state": {"waiting": {"reason": reason}}, "lastState": {"terminated": {"reason": "Error", "exitCode": 2}}}]})
    };
    let bound = json!({"nodeName": "n1"});
    check(&pod("a", bound.clone(), waits("CrashLoopBackOff")), &[(TroubleKind::CrashLooping, "")]);
    check(&pod("a", bound.clone(), waits("ImagePullBackOff")), &[(TroubleKind::ImageNotPulled, "")]);
    check(&pod("a", bound.clone(), waits("CreateContainerConfigError")), &[(TroubleKind::ContainerNotStarted, "")]);
    check(&pod("a", bound.clone(), waits("ContainerCreating")), &[]);
    check(&pod("a", json!({}), refused("0/1")), &[(TroubleKind::Unschedulable, "2026-11-20T22:29:01Z")]);
    check(&pod("a", json!({}), json!({"phase": "Pending"})), &[(TroubleKind::NotScheduled, "2026-11-20T22:29:00Z")]);
    // A minute is not a long start.
    check(&pod("a", bound.clone(), json!({"phase": "Pending"})), &[]);
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let killed = |at: &str| {
        json!({"phase": "Running", "conditions": ready, "containerStatuses": [{"name": "c", "restartCount": 1, "state": {"running": {}},
        "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": at}}}]})
    };
    check(&pod("a", bound.clone(), killed("2026-11-20T22:29:30Z")), &[(TroubleKind::OutOfMemory, "2026-11-20T22:29:30Z")]);
    check(&pod("a", bound.clone(), killed("2026-11-20T20:00:00Z")), &[]);
    check(&pod("a", bound.clone(), json!({"phase": "Failed", "reason": "Evicted"})), &[(TroubleKind::Evicted, "")]);
    check(&pod("a", bound.clone(), json!({"phase": "Failed"})), &[(TroubleKind::PodFailed, "")]);
    // A job makes another; whether the job failed is its own matter.
    check(&owned(pod("a", bound.clone(), json!({"phase": "Failed"})), "Job", "j"), &[]);
    let mut ends = pod("a", bound, json!({"phase": "Running"}));
    ends["metadata"]["deletionTimestamp"] = json!("2026-11-20T22:28:30Z");
    ends["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    check(&ends, &[(TroubleKind::Terminating, "2026-11-20T22:28:00Z")]);
    ends["metadata"]["deletionTimestamp"] = json!("2026-11-20T22:30:10Z");
    check(&ends, &[]);
}

#[test]
fn quotas_claims_namespaces_apis_and_requests() {
    let quota = |hard: &str, used: &str| json!({"kind": "ResourceQuota", "metadata": {"name": "q"}, "status": {"hard": {"cpu": hard}, "used": {"cpu": used}}});
    check(&quota("2", "2000m"), &[(TroubleKind::QuotaExhausted, "")]);
    check(&quota("2", "1999m"), &[]);
    check(&quota("0", "0"), &[]);
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "creationTimestamp": "2026-11-20T22:00:00Z"}, "status": {"phase": "Pending"}});
    check(&claim, &[(TroubleKind::ClaimPending, "2026-11-20T22:00:00Z")]);
    let namespace = json!({"kind": "Namespace", "metadata": {"name": "n", "deletionTimestamp": "2026-11-20T22:00:00Z"}});
    check(&namespace, &[(TroubleKind::NamespaceStuck, "2026-11-20T22:00:00Z")]);
    let mut held = namespace;
    held["metadata"]["finalizers"] = json!(["controller.cattle.io/namespace-auth"]);
    held["spec"]["finalizers"] = json!(["kubernetes", "example.com/hold"]);
    assert_eq!(troubles_of(&held)[0].about, ["controller.cattle.io/namespace-auth", "example.com/hold"]);
    let service = json!({"kind": "Service", "metadata": {"name": "s", "deletionTimestamp": "2026-11-20T22:00:00Z", "finalizers": ["lb"]}});
    check(&service, &[(TroubleKind::FinalizersStuck, "2026-11-20T22:00:00Z")]);
    let request = |condition: &str| {
        json!({"kind": "CertificateSigningRequest", "metadata": {"name": "r", "creationTimestamp": "2026-11-20T22:00:00Z"},
        "status": {"conditions": [{"type": condition, "lastUpdateTime": "2026-11-20T22:01:00Z"}]}})
    };
    check(&request("Denied"), &[(TroubleKind::RequestRefused, "2026-11-20T22:01:00Z")]);
    check(&request("Approved"), &[]);
    check(&request("Other"), &[(TroubleKind::RequestPending, "2026-11-20T22:00:00Z")]);
    let job = json!({"kind": "Job", "metadata": {"name": "j"}, "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}});
    check(&job, &[(TroubleKind::JobFailed, "")]);
}

#[test]
fn a_workload_that_is_still_written_is_given_time() {
    let mut short = deployment("web", 1, 2, json!([]));
    check(&short, &[(TroubleKind::Short, "")]);
    short["metadata"]["managedFields"] = json!([{"time": "2026-11-20T22:29:30Z"}]);
    check(&short, &[]);
    let stuck = deployment("web", 1, 2, json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]));
    check(&stuck, &[(TroubleKind::RolloutStuck, ""), (TroubleKind::Short, "")]);
}

#[test]
fn a_node_takes_its_pods_their_workload_and_what_waits_for_a_place_with_it() {
    let silent = json!({"kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-20T22:28:00Z"}]}});
    let lease = json!({"kind": "Lease", "metadata": {"name": "n1", "namespace": "kube-node-lease"},
        "spec": {"renewTime": "2026-11-20T22:27:20Z", "leaseDurationSeconds": 40}});
    let set = owned(json!({"kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop"}}), "Deployment", "web");
    let not_ready =
        json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T22:28:00Z"}]});
    let lost = owned(pod("web-1-a", json!({"nodeName": "n1"}), not_ready.clone()), "ReplicaSet", "web-1");
    let elsewhere = owned(pod("web-1-c", json!({"nodeName": "n2"}), not_ready), "ReplicaSet", "web-1");
    let new = owned(pod("web-1-b", json!({}), refused("0/2 nodes are available")), "ReplicaSet", "web-1");
    let short = deployment("web", 1, 2, json!([]));
    let mut old = new.clone();
    old["metadata"]["name"] = json!("web-1-old");
    old["metadata"]["creationTimestamp"] = json!("2026-11-20T22:00:00Z");
    let found = triaged(&[lease.clone(), silent.clone(), set, lost, elsewhere, new, short, old]);
    assert_eq!(
        text(&found),
        "NodeSilent n1(NotReady web-1-a, Short web(Unschedulable web-1-b)), Unschedulable web-1-old, NotReady web-1-c"
    );
    assert_eq!(found[0].since().unwrap().to_string(), "2026-11-20T22:27:20Z");
    assert_eq!(found[0].pods, 1);
    // A lease that is renewed says nothing; one that is not says it before the node controller does.
    assert_eq!(text(&triaged(&[lease, json!({"kind": "Node", "metadata": {"name": "n1"}})])), "NodeSilent n1");
}

#[test]
fn refused_pods_stand_below_the_quota_or_the_webhook_they_quote() {
    let fails = |message: &str| json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}]);
    let quota = json!({"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}, "status": {"hard": {"pods": "1"}, "used": {"pods": "1"}}});
    let short =
        deployment("web", 1, 2, fails("pods \"web-1\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"));
    assert_eq!(text(&triaged(&[quota.clone(), short])), "QuotaExhausted q(PodsRefused web)");
    let other = deployment("web", 1, 2, fails("pods \"web-1\" is forbidden: exceeded quota: q2, requested: pods=1"));
    assert_eq!(text(&triaged(&[quota, other])), "PodsRefused web, QuotaExhausted q");
    let hooks = json!({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "policy"}, "webhooks": [
        {"name": "pods.policy.io", "clientConfig": {"service": {"namespace": "policy", "name": "hook"}}}]});
    assert_eq!(services_called(&hooks).collect::<Vec<_>>(), [("policy".to_owned(), "hook".to_owned())]);
    let mut triage = Triage::new(now());
    triage.observe(&deployment(
        "web",
        1,
        2,
        fails("Internal error occurred: failed calling webhook \"pods.policy.io\": no endpoints available"),
    ));
    triage.observe_hooks(&hooks, broken_hooks(&hooks, &std::collections::BTreeSet::new()));
    assert_eq!(text(&triage.findings()), "WebhookUnreachable policy(PodsRefused web)");
    assert_eq!(broken_hooks(&hooks, &services_called(&hooks).collect()), []);
}

#[test]
fn pods_wait_for_claims_and_for_the_scheduler() {
    let claim = |annotations: Value| {
        json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop",
        "creationTimestamp": "2026-11-20T22:29:00Z", "annotations": annotations}, "spec": {"storageClassName": "slow"}, "status": {"phase": "Pending"}})
    };
    let user = pod(
        "db-0",
        json!({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}),
        refused("pod has unbound immediate PersistentVolumeClaims"),
    );
    assert_eq!(text(&triaged(&[claim(json!({})), user.clone()])), "ClaimPending data(Unschedulable db-0)");
    // A claim that waits for its pod holds nothing up, unless the pod was given a node.
    let patient = json!({"kind": "StorageClass", "metadata": {"name": "slow"}, "volumeBindingMode": "WaitForFirstConsumer"});
    assert_eq!(text(&triaged(&[patient.clone(), claim(json!({})), user.clone()])), "Unschedulable db-0");
    // One that names a volume waits for that, not for a pod; as soon as it is bound its status follows.
    let mut named = claim(json!({}));
    named["spec"]["volumeName"] = json!("pv-1");
    named["metadata"]["creationTimestamp"] = json!("2026-11-20T22:00:00Z");
    assert_eq!(text(&triaged(&[patient.clone(), named.clone()])), "ClaimPending data");
    named["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    assert_eq!(text(&triaged(&[patient.clone(), named])), "");
    let selected = json!({"volume.kubernetes.io/selected-node": "n1"});
    assert_eq!(text(&triaged(&[patient, claim(selected), user])), "ClaimPending data(VolumeAwaited db-0)");
    let lease = json!({"kind": "Lease", "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
        "spec": {"renewTime": "2026-11-20T22:20:00Z", "leaseDurationSeconds": 15, "holderIdentity": "one"}});
    let unseen = pod("a", json!({}), json!({"phase": "Pending"}));
    assert_eq!(text(&triaged(&[lease, unseen])), "ComponentSilent kube-scheduler(NotScheduled a)");
}

#[test]
fn a_replica_set_without_an_owner_is_a_workload() {
    let set = json!({"kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop"}, "spec": {"replicas": 1}, "status": {"readyReplicas": 1}});
    let mut triage = Triage::new(now());
    triage.observe(&owned(set.clone(), "Deployment", "web"));
    assert_eq!(triage.counts().workloads, 0, "its Deployment is");
    triage.observe(&set);
    assert_eq!(triage.counts().workloads, 1);
}

#[test]
fn pods_that_wait_for_a_lost_claim_stand_below_it() {
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
        "spec": {"storageClassName": "slow", "volumeName": "pv-1"}, "status": {"phase": "Lost"}});
    let using = |name: &str, claim: &str, node: Option<&str>, status: Value| {
        let volumes = json!([{"persistentVolumeClaim": {"claimName": claim}}]);
        let spec = node.map_or_else(|| json!({"volumes": volumes}), |node| json!({"nodeName": node, "volumes": volumes}));
        let mut pod = pod(name, spec, status);
        pod["metadata"]["creationTimestamp"] = json!("2026-11-20T22:00:00Z");
        pod
    };
    let bound = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-20T22:01:00Z"}]});
    let lost = "0/3 nodes are available: persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv-1\".";
    let all = [
        claim,
        using("a", "data", None, refused(lost)),
        using("b", "data", Some("n1"), bound.clone()),
        using("c", "other", Some("n1"), bound),
        using("d", "data", None, refused("0/3 nodes are available: 3 Insufficient cpu.")),
    ];
    let found = triaged(&all);
    let of_claim = found.iter().find(|finding| finding.trouble.kind == TroubleKind::ClaimLost).unwrap();
    let mut below: Vec<&str> = of_claim.effects.iter().flat_map(|effect| &effect.subjects).map(|subject| subject.name.as_str()).collect();
    below.sort_unstable();
    assert_eq!((of_claim.pods, below), (2, vec!["a", "b"]), "{}", text(&found));
}

#[test]
fn pods_wait_for_devices_once_a_node_is_chosen() {
    let claim = |ready: &str| {
        json!({"kind": "ResourceClaim", "metadata": {"name": "gpu", "namespace": "shop"}, "status": {
            "reservedFor": [{"resource": "pods", "name": "train", "uid": "1"}],
            "allocation": {"devices": {"results": [
                {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "bindingConditions": ["Attached", "Ready"]}]}},
            "devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "conditions": [
                {"type": "Attached", "status": "True"}, {"type": "Ready", "status": ready}]}]}})
    };
    let mut before = refused("0/1 nodes are available");
    before["nominatedNodeName"] = "n1".into();
    let waits = pod("train", json!({"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}), before);
    let found = triaged(&[claim("False"), waits.clone()]);
    assert_eq!(text(&found), "DeviceAwaited train");
    assert_eq!(found[0].trouble.about, ["n1", "gpu", "gpu.example.com"]);
    // All conditions hold, another pod has the claim, or the pod has its node: nobody waits for the device.
    assert_eq!(text(&triaged(&[claim("True"), waits])), "Unschedulable train");
    let other = pod("other", json!({}), refused("0/1 nodes are available"));
    assert_eq!(text(&triaged(&[claim("False"), other])), "Unschedulable other");
    let bound = pod("train", json!({"nodeName": "n1"}), json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}));
    assert!(triaged(&[claim("False"), bound]).is_empty());
    // Tried for the first time, it was refused by nobody.
    let mut first = pod("train", json!({}), json!({"phase": "Pending"}));
    first["metadata"]["creationTimestamp"] = "2026-11-20T22:20:00Z".into();
    assert_eq!(text(&triaged(&[claim("False"), first])), "DeviceAwaited train");
}

/// No time in the data is too long to be reckoned with.
#[test]
fn a_lease_without_end_is_not_over() {
    for seconds in [i64::MAX, i64::MAX - 1] {
        let lease = json!({"spec": {"renewTime": "2026-11-20T22:20:00Z", "leaseDurationSeconds": seconds}});
        assert!(!LeaseFacts::of(&lease).unwrap().has_expired(NOW_TIME.parse().unwrap()));
    }
}

#[test]
fn many_alike_are_one_and_what_affects_most_comes_first() {
    let crash = |name: &str| {
        pod(
            name,
            json!({"nodeName": "n1"}),
            json!({"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
        )
    };
    let api = json!({"kind": "APIService", "metadata": {"name": "v1.metrics.k8s.io"}, "status": {"conditions": [{"type": "Available", "status": "False"}]}});
    let namespace = json!({"kind": "Namespace", "metadata": {"name": "old", "deletionTimestamp": "2026-11-20T22:00:00Z"}, "status": {"conditions": [
        {"type": "NamespaceDeletionDiscoveryFailure", "status": "True", "message": "unable to retrieve: metrics.k8s.io/v1: stale GroupVersion discovery"}]}});
    let mut objects: Vec<Value> = ["a", "b", "c", "d"].map(crash).to_vec();
    objects.extend([api, namespace]);
    assert_eq!(text(&triaged(&objects)), "CrashLooping a+b+c+d, ApiUnavailable v1.metrics.k8s.io(NamespaceStuck old)");
    assert_eq!(text(&triaged(&objects[..2])), "CrashLooping a, CrashLooping b");
}

#[test]
fn episodes_count_by_how_long_they_lasted() {
    let mut episodes = Episodes::default();
    let crash = Trouble::new(TroubleKind::CrashLooping);
    episodes.add("web", 1, &crash, (0, 5_000));
    episodes.add("web", 2, &crash, (1_000, 9_000));
    episodes.add("web", 2, &crash, (20_000, 21_000));
    episodes.add("lab", 3, &Trouble::new(TroubleKind::Unschedulable), (0, 10_000));
    // A start takes two minutes without being one.
    episodes.add("lab", 4, &Trouble::new(TroubleKind::NotStarting), (0, 100_000));
    let found: Vec<_> = episodes.standing_out(2_000, 8).into_iter().map(|one| (one.longest, one.begun, one.lasted, one.objects)).collect();
    assert_eq!(found, [(2, 1_000, 8_000, 2), (3, 0, 10_000, 1)]);
}

/// The lease of a component that says this.
fn component(name: &str, spec: Value) -> Value {
    json!({"kind": "Lease", "metadata": {"name": name, "namespace": "kube-system"}, "spec": spec})
}

#[test]
fn a_lease_that_was_given_back_is_not_a_lost_one() {
    // What client-go writes when a leader ends: no holder, good for a second.
    let released = json!({"renewTime": "2026-11-20T22:29:40Z", "leaseDurationSeconds": 1, "holderIdentity": ""});
    let mut nameless = released.clone();
    nameless.as_object_mut().unwrap().remove("holderIdentity");
    for spec in [released, nameless] {
        let found = triaged(&[component("kube-scheduler", spec.clone()), deployment("web", 0, 2, json!([]))]);
        // Two pods that are missing weigh more.
        assert_eq!(text(&found), "Short web, LeaseReleased kube-scheduler");
        assert_eq!(found[1].since().unwrap().to_string(), "2026-11-20T22:29:40Z");
        let unseen = pod("a", json!({}), json!({"phase": "Pending"}));
        assert_eq!(text(&triaged(&[component("kube-scheduler", spec), unseen])), "LeaseReleased kube-scheduler(NotScheduled a)");
    }
    // From one leader to the next some seconds pass.
    let just = json!({"renewTime": "2026-11-20T22:29:58Z", "leaseDurationSeconds": 1, "holderIdentity": ""});
    assert_eq!(text(&triaged(&[component("kube-scheduler", just)])), "");
    let held = json!({"renewTime": "2026-11-20T22:29:55Z", "leaseDurationSeconds": 15, "holderIdentity": "one"});
    assert_eq!(text(&triaged(&[component("kube-scheduler", held)])), "");
}

#[test]
fn a_node_is_silent_since_its_last_heartbeat_whatever_shows_it() {
    let node = |heartbeat: &str| {
        json!({"kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown",
            "lastHeartbeatTime": heartbeat, "lastTransitionTime": "2026-11-20T22:28:00Z"}]}})
    };
    let lease = |renewed: &str| {
        json!({"kind": "Lease", "metadata": {"name": "n1", "namespace": "kube-node-lease"},
            "spec": {"renewTime": renewed, "leaseDurationSeconds": 40, "holderIdentity": "n1"}})
    };
    let since = |objects: &[Value]| triaged(objects)[0].trouble.since.unwrap().to_string();
    assert_eq!(since(&[node("2026-11-20T22:24:00Z")]), "2026-11-20T22:24:00Z");
    assert_eq!(since(&[node("2026-11-20T22:24:00Z"), lease("2026-11-20T22:27:09Z")]), "2026-11-20T22:27:09Z");
    assert_eq!(since(&[node("2026-11-20T22:27:12Z"), lease("2026-11-20T22:27:09Z")]), "2026-11-20T22:27:12Z");
    // The time when that was noticed is reported too.
    assert_eq!(triaged(&[node("2026-11-20T22:24:00Z")])[0].trouble.counts_from.unwrap().to_string(), "2026-11-20T22:28:00Z");
    // A heartbeat after the loss cannot be: it is not believed.
    assert_eq!(since(&[node("2026-11-20T22:28:30Z")]), "2026-11-20T22:28:00Z");
}

#[test]
fn a_rollout_is_unfinished_until_its_controller_says_so() {
    let rollout = |reason: &str, [replicas, updated, available]: [i64; 3]| {
        let mut web = deployment(
            "web",
            2,
            2,
            json!([{"type": "Progressing", "status": "True", "reason": reason, "lastUpdateTime": "2026-11-20T22:20:00Z"}]),
        );
        web["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "4"});
        web["status"]["replicas"] = json!(replicas);
        web["status"]["updatedReplicas"] = json!(updated);
        web["status"]["availableReplicas"] = json!(available);
        web
    };
    let unfinished = [(TroubleKind::RolloutUnfinished, "")];
    check(&rollout("ReplicaSetUpdated", [3, 2, 2]), &unfinished);
    check(&rollout("ReplicaSetUpdated", [2, 1, 2]), &unfinished);
    check(&rollout("ReplicaSetUpdated", [2, 2, 2]), &[]);
    // Its end was noted; a pod that came after it is another matter.
    check(&rollout("NewReplicaSetAvailable", [2, 2, 1]), &[]);
    let mut paused = rollout("DeploymentPaused", [3, 2, 2]);
    paused["spec"]["paused"] = json!(true);
    check(&paused, &[]);
    // Half a minute without progress is none.
    let mut young = rollout("ReplicaSetUpdated", [3, 2, 2]);
    young["status"]["conditions"][0]["lastUpdateTime"] = json!("2026-11-20T22:29:30Z");
    check(&young, &[]);
    let set = |kind: &str, strategy: Value, status: Value| json!({"kind": kind, "metadata": {"name": "db"}, "spec": {"replicas": 3, "updateStrategy": strategy}, "status": status});
    let mut status = json!({"readyReplicas": 3, "updatedReplicas": 1, "updateRevision": "db-2", "currentRevision": "db-1"});
    check(&set("StatefulSet", json!({"type": "RollingUpdate"}), status.clone()), &unfinished);
    check(&set("StatefulSet", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}), status.clone()), &[]);
    check(&set("StatefulSet", json!({"type": "OnDelete"}), status.clone()), &[]);
    status["updateRevision"] = json!("db-1");
    check(&set("StatefulSet", json!({"type": "RollingUpdate"}), status), &[]);
    let status = json!({"numberReady": 3, "desiredNumberScheduled": 3, "updatedNumberScheduled": 1});
    check(&set("DaemonSet", json!({"type": "RollingUpdate"}), status), &unfinished);
}

#[test]
fn the_last_heartbeat_is_the_later_one_before_the_loss_was_noticed() {
    let time = |seconds: i64| Some(Timestamp::from_second(seconds).unwrap());
    let cases = [
        ((time(10), time(5), time(50)), time(10)),
        ((time(10), time(12), time(50)), time(12)),
        ((None, time(5), time(50)), time(5)),
        ((time(60), time(5), time(50)), time(5)),
        ((time(60), None, time(50)), time(50)),
        ((time(10), None, None), time(10)),
        ((None, None, None), None),
    ];
    for ((renewed, posted, noticed), since) in cases {
        assert_eq!(silent_since(renewed, posted, noticed), since);
    }
}

/// Every finding with every effect.
fn each<'f>(findings: &'f [Finding], see: &mut dyn FnMut(&'f Finding)) {
    for finding in findings {
        see(finding);
        each(&finding.effects, see);
    }
}

fn node(name: &str, conditions: Value) -> Value {
    json!({"kind": "Node", "metadata": {"name": name}, "status": {"conditions": conditions}})
}

/// The next of a row of numbers that looks like chance and is always the same.
fn next(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).unwrap() % below
}

/// Objects in trouble, of one of few kinds each, so that many are alike and many nearly so.
fn in_trouble(seed: &mut u64) -> Vec<Value> {
    let pressures = ["MemoryPressure", "DiskPressure", "PIDPressure"];
    let refusals =
        ["3 Insufficient cpu", "7 Insufficient cpu", "3 Insufficient cpu, 4 Insufficient example.com/gpu", "9 node(s) were unschedulable"];
    let waits = ["CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"];
    let mut objects = Vec::new();
    for number in 0..40 {
        let name = format!("o{number}");
        let pressure = pressures[next(seed, 3)];
        let reason = ["KubeletNotReady", "Other"][next(seed, 2)];
        let down = json!({"type": "Ready", "status": "False", "reason": reason, "message": pressure});
        objects.push(match next(seed, 5) {
            0 => node(&name, json!([{"type": pressure, "status": "True", "reason": format!("Kubelet{pressure}"), "message": pressure}])),
            1 => node(&name, json!([down])),
            2 => {
                let message = format!("0/9 nodes are available: {}.", refusals[next(seed, 4)]);
                let waiting = pod(&name, json!({}), refused(&message));
                if next(seed, 2) == 0 { owned(waiting, "StatefulSet", "db") } else { waiting }
            }
            3 => {
                let (ready, wanted) = (next(seed, 2), 2 + next(seed, 2));
                deployment(&name, i64::try_from(ready).unwrap(), i64::try_from(wanted).unwrap(), json!([]))
            }
            _ => {
                let end = json!({"reason": "Error", "exitCode": next(seed, 2)});
                let status = json!({"name": "c", "restartCount": next(seed, 9), "state": {"waiting": {"reason": waits[next(seed, 4)]}}, "lastState": {"terminated": end}});
                pod(&name, json!({"nodeName": "n"}), json!({"phase": "Running", "containerStatuses": [status]}))
            }
        });
    }
    objects
}

#[test]
fn no_finding_says_of_an_object_what_it_does_not_say_itself() {
    let mut seed = 7;
    for _ in 0..60 {
        let objects = in_trouble(&mut seed);
        let own = |name: &str| troubles_of(objects.iter().find(|object| object["metadata"]["name"] == name).unwrap());
        let found = triaged(&objects);
        let mut folds = 0;
        each(&found, &mut |finding| {
            folds += usize::from(finding.subjects.len() > 1);
            assert_eq!(finding.subjects.len(), finding.troubles.len());
            for (subject, trouble) in finding.subjects.iter().zip(&finding.troubles) {
                assert!(own(&subject.name).contains(trouble), "{subject:?} {trouble:?}");
                assert_eq!(trouble.likeness(), finding.trouble.likeness(), "{subject:?}");
                assert_eq!((trouble.kind, &trouble.reason), (finding.trouble.kind, &finding.trouble.reason));
            }
        });
        assert!(folds > 0, "nothing is folded: {}", text(&found));
    }
}

#[test]
fn nodes_are_one_finding_only_under_the_same_pressure() {
    let pressed =
        |name: &str, pressure: &str| node(name, json!([{"type": pressure, "status": "True", "reason": format!("Kubelet{pressure}")}]));
    let nodes = [("n01", "PIDPressure"), ("n09", "MemoryPressure"), ("n18", "PIDPressure"), ("n21", "PIDPressure"), ("n22", "PIDPressure")];
    let found = triaged(&nodes.map(|(name, pressure)| pressed(name, pressure)));
    let mut all: Vec<_> = found.iter().map(|one| (one.trouble.about.join(""), text(std::slice::from_ref(one)))).collect();
    all.sort();
    let wanted = [("MemoryPressure", "NodePressure n09"), ("PIDPressure", "NodePressure n01+n18+n21+n22")];
    assert_eq!(all, wanted.map(|(about, text)| (about.to_owned(), text.to_owned())));
}

#[test]
fn pods_are_one_finding_only_where_the_scheduler_refuses_them_for_the_same_reasons() {
    let waiting =
        |name: &str, why: &str| pod(name, json!({}), refused(&format!("0/24 nodes are available: {why}. preemption: none of 24.")));
    let affinity = "19 node(s) didn't match Pod's node affinity/selector";
    let mut pods = vec![waiting("web-0011", affinity)];
    for (name, gpus) in [("api-0056", 14), ("api-0112", 15), ("batch-0047", 19), ("db-0117", 19)] {
        pods.push(waiting(name, &format!("{gpus} Insufficient example.com/gpu, 3 Insufficient cpu")));
    }
    assert_eq!(text(&triaged(&pods)), "Unschedulable api-0056+api-0112+batch-0047+db-0117, Unschedulable web-0011");
    // Pods of one workload too.
    let of_one: Vec<Value> = pods.into_iter().map(|pod| owned(pod, "StatefulSet", "all")).collect();
    assert_eq!(text(&triaged(&of_one)), "Unschedulable api-0056+api-0112+batch-0047+db-0117, Unschedulable web-0011");
}

#[test]
fn what_is_alike_in_several_namespaces_is_one_finding() {
    let crash = |name: &str, code: i64| {
        let status = json!({"name": "c", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"reason": "Error", "exitCode": code}}});
        let mut pod = pod(name, json!({"nodeName": "n1"}), json!({"phase": "Running", "containerStatuses": [status]}));
        pod["metadata"]["namespace"] = json!(name);
        pod
    };
    let pods = [("a", 1), ("b", 1), ("c", 2), ("d", 1), ("e", 1)].map(|(name, code)| crash(name, code));
    assert_eq!(text(&triaged(&pods)), "CrashLooping a+b+d+e, CrashLooping c");
}

#[test]
fn episodes_are_one_only_where_they_are_alike() {
    let mut episodes = Episodes::default();
    let pressure = |name: &str| Trouble::new(TroubleKind::NodePressure).about([name]);
    episodes.add("Node", 1, &pressure("PIDPressure"), (0, 9_000));
    episodes.add("Node", 2, &pressure("PIDPressure"), (0, 5_000));
    episodes.add("Node", 3, &pressure("MemoryPressure"), (0, 8_000));
    let found: Vec<_> = episodes.standing_out(2_000, 8).into_iter().map(|one| (one.trouble.about.join(""), one.objects)).collect();
    assert_eq!(found, [("PIDPressure".to_owned(), 2), ("MemoryPressure".to_owned(), 1)]);
}

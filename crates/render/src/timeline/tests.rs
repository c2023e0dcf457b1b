//! Steps in words: of each kind in every version of its API, and of one version of an object alone.

use bytes::Bytes;
use ketcd_history::timeline::{Phase, StepDetector, phases_of_one_moment};
use ketcd_history::{Change, ChangeKind, ObjectVersion};
use ketcd_kube::Object;
use ketcd_store::{Origin, Revision, Sources};
use serde_json::{Value, json};

use super::detail;

/// The steps that a change of an object shows.
fn texts(before: Option<&Value>, after: &Value) -> Vec<String> {
    let version = |object: &Value| ObjectVersion::from(Object::from(object.clone()));
    let change = Change {
        revision: Revision(2),
        sub_revision: 0,
        kind: if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added },
        key: Bytes::new(),
        origin: Origin::Db,
        sources: Sources::default(),
        before: before.map_or(ObjectVersion::Absent, version),
        after: version(after),
        may_be_creation: false,
        earlier: None,
    };
    let steps = StepDetector::default().steps(&change);
    steps.iter().map(|step| format!("{} {}", step.phase, detail(step.phase, &step.detail)).trim().to_owned()).collect()
}

/// The steps that a version alone shows.
fn told_of_one_moment(object: &Value) -> Vec<String> {
    let phase = |phase: &Phase| {
        let at = phase.dated.unwrap().time.strftime("%H:%M:%S");
        let by = phase.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        format!("{at} {} {}", phase.phase, detail(phase.phase, &phase.detail)).trim_end().to_owned() + &by
    };
    phases_of_one_moment(object, Revision(7)).iter().map(phase).collect()
}

/// An object with other values at some pointers.
fn with(object: &Value, changes: &[(&str, Value)]) -> Value {
    let mut object = object.clone();
    for (pointer, value) in changes {
        let names: Vec<&str> = pointer.split('/').skip(1).collect();
        let mut place = &mut object;
        for name in names {
            place = &mut place[name.replace("~1", "/")];
        }
        *place = value.clone();
    }
    object
}

#[test]
fn an_autoscaler_in_every_version() {
    let v1 = json!({"kind": "HorizontalPodAutoscaler", "spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 70}, "status": {"desiredReplicas": 2}});
    let up = with(&v1, &[("/status/desiredReplicas", json!(4)), ("/status/currentCPUUtilizationPercentage", json!(95))]);
    assert_eq!(texts(Some(&v1), &up), ["ScaledUp 2 → 4 replicas, cpu at 95% of 70%"]);
    let blind = r#"[{"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric","message":"no metrics"}]"#;
    let blind = with(&v1, &[("/metadata/annotations/autoscaling.alpha.kubernetes.io~1conditions", json!(blind))]);
    assert_eq!(texts(Some(&v1), &blind), ["NoMetrics FailedGetResourceMetric: no metrics"]);
    for (current, target) in [
        (json!({"currentAverageUtilization": 20}), json!({"targetAverageUtilization": 60})),
        (json!({"current": {"averageUtilization": 20}}), json!({"target": {"averageUtilization": 60}})),
    ] {
        let name = |mut resource: Value| {
            resource["name"] = json!("memory");
            json!([{"type": "Resource", "resource": resource}])
        };
        let v2 = json!({"kind": "HorizontalPodAutoscaler", "spec": {"maxReplicas": 5, "metrics": name(target)}, "status": {"desiredReplicas": 3}});
        let down = with(&v2, &[("/status/desiredReplicas", json!(1)), ("/status/currentMetrics", name(current))]);
        assert_eq!(texts(Some(&v2), &down), ["ScaledDown 3 → 1 replicas, memory at 20% of 60%"]);
        let limited = json!([{"type": "ScalingLimited", "status": "True", "reason": "TooManyReplicas", "message": "at most 5"}]);
        let limited = with(&v2, &[("/status/conditions", limited), ("/spec/maxReplicas", json!(6))]);
        assert_eq!(texts(Some(&v2), &limited), ["Changed spec.maxReplicas 5 → 6", "ScalingLimited TooManyReplicas: at most 5"]);
    }
    let spec = json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 4});
    assert_eq!(texts(None, &json!({"kind": "HorizontalPodAutoscaler", "spec": spec})), ["Created scales Deployment web between 2 and 4"]);
}

#[test]
fn addresses_of_both_kinds_of_endpoints() {
    let old = |ready: &[&str], not: &[&str]| {
        let list = |names: &[&str]| names.iter().map(|name| json!({"ip": "10.0.0.1", "targetRef": {"name": name}})).collect::<Vec<_>>();
        json!({"kind": "Endpoints", "subsets": [{"addresses": list(ready), "notReadyAddresses": list(not)}]})
    };
    let new = |ready: &[&str], not: &[&str]| {
        let one = |name: &&str, ready: Option<bool>| json!({"addresses": ["10.0.0.1"], "targetRef": {"name": name}, "conditions": ready.map_or(json!({}), |ready| json!({"ready": ready}))});
        let ready = ready.iter().map(|name| one(name, None));
        json!({"kind": "EndpointSlice", "endpoints": ready.chain(not.iter().map(|name| one(name, Some(false)))).collect::<Vec<_>>()})
    };
    for of in [&old as &dyn Fn(&[&str], &[&str]) -> Value, &new] {
        let steps = |before: Value, after: Value| texts(Some(&before), &after);
        assert_eq!(steps(of(&["a"], &["b"]), of(&["a", "b"], &[])), ["EndpointsReady b; 2 ready"]);
        assert_eq!(steps(of(&["a", "b"], &[]), of(&["a"], &["b"])), ["EndpointsNotReady b; 1 ready"]);
        let gone = ["EndpointsGone a; 0 ready", "NoEndpoints no ready address is left: nothing answers here"];
        assert_eq!(steps(of(&["a"], &[]), of(&[], &[])), gone);
    }
    let terminating = json!({"kind": "EndpointSlice", "endpoints": [{"addresses": ["10.0.0.1"], "targetRef": {"name": "a"}, "conditions": {"ready": false, "serving": true, "terminating": true}}]});
    assert_eq!(texts(Some(&new(&["a"], &[])), &terminating)[0], "EndpointsTerminating a; 0 ready");
}

#[test]
fn a_service_and_its_load_balancer() {
    let service = json!({"kind": "Service", "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.7", "ports": [{"port": 80}]}});
    assert_eq!(texts(None, &service), ["Created LoadBalancer 10.96.0.7, 80/TCP"]);
    let ready = with(&service, &[("/status/loadBalancer/ingress", json!([{"ip": "192.0.2.1"}]))]);
    assert_eq!(texts(Some(&service), &ready), ["LoadBalancerReady 192.0.2.1"]);
    assert_eq!(texts(Some(&ready), &service), ["LoadBalancerGone 192.0.2.1"]);
}

#[test]
fn a_claim_from_asked_to_resized() {
    let asked = json!({"kind": "PersistentVolumeClaim", "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}, "status": {"phase": "Pending"}});
    let steps = |before: &Value, after: &Value| texts(Some(before), after);
    assert_eq!(texts(None, &asked), ["Created 5Gi, class fast"]);
    let selected = with(&asked, &[("/metadata/annotations/volume.kubernetes.io~1selected-node", json!("n1"))]);
    assert_eq!(steps(&asked, &selected), ["NodeSelected the volume is to be made for n1"]);
    for provisioner in ["volume.kubernetes.io~1storage-provisioner", "volume.beta.kubernetes.io~1storage-provisioner"] {
        let provisioning = with(&selected, &[(&format!("/metadata/annotations/{provisioner}"), json!("ebs.csi.aws.com"))]);
        assert_eq!(steps(&selected, &provisioning), ["Provisioning asked of ebs.csi.aws.com"]);
    }
    let bound =
        with(&selected, &[("/spec/volumeName", json!("pv-1")), ("/status", json!({"phase": "Bound", "capacity": {"storage": "5Gi"}}))]);
    assert_eq!(steps(&selected, &bound), ["Reserved to volume pv-1", "Bound to volume pv-1"]);
    let wanted = with(&bound, &[("/spec/resources/requests/storage", json!("8Gi"))]);
    assert_eq!(steps(&bound, &wanted), ["ResizeRequested 5Gi → 8Gi"]);
    assert_eq!(steps(&wanted, &with(&wanted, &[("/status/capacity/storage", json!("8Gi"))])), ["Resized 5Gi → 8Gi"]);
    assert_eq!(steps(&bound, &with(&bound, &[("/status/phase", json!("Lost"))])), ["Lost its volume is gone"]);
}

#[test]
fn a_volume_and_its_attachment() {
    let volume = json!({"kind": "PersistentVolume", "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"}},
        "spec": {"capacity": {"storage": "5Gi"}, "claimRef": {"namespace": "lab", "name": "data"}, "persistentVolumeReclaimPolicy": "Retain"}, "status": {"phase": "Bound"}});
    assert_eq!(texts(None, &volume)[0], "Created 5Gi, provisioned by ebs.csi.aws.com");
    let released = with(&volume, &[("/status/phase", json!("Released"))]);
    assert_eq!(texts(Some(&volume), &released), ["Released its claim is gone; reclaim policy Retain"]);
    let attachment = json!({"kind": "VolumeAttachment", "spec": {"nodeName": "n1", "source": {"persistentVolumeName": "pv-1"}}, "status": {"attached": false}});
    let failed = with(&attachment, &[("/status/attachError", json!({"message": "in use"}))]);
    assert_eq!(texts(Some(&attachment), &failed), ["AttachFailed in use"]);
    let attached = with(&failed, &[("/status", json!({"attached": true}))]);
    assert_eq!(texts(Some(&failed), &attached), ["Attached to n1"]);
}

#[test]
fn a_cron_job_and_its_jobs() {
    let idle = json!({"kind": "CronJob", "spec": {"schedule": "*/5 * * * *", "timeZone": "Europe/Paris"}, "status": {}});
    let steps = |before: &Value, after: &Value| texts(Some(before), after);
    assert_eq!(texts(None, &idle), ["Created schedule */5 * * * * in Europe/Paris"]);
    let active = json!({"active": [{"name": "c-1", "uid": "u"}], "lastScheduleTime": "2026-11-21T00:05:00Z"});
    let fired = with(&idle, &[("/status", active)]);
    assert_eq!(steps(&idle, &fired), ["Fired for 2026-11-21T00:05:00Z", "JobStarted c-1"]);
    let over = with(&fired, &[("/status/active", json!(null)), ("/status/lastSuccessfulTime", json!("2026-11-21T00:05:09Z"))]);
    assert_eq!(steps(&fired, &over), ["JobEnded c-1", "JobSucceeded at 2026-11-21T00:05:09Z"]);
    assert_eq!(
        steps(&idle, &with(&idle, &[("/spec/suspend", json!(true)), ("/spec/schedule", json!("0 3 * * *"))])),
        ["Changed spec.schedule */5 * * * * → 0 3 * * *", "Suspended"]
    );
}

#[test]
fn a_job_counts_those_that_only_ended() {
    let job = json!({"kind": "Job", "spec": {"completions": 3}, "status": {"active": 3}});
    let listed = with(&job, &[("/status", json!({"active": 1, "succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a"]}}))]);
    assert_eq!(texts(Some(&job), &listed), ["Progress 1 active, 2 of 3 succeeded"]);
    let counted = with(&job, &[("/status", json!({"active": 1, "succeeded": 2}))]);
    assert!(texts(Some(&listed), &counted).is_empty());
    let failed = json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}]);
    let failed = with(&job, &[("/status/conditions", failed)]);
    assert_eq!(texts(Some(&job), &failed), ["Failed BackoffLimitExceeded: too often"]);
}

#[test]
fn defaults_that_come_late_are_no_change_of_a_pod() {
    let pod =
        json!({"kind": "Pod", "metadata": {"labels": {"app": "a"}}, "spec": {"volumes": [{"name": "t", "secret": {}}]}, "status": {}});
    assert!(texts(Some(&pod), &with(&pod, &[("/spec/volumes", json!([{"name": "t", "secret": {"defaultMode": 420}}]))])).is_empty());
    let relabelled = with(&pod, &[("/metadata/labels/app", json!("b"))]);
    assert_eq!(texts(Some(&pod), &relabelled), ["Changed metadata.labels.app a → b"]);
}

fn at(time: &str) -> String {
    format!("2026-01-01T{time}Z")
}

#[test]
fn a_pod_that_crashed_and_is_being_deleted() {
    let status = json!({"name": "c", "restartCount": 3, "state": {"running": {"startedAt": at("10:05:00")}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": at("10:01:00"), "finishedAt": at("10:04:30")}}});
    let conditions = json!([
        {"type": "Ready", "status": "True", "lastTransitionTime": at("10:05:00")},
        {"type": "Initialized", "status": "True", "lastTransitionTime": at("10:00:01")},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": at("10:00:01")},
    ]);
    let managed = json!([
        {"manager": "kubectl", "operation": "Update", "time": at("10:00:00"), "fieldsV1": {"f:spec": {"f:containers": {}}}},
        {"manager": "kubelet", "operation": "Update", "time": at("10:05:00"), "subresource": "status",
            "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {}, "k:{\"type\":\"PodScheduled\"}": {}}, "f:containerStatuses": {}}}},
        {"manager": "sealer", "operation": "Apply", "time": at("10:02:00"), "fieldsV1": {"f:metadata": {"f:labels": {"f:seal": {}}}}},
    ]);
    let metadata = json!({"name": "p", "creationTimestamp": at("10:00:00"), "managedFields": managed,
        "deletionTimestamp": at("10:06:30"), "deletionGracePeriodSeconds": 30});
    let pod = json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"},
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [status]}});
    assert_eq!(
        told_of_one_moment(&pod),
        [
            "10:00:00 Created by kubectl",
            "10:00:01 Scheduled to n1",
            "10:00:01 Initialized",
            "10:02:00 Changed its last write; it manages metadata.labels by sealer",
            "10:04:30 Terminated c: Error, exit 1 by kubelet n1",
            "10:05:00 Restarted c for the 3rd time after Error, exit 1 by kubelet n1",
            "10:05:00 Ready by kubelet n1",
            "10:06:00 Deleting 30 s to end",
        ]
    );
}

#[test]
fn what_has_no_time_or_cannot_be_told_is_no_step() {
    let starting = |ready_since: &str| {
        let conditions = json!([
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": at(ready_since)},
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": null},
        ]);
        json!({"kind": "Pod", "metadata": {}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running", "startTime": at("10:00:00"), "conditions": conditions,
            "containerStatuses": [{"name": "c", "restartCount": 0, "state": {"running": {"startedAt": at("10:00:03")}}}]}})
    };
    // Not ready since before its container ran: it never was.
    assert_eq!(told_of_one_moment(&starting("10:00:00")), ["10:00:03 ContainersStarted c"]);
    assert_eq!(told_of_one_moment(&starting("10:09:00")), ["10:00:03 ContainersStarted c", "10:09:00 NotReady ContainersNotReady"]);
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"creationTimestamp": at("10:00:00")}, "status": {"phase": "Bound"}});
    assert_eq!(told_of_one_moment(&claim), ["10:00:00 Created"]);
    let mirror = json!({"kind": "Pod", "metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {"nodeName": "n1"},
        "status": {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at("10:00:00")}]}});
    assert!(told_of_one_moment(&mirror).is_empty());
}

#[test]
fn nodes_and_workloads() {
    let condition = |kind: &str, status: &str, reason: &str, time: &str| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": at(time), "lastUpdateTime": at(time)});
    let node = json!({"kind": "Node", "metadata": {"creationTimestamp": at("09:00:00")}, "spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": at("09:30:00")}]},
        "status": {"nodeInfo": {"kubeletVersion": "v1.36.3"}, "conditions": [condition("Ready", "Unknown", "NodeStatusUnknown", "09:29:00"), condition("DiskPressure", "False", "", "09:00:01")]}});
    assert_eq!(
        told_of_one_moment(&node),
        ["09:00:00 Registered kubelet v1.36.3", "09:29:00 HeartbeatLost NodeStatusUnknown", "09:30:00 Tainted k:NoExecute"]
    );
    let deployment = json!({"kind": "Deployment", "metadata": {"creationTimestamp": at("09:00:00")}, "spec": {"replicas": 2},
        "status": {"updatedReplicas": 2, "availableReplicas": 2, "conditions": [condition("Progressing", "True", "NewReplicaSetAvailable", "09:01:00")]}});
    assert_eq!(told_of_one_moment(&deployment), ["09:00:00 Created", "09:01:00 RolledOut 2 of 2 up to date, 2 available"]);
    let job = json!({"kind": "Job", "metadata": {"creationTimestamp": at("09:00:00")}, "status": {"startTime": at("09:00:00"), "conditions": [condition("Complete", "True", "", "09:05:00")]}});
    assert_eq!(told_of_one_moment(&job), ["09:00:00 Created", "09:00:00 Started", "09:05:00 Succeeded"]);
}

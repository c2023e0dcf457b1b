//! What each kind tells, in every version of its API.

use serde_json::{Value, json};

use super::{Step, StepKind, autoscaler, network, pod, rollout, storage, workload};

fn told(steps: &[Step]) -> Vec<String> {
    steps.iter().map(|step| format!("{} {}", step.phase, step.detail).trim().to_owned()).collect()
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
    assert_eq!(told(&autoscaler::steps(Some(&v1), &up)), ["ScaledUp 2 → 4 replicas, cpu at 95% of 70%"]);
    let blind = r#"[{"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric","message":"no metrics"}]"#;
    let blind = with(&v1, &[("/metadata/annotations/autoscaling.alpha.kubernetes.io~1conditions", json!(blind))]);
    assert_eq!(told(&autoscaler::steps(Some(&v1), &blind)), ["NoMetrics FailedGetResourceMetric: no metrics"]);
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
        assert_eq!(told(&autoscaler::steps(Some(&v2), &down)), ["ScaledDown 3 → 1 replicas, memory at 20% of 60%"]);
        let limited = json!([{"type": "ScalingLimited", "status": "True", "reason": "TooManyReplicas", "message": "at most 5"}]);
        let limited = with(&v2, &[("/status/conditions", limited), ("/spec/maxReplicas", json!(6))]);
        assert_eq!(
            told(&autoscaler::steps(Some(&v2), &limited)),
            ["Changed spec.maxReplicas 5 → 6", "ScalingLimited TooManyReplicas: at most 5"]
        );
    }
    let spec = json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 4});
    assert_eq!(told(&autoscaler::steps(None, &json!({"spec": spec}))), ["Created scales Deployment web between 2 and 4"]);
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
    for (kind, of) in [("Endpoints", &old as &dyn Fn(&[&str], &[&str]) -> Value), ("EndpointSlice", &new)] {
        let steps = |before: Value, after: Value| told(&network::steps(kind, Some(&before), &after));
        assert_eq!(steps(of(&["a"], &["b"]), of(&["a", "b"], &[])), ["EndpointsReady b; 2 ready"]);
        assert_eq!(steps(of(&["a", "b"], &[]), of(&["a"], &["b"])), ["EndpointsNotReady b; 1 ready"]);
        let gone = ["EndpointsGone a; 0 ready", "NoEndpoints no ready address is left: nothing answers here"];
        assert_eq!(steps(of(&["a"], &[]), of(&[], &[])), gone);
    }
    let terminating = json!({"endpoints": [{"addresses": ["10.0.0.1"], "targetRef": {"name": "a"}, "conditions": {"ready": false, "serving": true, "terminating": true}}]});
    assert_eq!(told(&network::steps("EndpointSlice", Some(&new(&["a"], &[])), &terminating))[0], "EndpointsTerminating a; 0 ready");
}

#[test]
fn a_service_and_its_load_balancer() {
    let service = json!({"kind": "Service", "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.7", "ports": [{"port": 80}]}});
    assert_eq!(told(&network::steps("Service", None, &service)), ["Created LoadBalancer 10.96.0.7, 80/TCP"]);
    let ready = with(&service, &[("/status/loadBalancer/ingress", json!([{"ip": "192.0.2.1"}]))]);
    assert_eq!(told(&network::steps("Service", Some(&service), &ready)), ["LoadBalancerReady 192.0.2.1"]);
    assert_eq!(told(&network::steps("Service", Some(&ready), &service)), ["LoadBalancerGone 192.0.2.1"]);
}

#[test]
fn a_claim_from_asked_to_resized() {
    let asked = json!({"kind": "PersistentVolumeClaim", "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}, "status": {"phase": "Pending"}});
    let steps = |before: &Value, after: &Value| told(&storage::steps("PersistentVolumeClaim", Some(before), after));
    assert_eq!(told(&storage::steps("PersistentVolumeClaim", None, &asked)), ["Created 5Gi, class fast"]);
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
    assert_eq!(told(&storage::steps("PersistentVolume", None, &volume))[0], "Created 5Gi, provisioned by ebs.csi.aws.com");
    let released = with(&volume, &[("/status/phase", json!("Released"))]);
    assert_eq!(told(&storage::steps("PersistentVolume", Some(&volume), &released)), ["Released its claim is gone; reclaim policy Retain"]);
    let attachment = json!({"kind": "VolumeAttachment", "spec": {"nodeName": "n1", "source": {"persistentVolumeName": "pv-1"}}, "status": {"attached": false}});
    let failed = with(&attachment, &[("/status/attachError", json!({"message": "in use"}))]);
    assert_eq!(told(&storage::steps("VolumeAttachment", Some(&attachment), &failed)), ["AttachFailed in use"]);
    let attached = with(&failed, &[("/status", json!({"attached": true}))]);
    assert_eq!(told(&storage::steps("VolumeAttachment", Some(&failed), &attached)), ["Attached to n1"]);
}

#[test]
fn a_cron_job_and_its_jobs() {
    let idle = json!({"kind": "CronJob", "spec": {"schedule": "*/5 * * * *", "timeZone": "Europe/Paris"}, "status": {}});
    let steps = |before: &Value, after: &Value| told(&workload::steps("CronJob", Some(before), after));
    assert_eq!(told(&workload::steps("CronJob", None, &idle)), ["Created schedule */5 * * * * in Europe/Paris"]);
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
    assert_eq!(told(&workload::steps("Job", Some(&job), &listed)), ["Progress 1 active, 2 of 3 succeeded"]);
    let counted = with(&job, &[("/status", json!({"active": 1, "succeeded": 2}))]);
    assert!(workload::steps("Job", Some(&listed), &counted).is_empty());
    let failed = json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}]);
    let failed = with(&job, &[("/status/conditions", failed)]);
    assert_eq!(told(&workload::steps("Job", Some(&job), &failed)), ["Failed BackoffLimitExceeded: too often"]);
}

#[test]
fn a_rollout_ends_once_and_a_pod_that_comes_back_is_none() {
    let set = |updated: i64, available: i64| {
        json!({"kind": "DaemonSet", "metadata": {"generation": 2}, "spec": {"template": {}},
            "status": {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": updated, "numberAvailable": available, "numberReady": available}})
    };
    let mut rolling = rollout::Rolling::default();
    let mut follow = |before: &Value, after: &Value, begun: bool| {
        let mut steps = workload::steps("DaemonSet", Some(before), after);
        steps.extend(begun.then(|| Step::new(StepKind::Rollout, "")));
        rolling.follow("DaemonSet", after, &mut steps);
        steps.iter().map(|step| step.phase.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(follow(&set(0, 3), &set(1, 2), true), ["Progress", "Rollout"]);
    assert_eq!(follow(&set(1, 2), &set(3, 3), false), ["RolledOut"]);
    assert_eq!(follow(&set(3, 3), &set(3, 2), false), ["Progress"]);
    assert_eq!(follow(&set(3, 2), &set(3, 3), false), ["Progress"]);
}

#[test]
fn a_pod_under_node_pressure_is_evicted_in_every_release() {
    let running = json!({"kind": "Pod", "metadata": {}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}});
    let message = "The node was low on resource: memory. ";
    let old = with(&running, &[("/status", json!({"phase": "Failed", "reason": "Evicted", "message": message}))]);
    let steps = pod::steps(Some(&running), &old);
    assert_eq!(steps.iter().map(|step| step.phase.as_str()).collect::<Vec<_>>(), ["Evicted", "Failed"]);
    let target = json!([{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": message}]);
    let new = with(&old, &[("/status/conditions", target)]);
    assert_eq!(pod::steps(Some(&running), &new).iter().filter(|step| step.phase == StepKind::Evicted).count(), 1);
}

#[test]
fn defaults_that_come_late_are_no_change_of_a_pod() {
    let pod =
        json!({"kind": "Pod", "metadata": {"labels": {"app": "a"}}, "spec": {"volumes": [{"name": "t", "secret": {}}]}, "status": {}});
    assert!(pod::steps(Some(&pod), &with(&pod, &[("/spec/volumes", json!([{"name": "t", "secret": {"defaultMode": 420}}]))])).is_empty());
    let relabelled = with(&pod, &[("/metadata/labels/app", json!("b"))]);
    assert_eq!(told(&pod::steps(Some(&pod), &relabelled)), ["Changed metadata.labels.app a → b"]);
}

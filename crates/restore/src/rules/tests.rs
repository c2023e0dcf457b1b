use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

/// Strips by all rules but `kept`.
#[track_caller]
fn check(object: Value, kept: &[&str], wanted: Value) {
    let mut stripped = object;
    ALL_RULES.iter().filter(|rule| !kept.contains(&rule.name)).for_each(|rule| {
        rule.strip(&mut stripped);
    });
    assert_eq!(stripped, wanted);
    for rule in ALL_RULES.iter().filter(|rule| !kept.contains(&rule.name)) {
        assert!(!rule.strip(&mut stripped), "{} strips twice", rule.name);
    }
}

#[test]
fn names_are_unique_and_every_rule_says_why() {
    let names: BTreeSet<&str> = ALL_RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), ALL_RULES.len());
    assert!(ALL_RULES.iter().all(|rule| !rule.strips.is_empty() && !rule.reason.is_empty()));
}

#[test]
fn a_pod_loses_what_scheduler_and_admission_set() {
    let mount = json!({"name": "kube-api-access-7k2xw", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true});
    check(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "u", "finalizers": ["batch.kubernetes.io/job-tracking"],
                "annotations": {"kubernetes.io/limit-ranger": "…"}, "ownerReferences": [{"uid": "o"}]},
            "spec": {"nodeName": "n1", "priority": 7, "preemptionPolicy": "PreemptLowerPriority", "priorityClassName": "high",
                "runtimeClassName": "boxed", "overhead": {"cpu": "250m"}, "ephemeralContainers": [{"name": "debugger"}],
                "volumes": [{"name": "kube-api-access-7k2xw", "projected": {"sources": []}}, {"name": "data", "emptyDir": {}}],
                "containers": [{"name": "c", "volumeMounts": [mount.clone(), {"name": "data", "mountPath": "/data"}]}, {"name": "d", "volumeMounts": [mount]}]},
            "status": {"phase": "Running"}}),
        &[],
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {"priorityClassName": "high", "runtimeClassName": "boxed", "volumes": [{"name": "data", "emptyDir": {}}],
                "containers": [{"name": "c", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}, {"name": "d"}]}}),
    );
}

#[test]
fn a_secret_of_a_token_is_no_volume_of_ours_where_the_user_mounts_it() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {
        "volumes": [{"name": "robot-token-x7k2w", "secret": {"secretName": "robot-token-x7k2w"}}],
        "containers": [{"name": "c", "volumeMounts": [{"name": "robot-token-x7k2w", "mountPath": "/token"}]}]}});
    check(pod.clone(), &[], pod);
}

#[test]
fn a_service_keeps_what_was_its_own_choice() {
    let spec = json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 31000, "ports": [{"port": 80, "nodePort": 30080}]});
    let service = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec});
    check(service(spec.clone()), &[], service(json!({"ports": [{"port": 80}]})));
    check(service(spec.clone()), &["cluster-ip", "node-port"], service(spec));
    let headless = service(json!({"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"port": 80}]}));
    check(headless.clone(), &[], headless);
}

#[test]
fn a_job_loses_its_uid_in_every_place() {
    let labels = json!({"app": "a", "controller-uid": "u", "batch.kubernetes.io/controller-uid": "u", "job-name": "j", "batch.kubernetes.io/job-name": "j"});
    let job = |labels: Value, selector: Value| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
            "spec": {"selector": selector, "template": {"metadata": {"creationTimestamp": null, "labels": labels}, "spec": {}}}})
    };
    let mut wanted = job(json!({"app": "a"}), Value::Null);
    wanted["spec"].as_object_mut().unwrap().remove("selector");
    wanted["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
    check(job(labels.clone(), json!({"matchLabels": {"controller-uid": "u"}})), &[], wanted);
    let mut manual = job(labels, json!({"matchLabels": {"app": "a"}}));
    manual["spec"]["manualSelector"] = json!(true);
    manual["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
    check(manual.clone(), &[], manual);
}

#[test]
fn volumes_and_claims_find_each_other_again_when_asked() {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "finalizers": ["kubernetes.io/pvc-protection"],
        "annotations": {"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "n1"}}, "spec": {"volumeName": "pv-1"}});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
        "spec": {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "web", "name": "data", "uid": "u", "resourceVersion": "7"}}});
    let of = |kind: &str, name: &str, spec: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    check(claim.clone(), &[], of("PersistentVolumeClaim", "data", json!({})));
    check(volume.clone(), &[], of("PersistentVolume", "pv-1", json!({})));
    let kept = &[VOLUME_NAME, CLAIM_REF];
    check(claim, kept, of("PersistentVolumeClaim", "data", json!({"volumeName": "pv-1"})));
    let reference = json!({"kind": "PersistentVolumeClaim", "namespace": "web", "name": "data"});
    check(volume, kept, of("PersistentVolume", "pv-1", json!({"claimRef": reference})));
}

#[test]
fn accounts_and_tokens_lose_what_was_generated() {
    check(
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"},
            "secrets": [{"name": "robot-token-x7k2w"}, {"name": "extra"}], "imagePullSecrets": [{"name": "robot-dockercfg-b4c5d"}]}),
        &[],
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}, "secrets": [{"name": "extra"}]}),
    );
    let name = json!({"kubernetes.io/service-account.name": "robot"});
    check(
        json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "data": {"token": "…"},
            "metadata": {"name": "robot", "annotations": {"kubernetes.io/service-account.name": "robot", "kubernetes.io/service-account.uid": "u"}}}),
        &[],
        json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": {"name": "robot", "annotations": name}}),
    );
}

#[test]
fn a_namespace_is_nothing_but_its_name_and_labels() {
    check(
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"a": "b"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}),
        &[],
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"a": "b"}}}),
    );
}

//! Actors by the versions of objects that show them.

use super::*;
use ketcd_kube::Object;
use ketcd_store::{Origin, Revision, Sources};
use serde_json::json;

fn made_by(before: ObjectVersion, after: ObjectVersion) -> Option<(String, ActorFrom)> {
    actor(&change(before, after)).map(|actor| (actor.to_string(), actor.from))
}

fn change(before: ObjectVersion, after: ObjectVersion) -> Change {
    let kind = match (&before, &after) {
        (ObjectVersion::Absent, _) => ChangeKind::Added,
        (_, ObjectVersion::Absent) => ChangeKind::Deleted,
        _ => ChangeKind::Modified,
    };
    Change {
        revision: Revision(2),
        sub_revision: 0,
        kind,
        key: "/k".into(),
        origin: Origin::Db,
        sources: Sources::default(),
        before,
        after,
        may_be_creation: false,
        earlier: None,
    }
}

fn pod(managers: &[(&str, &str)], node: Option<&str>, status: Value) -> ObjectVersion {
    let managed: Vec<_> = managers.iter().map(|(name, time)| json!({"manager": name, "operation": "Update", "time": time})).collect();
    let mut pod = json!({"kind": "Pod", "metadata": {"name": "p", "managedFields": managed}, "spec": {}, "status": status});
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
    }
    Object::from(pod).into()
}

#[test]
fn managed_fields_come_first() {
    let created = pod(&[("kubectl-run", "1")], None, json!({}));
    assert_eq!(made_by(ObjectVersion::Absent, created.clone()), Some(("kubectl-run".into(), ActorFrom::Recorded)));
    let bound = pod(&[("kubectl-run", "1")], Some("n1"), json!({}));
    assert_eq!(made_by(created, bound.clone()), Some(("kube-scheduler".into(), ActorFrom::Inferred)));
    let running = pod(&[("kubectl-run", "1"), ("kubelet", "2")], Some("n1"), json!({"podIP": "10.0.0.1"}));
    assert_eq!(made_by(bound, running), Some(("kubelet n1".into(), ActorFrom::Recorded)));
}

#[test]
fn who_only_lost_fields_did_not_write() {
    let pod = |scheduler: Value, kubelet: Option<Value>| {
        let entry = |name: &str, fields: Value| json!({"manager": name, "operation": "Update", "subresource": "status", "time": "1", "fieldsV1": fields});
        let managed: Vec<Value> =
            [entry("kube-scheduler", scheduler)].into_iter().chain(kubelet.map(|fields| entry("kubelet", fields))).collect();
        Object::from(json!({"kind": "Pod", "metadata": {"managedFields": managed}, "spec": {"nodeName": "n1"}, "status": {}})).into()
    };
    let both = json!({"f:a": {}, "f:b": {}});
    let taken = made_by(pod(both.clone(), None), pod(json!({"f:a": {}}), Some(json!({"f:b": {}}))));
    assert_eq!(taken, Some(("kubelet n1".into(), ActorFrom::Recorded)));
    let again = made_by(pod(both, Some(json!({}))), pod(json!({"f:a": {}}), Some(json!({"f:b": {}}))));
    assert_eq!(again, Some(("kubelet n1".into(), ActorFrom::Recorded)));
}

#[test]
fn without_a_record_an_actor_is_inferred_from_what_changed_or_unknown() {
    let before = pod(&[], Some("n1"), json!({}));
    let started = pod(&[], Some("n1"), json!({"podIP": "10.0.0.1"}));
    assert_eq!(made_by(before.clone(), started), Some(("kubelet n1".into(), ActorFrom::Inferred)));
    let mut deleting = before.object().unwrap().clone();
    deleting["metadata"]["deletionTimestamp"] = json!("2026-11-20T22:16:12Z");
    deleting["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    assert_eq!(made_by(before.clone(), Object::from(deleting).into()), None);
    let namespace =
        |metadata: Value, phase: &str| Object::from(json!({"kind": "Namespace", "metadata": metadata, "status": {"phase": phase}})).into();
    let asked = json!({"deletionTimestamp": "2026-11-20T22:16:12Z"});
    assert_eq!(made_by(namespace(json!({}), "Active"), namespace(asked, "Terminating")), None);
    assert_eq!(made_by(ObjectVersion::Unreadable, before), None);
}

/// A pod on n1 with this metadata, whose only container is in this state.
fn ending(metadata: Value, container: &str) -> Object {
    let mut pod = json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"},
        "status": {"containerStatuses": [{"name": "c", "state": {container: {}}}]}});
    pod["metadata"]["name"] = json!("p");
    Object::from(pod)
}

fn grace(seconds: i64) -> Value {
    json!({"deletionTimestamp": "2026-11-20T22:16:12Z", "deletionGracePeriodSeconds": seconds})
}

/// Who wrote the second version over the first, and who removed it then.
fn ended_by(earlier: &Object, last: &Object) -> [Option<String>; 2] {
    let written = made_by(earlier.clone().into(), last.clone().into()).map(|(name, _)| name);
    let change = Change { earlier: Some(std::sync::Arc::new(earlier.clone())), ..change(last.clone().into(), ObjectVersion::Absent) };
    [written, actor(&change).map(|actor| actor.to_string())]
}

#[test]
fn who_ends_the_grace_of_a_pod_removes_it() {
    let both = |name: Option<&str>| [name.map(str::to_owned), name.map(str::to_owned)];
    // Its kubelet, once nothing runs any more.
    assert_eq!(ended_by(&ending(grace(30), "terminated"), &ending(grace(0), "terminated")), both(Some("kubelet n1")));
    // Somebody else, while it runs: `kubectl delete --force`, of a pod that was being deleted or was not.
    assert_eq!(ended_by(&ending(grace(30), "running"), &ending(grace(0), "running")), both(None));
    assert_eq!(ended_by(&ending(json!({}), "running"), &ending(grace(0), "running")), both(None));
    // A pod that has ended has no grace period.
    assert_eq!(ended_by(&ending(json!({}), "terminated"), &ending(grace(0), "terminated")), both(None));
    let marked = |reason: &str| {
        let mut pod = ending(grace(0), "terminated").into_value();
        pod["status"]["conditions"] = json!([{"type": "DisruptionTarget", "status": "True", "reason": reason}]);
        Object::from(pod)
    };
    let by_controllers = both(Some("kube-controller-manager"));
    assert_eq!(ended_by(&ending(json!({}), "terminated"), &marked("DeletionByTaintManager")), by_controllers);
}

#[test]
fn who_takes_off_the_last_finalizer_removes_it() {
    let held = |finalizer: &str| {
        let mut metadata = grace(0);
        metadata["finalizers"] = json!([finalizer]);
        ending(metadata, "terminated")
    };
    let removed = |last: &Object| ended_by(&ending(grace(30), "terminated"), last)[1].clone();
    assert_eq!(removed(&held("batch.kubernetes.io/job-tracking")).as_deref(), Some("kube-controller-manager"));
    assert_eq!(removed(&held("example.com/hold")), None);
    // Without the version before nobody knows who ended the grace.
    assert_eq!(made_by(ending(grace(0), "terminated").into(), ObjectVersion::Absent), None);
}

/// Leases as they were written: key, revision, version, spec; `None` for a deletion.
fn leases(written: &[(&str, i64, i64, Option<Value>)], newest: i64) -> crate::Leases {
    let mut leases = crate::Leases::default();
    for (key, revision, version, spec) in written {
        let version = ketcd_store::KeyValue {
            key: format!("/registry/leases/{key}").into(),
            value: bytes::Bytes::new(),
            create_revision: Revision(1),
            mod_revision: Revision(*revision),
            version: *version,
            replaced: Revision(0),
            lease: 0,
        };
        leases.observe(&version, spec.as_ref().map(|spec| json!({"spec": spec})).as_ref());
    }
    leases.complete(Revision(newest));
    leases
}

/// A clock by which revision N was written at second N of the hour.
fn clock(leases: crate::Leases) -> Clock {
    let mut evidence = crate::clock::StampCollector::default();
    for revision in 1..3_000_i64 {
        let time = jiff::Timestamp::from_second(1_800_000_000 + revision).unwrap().to_string();
        let object = json!({"kind": "ConfigMap", "metadata": {"creationTimestamp": time}});
        evidence.observe(Revision(revision), format!("/c/{revision}").as_bytes(), true, Some(&object));
    }
    evidence.finish().with_leases(leases)
}

#[test]
fn nobody_writes_whose_lease_has_run_out() {
    let good = |holder: &str, seconds: i64| {
        Some(json!({"renewTime": "2027-01-15T08:00:00Z", "leaseDurationSeconds": seconds, "holderIdentity": holder}))
    };
    let node = |revision, version| ("kube-node-lease/n1", revision, version, good("n1", 40));
    let leader = |revision, version, holder| ("kube-system/kube-controller-manager", revision, version, good(holder, 15));
    let (earlier, last) = (ending(grace(30), "terminated"), ending(grace(0), "terminated"));
    let removed = |revision: i64, leases: crate::Leases| {
        let mut change = change(last.clone().into(), ObjectVersion::Absent);
        change.earlier = Some(std::sync::Arc::new(earlier.clone()));
        change.revision = Revision(revision);
        actor_by(&change, &clock(leases)).map(|actor| actor.to_string())
    };
    let kubelet = Some("kubelet n1".to_owned());
    let twice = || leases(&[node(100, 7), node(500, 8)], 2_000);
    assert_eq!(removed(120, twice()), kubelet);
    assert_eq!(removed(160, twice()), None);
    // It may be back some seconds before it renews its lease.
    assert_eq!(removed(495, twice()), kubelet);
    assert_eq!(removed(700, twice()), None);
    // Between versions that do not follow each other there were others.
    assert_eq!(removed(160, leases(&[node(100, 7), node(500, 9)], 2_000)), kubelet);
    // What came after the last change that was read is not known.
    assert_eq!(removed(700, leases(&[node(100, 7), node(500, 8)], 600)), kubelet);
    // The lease of a node that was deleted is deleted, too.
    assert_eq!(removed(700, leases(&[node(100, 7), ("kube-node-lease/n1", 600, 0, None)], 2_000)), None);
    // Another node's says nothing.
    assert_eq!(removed(700, leases(&[("kube-node-lease/n2", 100, 7, good("n2", 40))], 2_000)), kubelet);

    let numbered = |revision: i64, leases: crate::Leases| {
        let job = |active: i64| Object::from(json!({"kind": "Job", "metadata": {"name": "j"}, "spec": {}, "status": {"active": active}}));
        let mut change = change(job(1).into(), job(2).into());
        change.revision = Revision(revision);
        actor_by(&change, &clock(leases)).map(|actor| actor.name)
    };
    let controllers = Some(CONTROLLER_MANAGER.to_owned());
    assert_eq!(numbered(110, leases(&[leader(100, 7, "a")], 2_000)), controllers);
    assert_eq!(numbered(130, leases(&[leader(100, 7, "a"), leader(132, 8, "b")], 2_000)), None);
    // Given back, nobody leads at once.
    assert_eq!(numbered(102, leases(&[leader(100, 7, "")], 2_000)), None);
    assert_eq!(numbered(106, leases(&[leader(100, 7, ""), leader(105, 8, "b")], 2_000)), controllers);
}

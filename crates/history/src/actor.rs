//! Who made a change: recorded in managedFields where the write left a trace there, else inferred from what changed; [`ActorFrom`] says which.

mod ending;
mod looked_at;

use std::fmt;

use serde_json::Value;

pub(super) use self::looked_at::{LOOKED_AT, LOOKED_AT_OF_DELETED, LOOKED_AT_WITH_FIELD_SETS, reads_containers, reads_field_sets};
use super::change::{Change, ChangeKind, ObjectVersion};
use super::clock::Clock;
use ketcd_kube::{Object, condition};

/// How an actor is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActorFrom {
    /// The API server recorded it: a managedFields entry appeared or got a new time, or the object names its writer (Events, leases).
    Recorded,
    /// We conclude it from what changed.
    Inferred,
}

impl ActorFrom {
    /// The word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Inferred => "inferred",
        }
    }
}

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The field manager or component, for example `kubelet`.
    pub name: String,
    /// The node or object on whose behalf, where that adds something.
    pub on: Option<String>,
    /// Recorded or inferred.
    pub from: ActorFrom,
}

impl Actor {
    fn recorded(name: impl Into<String>) -> Self {
        Self { name: name.into(), on: None, from: ActorFrom::Recorded }
    }

    fn inferred(name: impl Into<String>) -> Self {
        Self { name: name.into(), on: None, from: ActorFrom::Inferred }
    }

    fn on(mut self, name: Option<&str>) -> Self {
        self.on = name.map(str::to_owned);
        self
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.on.iter().try_for_each(|on| write!(f, " {on}"))
    }
}

/// The component that runs the controllers of Kubernetes itself.
pub(super) const CONTROLLERS: &str = "kube-controller-manager";
/// The scheduler of pods that name no other.
const SCHEDULER: &str = "kube-scheduler";

/// Returns who made `change`, as far as the change itself shows; `None` where neither a record nor what changed shows it.
pub fn actor(change: &Change) -> Option<Actor> {
    find(change, |_| true)
}

/// The same, without those whose lease had run out or was given back by then.
pub(super) fn actor_by(change: &Change, clock: &Clock) -> Option<Actor> {
    find(change, |actor| {
        let leases = clock.leases();
        let is_heartbeat = change.object().is_some_and(|object| object["kind"] == "Node");
        match (&*actor.name, &actor.on) {
            // A node's heartbeat is itself a sign of life.
            ("kubelet", Some(node)) => is_heartbeat || !leases.lacks_kubelet(node, change.revision, clock),
            (CONTROLLERS | SCHEDULER, _) => !leases.lacks_leader(&actor.name, change.revision, clock),
            _ => true,
        }
    })
}

/// What is recorded, else the first conclusion that is possible.
fn find(change: &Change, is_possible: impl Fn(&Actor) -> bool) -> Option<Actor> {
    let object = change.object()?;
    let on_node = |found: Actor| if found.name == "kubelet" && found.on.is_none() { found.on(kubelet_of(object)) } else { found };
    let recorded = match (change.kind, &change.before) {
        (ChangeKind::Deleted, _) => None,
        (ChangeKind::Added, _) => named_by_itself(object).or_else(|| recorded(None, object)),
        (ChangeKind::Modified, ObjectVersion::Object(before)) => named_by_itself(object).or_else(|| recorded(Some(before), object)),
        (ChangeKind::Modified, _) => named_by_itself(object),
    };
    if let Some(recorded) = recorded {
        return Some(on_node(recorded));
    }
    let inferred = match (change.kind, &change.before) {
        (ChangeKind::Deleted, _) => inferred_deletion(object, change.earlier.as_deref()),
        (ChangeKind::Added, _) => [inferred_creation(object), None],
        (ChangeKind::Modified, ObjectVersion::Object(before)) => {
            [inferred_update(before, object), vanished(before, object).or_else(|| ending::forced(before, object))]
        }
        (ChangeKind::Modified, _) => [None, None],
    };
    inferred.into_iter().flatten().map(on_node).find(is_possible)
}

/// Leases and Events say themselves who writes them.
fn named_by_itself(object: &Value) -> Option<Actor> {
    match object["kind"].as_str()? {
        "Event" => {
            let component =
                object["source"]["component"].as_str().filter(|name| !name.is_empty()).or(object["reportingComponent"].as_str())?;
            (!component.is_empty())
                .then(|| Actor::recorded(component).on(object["source"]["host"].as_str().filter(|host| !host.is_empty())))
        }
        "Lease" if object["metadata"]["namespace"] == "kube-node-lease" => {
            Some(Actor::recorded("kubelet").on(object["metadata"]["name"].as_str()))
        }
        "Lease" if object["metadata"]["managedFields"].is_null() => Some(Actor::recorded(object["spec"]["holderIdentity"].as_str()?)),
        _ => None,
    }
}

/// The entry of managedFields that is new or has a new time, of several the newest; else, two writes in one second, the one that
/// holds more than before. An entry that only lost fields is not its manager's doing: another took them over.
fn recorded(before: Option<&Value>, after: &Value) -> Option<Actor> {
    let old = before.map(entries).unwrap_or_default();
    let grown = || written(after).find(|entry| known(old, entry).is_some_and(|known| holds_more(&known["fieldsV1"], &entry["fieldsV1"])));
    stamped(old, after).or_else(grown)?["manager"].as_str().map(Actor::recorded)
}

/// The entries of managedFields.
fn entries(object: &Value) -> &[Value] {
    object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Those that a write may have left.
fn written(object: &Value) -> impl Iterator<Item = &Value> {
    entries(object).iter().filter(|entry| entry["manager"] != "before-first-apply")
}

/// The entry of the same manager among `old` ones.
fn known<'v>(old: &'v [Value], entry: &Value) -> Option<&'v Value> {
    let is_same = |other: &&Value| ["manager", "operation", "subresource", "apiVersion"].iter().all(|field| other[field] == entry[field]);
    old.iter().find(is_same)
}

/// The newest of the entries that are new or have a new time.
fn stamped<'v>(old: &[Value], after: &'v Value) -> Option<&'v Value> {
    let stamped = written(after).filter(|entry| known(old, entry).is_none_or(|known| known["time"] != entry["time"]));
    // A creation's own manager comes first; of an update's entries the newest is the one that wrote.
    stamped.reduce(|best, entry| if entry["time"].as_str() > best["time"].as_str() { entry } else { best })
}

/// Whether a set of fields holds any that the other does not.
fn holds_more(old: &Value, new: &Value) -> bool {
    match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => new.iter().any(|(field, below)| old.get(field).is_none_or(|known| holds_more(known, below))),
        _ => old != new,
    }
}

/// Taking back what one has set leaves no new time: the entry is gone, or holds fewer fields.
fn vanished(before: &Value, after: &Value) -> Option<Actor> {
    let kept = entries(after);
    let gone: Vec<&Value> = entries(before).iter().filter(|entry| !kept.contains(entry)).collect();
    match gone.as_slice() {
        [only] => only["manager"].as_str().map(Actor::inferred),
        _ => None,
    }
}

fn inferred_creation(object: &Value) -> Option<Actor> {
    // Each namespace gets these two from controllers of their own (serviceaccounts_controller.go, rootcacertpublisher).
    if [("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")]
        .contains(&(object["kind"].as_str()?, object["metadata"]["name"].as_str()?))
    {
        return Some(Actor::inferred(CONTROLLERS));
    }
    let owner = object["metadata"]["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)?;
    match owner["kind"].as_str()? {
        "Node" => Some(Actor::inferred("kubelet").on(owner["name"].as_str())),
        "ReplicaSet" | "ReplicationController" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" | "CronJob" => {
            Some(Actor::inferred(CONTROLLERS))
        }
        _ => None,
    }
}

fn inferred_deletion(object: &Value, earlier: Option<&Object>) -> [Option<Actor>; 2] {
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => ending::removed(earlier, object),
        "Event" => [Some(Actor::inferred("etcd lease")), None],
        // The writer who removes the last finalizer deletes the namespace. With none in metadata, that is the namespace controller.
        "Namespace" if !ending::has_finalizers(object) => [Some(Actor::inferred(CONTROLLERS)), None],
        _ => [None, None],
    }
}

fn inferred_update(before: &Value, after: &Value) -> Option<Actor> {
    match after["kind"].as_str()? {
        "Pod" => inferred_pod_update(before, after),
        // The API server writes it for whoever asked; of a namespace it turns the phase, too.
        _ if before["metadata"]["deletionTimestamp"] != after["metadata"]["deletionTimestamp"] => None,
        "Node" => {
            let beat = |object: &Value| {
                object["status"]["conditions"].as_array().into_iter().flatten().map(|c| c["lastHeartbeatTime"].clone()).collect::<Vec<_>>()
            };
            if before["spec"]["taints"] != after["spec"]["taints"] {
                return by_condition(before, after).then(|| Actor::inferred(CONTROLLERS));
            }
            (beat(before) != beat(after)).then(|| Actor::inferred("kubelet").on(after["metadata"]["name"].as_str()))
        }
        "ReplicaSet"
        | "Deployment"
        | "StatefulSet"
        | "DaemonSet"
        | "Job"
        | "CronJob"
        | "ReplicationController"
        | "Namespace"
        | "PodDisruptionBudget"
        | "ResourceQuota"
        | "HorizontalPodAutoscaler"
            if before["status"] != after["status"] && before["spec"] == after["spec"] || numbered(before, after) =>
        {
            Some(Actor::inferred(CONTROLLERS))
        }
        "Endpoints" | "EndpointSlice" | "PersistentVolume" | "PersistentVolumeClaim" => Some(Actor::inferred(CONTROLLERS)),
        _ => None,
    }
}

/// Whether only the annotations of the deployment controller changed.
fn numbered(before: &Value, after: &Value) -> bool {
    const REVISION: &str = "deployment.kubernetes.io/revision";
    let annotation = |object: &Value| object["metadata"]["annotations"][REVISION].clone();
    after["kind"] == "Deployment" && before["spec"] == after["spec"] && annotation(before) != annotation(after)
}

/// Whether all taints that came or went are those that the node lifecycle controller keeps in step with conditions and cordons
/// (k8s.io/kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go).
fn by_condition(before: &Value, after: &Value) -> bool {
    const KEPT: [&str; 7] =
        ["not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable", "unschedulable"];
    let taints = |node: &'_ Value| node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let (old, new) = (taints(before), taints(after));
    let same = |a: &Value, b: &Value| a["key"] == b["key"] && a["value"] == b["value"] && a["effect"] == b["effect"];
    let turned = |from: &[Value], to: &[Value]| -> Vec<Value> {
        from.iter().filter(|taint| !to.iter().any(|other| same(taint, other))).cloned().collect()
    };
    let turned = [turned(&old, &new), turned(&new, &old)].concat();
    let kept = |taint: &Value| {
        taint["key"].as_str().and_then(|key| key.strip_prefix("node.kubernetes.io/")).is_some_and(|key| KEPT.contains(&key))
    };
    !turned.is_empty() && turned.iter().all(kept)
}

/// Binding, graceful deletion and, before managedFields, everything else leave only their effect.
fn inferred_pod_update(before: &Value, after: &Value) -> Option<Actor> {
    let changed =
        |path: &[&str]| path.iter().fold(before, |value, name| &value[name]) != path.iter().fold(after, |value, name| &value[name]);
    if changed(&["spec", "nodeName"]) {
        return Some(Actor::inferred(scheduler_of(after)));
    }
    if changed(&["metadata", "deletionTimestamp"]) || changed(&["metadata", "deletionGracePeriodSeconds"]) {
        return ending::asked(before, after);
    }
    if changed(&["spec"]) || !changed(&["status"]) {
        return None;
    }
    if let Some(marked) = condition(after, "DisruptionTarget").filter(|marked| condition(before, "DisruptionTarget") != Some(marked)) {
        return disruptor(marked, after);
    }
    if ["containerStatuses", "initContainerStatuses", "podIP", "podIPs", "startTime", "hostIP"]
        .into_iter()
        .any(|field| changed(&["status", field]))
    {
        return Some(Actor::inferred("kubelet"));
    }
    if changed(&["status", "nominatedNodeName"]) || condition(before, "PodScheduled") != condition(after, "PodScheduled") {
        return Some(Actor::inferred(scheduler_of(after)));
    }
    let ready_only = condition(before, "Ready") != condition(after, "Ready")
        && condition(before, "ContainersReady") == condition(after, "ContainersReady");
    Some(Actor::inferred(if ready_only { CONTROLLERS } else { "kubelet" }))
}

/// Each reason of DisruptionTarget has one component that sets it (k8s.io/api core/v1, PodReason…).
fn disruptor(marked: &Value, pod: &Value) -> Option<Actor> {
    match marked["reason"].as_str()? {
        "EvictionByEvictionAPI" => Some(Actor::inferred("kube-apiserver")),
        "PreemptionByScheduler" => Some(Actor::inferred(scheduler_of(pod))),
        "DeletionByTaintManager" | "DeletionByPodGC" | "DeletionByDeviceTaintManager" => Some(Actor::inferred(CONTROLLERS)),
        "TerminationByKubelet" => Some(Actor::inferred("kubelet")),
        _ => None,
    }
}

/// The program behind `spec.schedulerName`: the default one is kube-scheduler, others go by their own names.
fn scheduler_of(pod: &Value) -> &str {
    pod["spec"]["schedulerName"].as_str().filter(|name| *name != "default-scheduler").unwrap_or(SCHEDULER)
}

fn kubelet_of(object: &Value) -> Option<&str> {
    match object["kind"].as_str()? {
        "Pod" => object["spec"]["nodeName"].as_str(),
        "Node" | "CSINode" => object["metadata"]["name"].as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let namespace = |metadata: Value, phase: &str| {
            Object::from(json!({"kind": "Namespace", "metadata": metadata, "status": {"phase": phase}})).into()
        };
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
        // A pod that has ended has no grace, whoever deletes it.
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
        let mut evidence = crate::clock::Evidence::default();
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
            let job =
                |active: i64| Object::from(json!({"kind": "Job", "metadata": {"name": "j"}, "spec": {}, "status": {"active": active}}));
            let mut change = change(job(1).into(), job(2).into());
            change.revision = Revision(revision);
            actor_by(&change, &clock(leases)).map(|actor| actor.name)
        };
        let controllers = Some(CONTROLLERS.to_owned());
        assert_eq!(numbered(110, leases(&[leader(100, 7, "a")], 2_000)), controllers);
        assert_eq!(numbered(130, leases(&[leader(100, 7, "a"), leader(132, 8, "b")], 2_000)), None);
        // Given back, nobody leads at once.
        assert_eq!(numbered(102, leases(&[leader(100, 7, "")], 2_000)), None);
        assert_eq!(numbered(106, leases(&[leader(100, 7, ""), leader(105, 8, "b")], 2_000)), controllers);
    }
}

//! Who made a change: recorded in managedFields where the write left a trace there, else inferred from what changed; [`ActorFrom`] says which.

mod looked_at;

use std::fmt;

use serde_json::Value;

pub(super) use self::looked_at::{LOOKED_AT, LOOKED_AT_WITH_FIELD_SETS, reads_field_sets};
use super::change::{Change, ChangeKind, ObjectVersion};
use ketcd_kube::condition;

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

/// Returns who made `change`; `None` where neither a record nor the change itself shows it.
pub fn actor(change: &Change) -> Option<Actor> {
    let object = change.object()?;
    let found = match change.kind {
        ChangeKind::Deleted => inferred_deletion(object),
        ChangeKind::Added => named_by_itself(object).or_else(|| recorded(None, object)).or_else(|| inferred_creation(object)),
        ChangeKind::Modified => match &change.before {
            ObjectVersion::Object(before) => named_by_itself(object)
                .or_else(|| recorded(Some(before), object))
                .or_else(|| inferred_update(before, object))
                .or_else(|| vanished(before, object)),
            _ => named_by_itself(object),
        },
    }?;
    Some(if found.name == "kubelet" && found.on.is_none() { found.on(kubelet_of(object)) } else { found })
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

fn inferred_deletion(object: &Value) -> Option<Actor> {
    let metadata = &object["metadata"];
    match object["kind"].as_str()? {
        "Pod" if metadata["deletionGracePeriodSeconds"] == 0 && object["spec"]["nodeName"].is_string() => {
            Some(Actor::inferred("kubelet").on(object["spec"]["nodeName"].as_str()))
        }
        "Event" => Some(Actor::inferred("etcd lease")),
        "Namespace" => Some(Actor::inferred(CONTROLLERS)),
        _ => None,
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
    let metadata = &after["metadata"];
    if changed(&["metadata", "deletionTimestamp"]) || changed(&["metadata", "deletionGracePeriodSeconds"]) {
        if metadata["deletionGracePeriodSeconds"] == 0 && before["metadata"]["deletionTimestamp"].is_string() {
            return Some(Actor::inferred("kubelet"));
        }
        return condition(after, "DisruptionTarget")
            .filter(|marked| marked["status"] == "True")
            .and_then(|marked| disruptor(marked, after));
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
    pod["spec"]["schedulerName"].as_str().filter(|name| *name != "default-scheduler").unwrap_or("kube-scheduler")
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
    use ketcd_kube::Object;
    use ketcd_store::{Origin, Revision, Sources};
    use serde_json::json;

    fn made_by(before: ObjectVersion, after: ObjectVersion) -> Option<(String, ActorFrom)> {
        let kind = match (&before, &after) {
            (ObjectVersion::Absent, _) => ChangeKind::Added,
            (_, ObjectVersion::Absent) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        let change = Change {
            revision: Revision(2),
            sub_revision: 0,
            kind,
            key: "/k".into(),
            origin: Origin::Db,
            sources: Sources::default(),
            before,
            after,
        };
        actor(&change).map(|actor| (actor.to_string(), actor.from))
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
}

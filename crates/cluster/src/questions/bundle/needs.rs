//! What the story of one object needs, read from one version of it.

use ketcd_restore::ObjectId;
use ketcd_restore::references::{Related, references};
use serde_json::{Map, Value};

use super::few::Few;
use super::selector::PodSelector;

/// The namespace of the Leases that kubelets renew.
const NODE_LEASES_NAMESPACE: &str = "kube-node-lease";

/// What all versions of an object show.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Its uids; several where it was made anew.
    pub uids: Few<String>,
    /// The uids of its owners.
    pub owners: Few<String>,
    /// What it needs: owners, and what it refers to.
    pub refers: Few<ObjectId>,
    /// What it tells something about: an Event, a HorizontalPodAutoscaler, the slices of a Service.
    pub about: Few<ObjectId>,
    /// The nodes that a pod is on.
    pub nodes: Few<String>,
    /// The labels of a pod, in each form that they had.
    pub labels: Vec<Map<String, Value>>,
    /// Which pods it selects.
    pub selects: Vec<PodSelector>,
    /// Whether it is a pod that had no node in a version: a decision about it is in the history, or to come.
    pub was_unbound: bool,
}

impl Needs {
    /// What one version shows.
    pub(super) fn of(object: &Value) -> Self {
        let mut needs = Self::default();
        let metadata = &object["metadata"];
        needs.uids.extend(text(&metadata["uid"]));
        for owner in items(&metadata["ownerReferences"]) {
            needs.owners.extend(text(&owner["uid"]));
            needs.refers.extend(reference(owner, metadata["namespace"].as_str()));
        }
        for related in [Related::Config, Related::Storage] {
            needs.refers.extend(references(object, related));
        }
        needs.add_of_kind(object);
        needs
    }

    /// Adds what another version shows.
    pub(super) fn add(&mut self, other: Self) {
        self.uids.extend(other.uids);
        self.owners.extend(other.owners);
        self.refers.extend(other.refers);
        self.about.extend(other.about);
        self.nodes.extend(other.nodes);
        self.labels.extend(other.labels.into_iter().filter(|labels| !self.labels.contains(labels)).collect::<Vec<_>>());
        self.selects.extend(other.selects.into_iter().filter(|selector| !self.selects.contains(selector)).collect::<Vec<_>>());
        self.was_unbound |= other.was_unbound;
    }

    fn add_of_kind(&mut self, object: &Value) {
        let (metadata, spec) = (&object["metadata"], &object["spec"]);
        let namespace = metadata["namespace"].as_str();
        let name = metadata["name"].as_str().unwrap_or_default();
        match object["kind"].as_str().unwrap_or_default() {
            "Pod" => self.add_of_pod(object, namespace, name),
            "Node" => {
                self.refers.insert(ObjectId::new("coordination.k8s.io", "Lease", Some(NODE_LEASES_NAMESPACE), name));
                self.refers.insert(ObjectId::new("storage.k8s.io", "CSINode", None, name));
            }
            "Event" => {
                let subjects = [&object["involvedObject"], &object["regarding"], &object["related"]];
                self.about.extend(subjects.iter().filter_map(|subject| reference(subject, subject["namespace"].as_str())));
            }
            "HorizontalPodAutoscaler" => self.about.extend(reference(&spec["scaleTargetRef"], namespace)),
            "EndpointSlice" => {
                let service = metadata["labels"]["kubernetes.io/service-name"].as_str();
                self.about.extend(service.map(|service| ObjectId::new("", "Service", namespace, service)));
            }
            "Endpoints" => self.about.insert(ObjectId::new("", "Service", namespace, name)),
            "ResourceQuota" | "LimitRange" => self.about.extend(namespace.map(|namespace| ObjectId::new("", "Namespace", None, namespace))),
            "VolumeAttachment" => {
                let volume = spec["source"]["persistentVolumeName"].as_str();
                self.about.extend(volume.map(|volume| ObjectId::new("", "PersistentVolume", None, volume)));
            }
            "PersistentVolume" => {
                let claim = &spec["claimRef"];
                let claim = claim["name"].as_str().zip(claim["namespace"].as_str());
                self.refers.extend(claim.map(|(name, namespace)| ObjectId::new("", "PersistentVolumeClaim", Some(namespace), name)));
                self.refers.extend(text(&spec["csi"]["driver"]).map(|driver| ObjectId::new("storage.k8s.io", "CSIDriver", None, &driver)));
            }
            _ => {}
        }
        self.selects.extend(PodSelector::of(object));
    }

    fn add_of_pod(&mut self, pod: &Value, namespace: Option<&str>, name: &str) {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        self.was_unbound |= spec["nodeName"].as_str().is_none_or(str::is_empty);
        for node in [&spec["nodeName"], &status["nominatedNodeName"]].into_iter().filter_map(text) {
            self.refers.insert(ObjectId::new("", "Node", None, &node));
            self.nodes.insert(node);
        }
        for volume in items(&spec["volumes"]).filter(|volume| volume["ephemeral"].is_object()) {
            let claim = format!("{name}-{}", volume["name"].as_str().unwrap_or_default());
            self.refers.insert(ObjectId::new("", "PersistentVolumeClaim", namespace, &claim));
        }
        for claim in items(&status["resourceClaimStatuses"]).filter_map(|claim| claim["resourceClaimName"].as_str()) {
            self.refers.insert(ObjectId::new("resource.k8s.io", "ResourceClaim", namespace, claim));
        }
        self.labels.push(pod["metadata"]["labels"].as_object().cloned().unwrap_or_default());
    }
}

/// The object that a reference names, in a namespace where its kind has one.
fn reference(reference: &Value, namespace: Option<&str>) -> Option<ObjectId> {
    let version = reference["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    Some(ObjectId::new(group, &text(&reference["kind"])?, namespace, &text(&reference["name"])?))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(ids: &Few<ObjectId>) -> Vec<String> {
        ids.iter().map(ObjectId::to_string).collect()
    }

    #[test]
    fn a_pod_needs_its_owner_its_node_and_what_it_mounts() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-1", "namespace": "shop", "uid": "u1", "labels": {"app": "web"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u0"}],
            },
            "spec": {
                "nodeName": "n1", "serviceAccountName": "runner", "priorityClassName": "high",
                "volumes": [
                    {"name": "c", "configMap": {"name": "settings"}}, {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
                    {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
                ],
            },
        });
        let needs = Needs::of(&pod);
        assert_eq!(
            names(&needs.refers),
            [
                "configmap/shop/settings",
                "node/n1",
                "persistentvolumeclaim/shop/data",
                "persistentvolumeclaim/shop/web-1-e",
                "serviceaccount/shop/runner",
                "replicaset.apps/shop/web",
                "priorityclass.scheduling.k8s.io/high",
                "storageclass.storage.k8s.io/fast",
            ]
        );
        assert_eq!((needs.owners.iter().count(), needs.labels.len(), needs.was_unbound), (1, 1, false));
    }

    #[test]
    fn events_autoscalers_and_slices_are_about_others() {
        let about = |object: Value| names(&Needs::of(&object).about);
        let event = json!({"kind": "Event", "metadata": {"namespace": "shop", "name": "web-1.17"},
                           "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1", "apiVersion": "v1"}});
        assert_eq!(about(event), ["pod/shop/web-1"]);
        let scaler = json!({"kind": "HorizontalPodAutoscaler", "metadata": {"namespace": "shop"},
                            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        assert_eq!(about(scaler), ["deployment.apps/shop/web"]);
        let slice = json!({"kind": "EndpointSlice", "metadata": {"namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}}});
        assert_eq!(about(slice), ["service/shop/web"]);
    }

    #[test]
    fn versions_add_up() {
        let pod =
            |node: Value| Needs::of(&json!({"kind": "Pod", "metadata": {"uid": "u", "labels": {"a": "b"}}, "spec": {"nodeName": node}}));
        let mut needs = pod(Value::Null);
        needs.add(pod("n1".into()));
        assert!(needs.was_unbound && needs.nodes.iter().any(|node| node == "n1"));
        assert_eq!((needs.labels.len(), needs.uids.iter().count()), (1, 1));
    }
}

//! What controllers make again, in words: what a restore of manifests would leave out, too.

use ketcd_restore::exclusions::{OWNED_EXCLUSION, Surroundings, controller, exclusion};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    Object,
    Change,
    Deletion,
}

pub(super) trait Around {
    /// What Services say of their addresses.
    fn surroundings(&self) -> &Surroundings;

    /// Whether an object was made since the backup, so that it is lost.
    fn is_lost(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> bool;
}

/// What becomes of an object that controllers make again, or keep as they want it; `None` where none does.
pub(super) fn remade(object: &Value, around: &impl Around, lost: Lost) -> Option<String> {
    let exclusion = exclusion(object, around.surroundings(), |_| false)?;
    Some(match (lost, exclusion.name) {
        (_, "terminating") => "was being deleted".to_owned(),
        (Lost::Object | Lost::Change, "finished") => "has ended".to_owned(),
        (Lost::Object, OWNED_EXCLUSION) => owned(object, around),
        (Lost::Change, OWNED_EXCLUSION) => "was made anew since: the one before it comes back, and its controller decides on it".to_owned(),
        (Lost::Object, _) => lost_with(object, around).unwrap_or_else(|| format!("is made again: {}", exclusion.reason)),
        (Lost::Change, _) => "was made anew since: the one before it comes back, and is kept as its writers want it".to_owned(),
        (Lost::Deletion, OWNED_EXCLUSION) => "comes back, and its controller decides on it".to_owned(),
        (Lost::Deletion, _) => "comes back, and is kept as its writers want it".to_owned(),
    })
}

/// What becomes of an object that is made again only for what the backup has; `None` where it has that.
fn lost_with(object: &Value, around: &impl Around) -> Option<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    if !namespace.is_empty() && around.is_lost("v1", "Namespace", None, namespace) {
        return Some(format!("is lost with its Namespace {namespace}"));
    }
    let (namespace, service) = match text("/kind") {
        "Endpoints" => (namespace, text("/metadata/name")),
        "EndpointSlice" => (namespace, text("/metadata/labels/kubernetes.io~1service-name")),
        "IPAddress" => (text("/spec/parentRef/namespace"), text("/spec/parentRef/name")),
        // Those of custom kinds: kubernetes v1.36.3, kube-aggregator `pkg/controllers/autoregister/autoregister_controller.go`.
        "APIService" if text("/metadata/labels/kube-aggregator.kubernetes.io~1automanaged") == "true" => {
            return Some("is made again if a definition of the backup serves it".to_owned());
        }
        "VolumeAttachment" => return Some("is gone: the attach controller makes those that pods of the backup need".to_owned()),
        _ => return None,
    };
    around.is_lost("v1", "Service", Some(namespace), service).then(|| format!("is lost with its Service {service}"))
}

/// What becomes of an object with a controller.
fn owned(object: &Value, around: &impl Around) -> String {
    let Some(owner) = controller(object) else { return "its controller makes it again".to_owned() };
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let namespace = object["metadata"]["namespace"].as_str();
    if around.is_lost(text("apiVersion"), kind, namespace, name) {
        format!("is lost with its {kind} {name}")
    } else {
        format!("its {kind} {name} makes what it lacks")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Of(Surroundings, &'static str);

    impl Around for Of {
        fn surroundings(&self) -> &Surroundings {
            &self.0
        }

        fn is_lost(&self, _: &str, _: &str, _: Option<&str>, name: &str) -> bool {
            name == self.1
        }
    }

    fn pod(owner: &str) -> Value {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "controller": true});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [owner]}})
    }

    #[test]
    fn pods_of_controllers_are_made_again_unless_their_owner_is_lost() {
        let around = Of(Surroundings::default(), "new");
        assert_eq!(remade(&pod("old"), &around, Lost::Object).unwrap(), "its ReplicaSet old makes what it lacks");
        assert_eq!(remade(&pod("new"), &around, Lost::Object).unwrap(), "is lost with its ReplicaSet new");
        assert!(remade(&pod("old"), &around, Lost::Deletion).unwrap().starts_with("comes back"));
        assert!(remade(&pod("old"), &around, Lost::Change).unwrap().contains("the one before it comes back"));
    }

    #[test]
    fn what_is_made_for_something_that_is_lost_is_lost_with_it() {
        let object = |kind: &str, namespace: &str, more: Value| {
            let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "web", "namespace": namespace}});
            object["metadata"]["labels"] = json!({"kubernetes.io/service-name": "web", "endpoints.kubernetes.io/managed-by": "endpoint-controller",
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"});
            object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            object
        };
        let slice = object("EndpointSlice", "shop", json!({"apiVersion": "discovery.k8s.io/v1"}));
        let address = object(
            "IPAddress",
            "",
            json!({"apiVersion": "networking.k8s.io/v1",
            "spec": {"parentRef": {"resource": "services", "namespace": "shop", "name": "web"}}}),
        );
        for object in [object("Endpoints", "shop", json!({})), slice, address] {
            let says = |lost| remade(&object, &Of(Surroundings::default(), lost), Lost::Object).unwrap();
            assert_eq!(says("web"), "is lost with its Service web");
            assert!(says("").starts_with("is made again"), "{object}");
        }
        let mut account = object("ServiceAccount", "fresh", json!({}));
        (account["metadata"]["name"], account["metadata"]["labels"]) = (json!("default"), Value::Null);
        assert_eq!(remade(&account, &Of(Surroundings::default(), "fresh"), Lost::Object).unwrap(), "is lost with its Namespace fresh");
        let attachment = object("VolumeAttachment", "", json!({"apiVersion": "storage.k8s.io/v1"}));
        assert!(remade(&attachment, &Of(Surroundings::default(), ""), Lost::Object).unwrap().starts_with("is gone: the attach controller"));
    }

    #[test]
    fn claims_and_what_nobody_owns_are_not_made_again() {
        let around = Of(Surroundings::default(), "");
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-db-0", "namespace": "shop",
            "ownerReferences": [{"kind": "StatefulSet", "name": "db", "controller": true}]}});
        assert_eq!(remade(&claim, &around, Lost::Object), None);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}});
        assert_eq!(remade(&map, &around, Lost::Object), None);
        let root = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": "shop"}});
        assert!(remade(&root, &around, Lost::Object).unwrap().starts_with("is made again"));
    }
}

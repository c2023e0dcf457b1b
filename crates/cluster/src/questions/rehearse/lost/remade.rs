//! What controllers make again, in words: what a restore of manifests would leave out, too.

use ketcd_restore::exclusions::{OWNED_EXCLUSION, Surroundings, controller, exclusion};
use serde_json::Value;

/// What is lost of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The object.
    Object,
    /// A change of it.
    Change,
    /// Its deletion.
    Deletion,
}

/// What other objects say of one.
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
        (Lost::Object | Lost::Change, OWNED_EXCLUSION) => owned(object, around),
        (Lost::Object | Lost::Change, _) => format!("is made again: {}", exclusion.reason),
        (Lost::Deletion, OWNED_EXCLUSION) => "comes back, and its controller decides on it".to_owned(),
        (Lost::Deletion, _) => "comes back, and is kept as its writers want it".to_owned(),
    })
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
        format!("its {kind} {name} makes it again")
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
        assert_eq!(remade(&pod("old"), &around, Lost::Object).unwrap(), "its ReplicaSet old makes it again");
        assert_eq!(remade(&pod("new"), &around, Lost::Object).unwrap(), "is lost with its ReplicaSet new");
        assert!(remade(&pod("old"), &around, Lost::Deletion).unwrap().starts_with("comes back"));
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

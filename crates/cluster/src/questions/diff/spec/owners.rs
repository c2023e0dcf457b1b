//! Which object made which: the controllers of objects, followed to the workload that a person wrote.

use std::collections::HashMap;

use serde_json::Value;

/// A kind, a namespace and a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OwnerName {
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

impl OwnerName {
    pub(super) fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            kind: text(&object["kind"]).to_owned(),
            namespace: text(&metadata["namespace"]).to_owned(),
            name: text(&metadata["name"]).to_owned(),
        }
    }

    pub(super) fn of_controller(object: &Value) -> Option<Self> {
        let owner = controller(object)?;
        let namespace = text(&object["metadata"]["namespace"]).to_owned();
        Some(Self { kind: text(&owner["kind"]).to_owned(), namespace, name: text(&owner["name"]).to_owned() })
    }
}

/// The text of a value; empty for what is not one.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The API group of an object; empty for core.
pub(super) fn group(object: &Value) -> &str {
    text(&object["apiVersion"]).rsplit_once('/').map_or("", |(group, _)| group)
}

pub(super) fn controller(object: &Value) -> Option<&Value> {
    object["metadata"]["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)
}

/// The controllers of ReplicaSets and Jobs, which stand between pods and what a person wrote.
pub(super) struct SpecOwners {
    controllers: HashMap<OwnerName, OwnerName>,
}

impl SpecOwners {
    /// Finds them among these objects.
    pub(super) fn of<'o>(objects: impl Iterator<Item = &'o Value>) -> Self {
        let between = objects.filter(|object| ["ReplicaSet", "Job"].iter().any(|kind| object["kind"] == *kind));
        let controllers = between.filter_map(|object| Some((OwnerName::of(object), OwnerName::of_controller(object)?)));
        Self { controllers: controllers.collect() }
    }

    /// Returns kind and name of what made an object: of a ReplicaSet's pod the Deployment, of a Job's pod the CronJob, where there is one.
    pub(super) fn root(&self, object: &Value) -> Option<(String, String)> {
        let owner = OwnerName::of_controller(object)?;
        if let Some(root) = self.controllers.get(&owner) {
            return Some((root.kind.clone(), root.name.clone()));
        }
        // A ReplicaSet that was not read has the hash in its name that its Deployment gave its pods as a label.
        let hash = object["metadata"]["labels"]["pod-template-hash"].as_str();
        let of_deployment = hash.and_then(|hash| owner.name.strip_suffix(hash)?.strip_suffix('-'));
        Some(match of_deployment.filter(|_| owner.kind == "ReplicaSet") {
            Some(deployment) => ("Deployment".to_owned(), deployment.to_owned()),
            None => (owner.kind, owner.name),
        })
    }
}

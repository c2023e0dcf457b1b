//! What applying manifests to a cluster would change there, and what stands in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ketcd_history::ObjectVersion;
use ketcd_history::compare::Difference;
use ketcd_kube::api::Versions;
use ketcd_kube::{Kinds, Object};
use ketcd_restore::ObjectId;
use ketcd_restore::apply::applied;
use ketcd_restore::obstacles::{self, ApplyObstacle};
use ketcd_store::Revision;
use serde_json::Value;

use crate::diff::NamedDifference;
use crate::kinds::KeySubject;

/// A cluster as far as it was read.
pub struct Target {
    /// What it is called.
    pub name: String,
    /// The objects that were read.
    pub objects: BTreeMap<ObjectId, Object>,
    /// What it serves.
    pub served: Served,
    /// Its kinds.
    pub kinds: Kinds,
    /// What could not be read or compared, a sentence each.
    pub notes: Vec<String>,
}

/// Which kinds are served in which versions.
pub enum Served {
    /// Those that a release serves by default, and custom ones.
    ByRelease(Versions),
    /// Those that the API server lists: `apiVersion` and kind.
    Listed(BTreeSet<(String, String)>),
}

impl obstacles::TargetCluster for Target {
    fn object(&self, id: &ObjectId) -> Option<&Value> {
        self.objects.get(id).map(|object| &**object)
    }

    fn objects(&self) -> Box<dyn Iterator<Item = (&ObjectId, &Value)> + '_> {
        Box::new(self.objects.iter().map(|(id, object)| (id, &**object)))
    }

    fn serves(&self, api_version: &str, kind: &str) -> bool {
        match &self.served {
            Served::ByRelease(versions) => versions.serves(api_version, kind),
            Served::Listed(listed) => listed.contains(&(api_version.to_owned(), kind.to_owned())),
        }
    }

    fn plural(&self, id: &ObjectId) -> Option<String> {
        let api_version = if id.group.is_empty() { "v1".to_owned() } else { format!("{}/", id.group) };
        self.kinds.of_object(&api_version, &id.kind).map(|kind| kind.plural.to_string())
    }
}

impl Target {
    /// Takes up objects; one that was read before stays in the version that it was read in.
    pub fn add(&mut self, objects: Vec<Object>) {
        for object in objects {
            self.objects.entry(ObjectId::of(&object)).or_insert(object);
        }
    }

    /// What applying manifests to it would change, and what would prevent it.
    pub fn plan(&self, manifests: &[Value]) -> Plan {
        let mut plan = Plan {
            target: self.name.clone(),
            notes: self.notes.clone(),
            obstacles: obstacles::obstacles(manifests, self),
            ..Plan::default()
        };
        for manifest in manifests {
            let id = ObjectId::of(manifest);
            let live = self.objects.get(&id);
            let after = match live {
                Some(live) => applied(live, manifest, obstacles::merge_of(&id.group)),
                None => manifest.clone(),
            };
            if live.is_some_and(|live| **live == after) {
                plan.unchanged += 1;
                continue;
            }
            let version = |object: Object| ObjectVersion::Object(Arc::new(object));
            let difference = Difference {
                key: id.to_string().into(),
                before: live.cloned().map_or(ObjectVersion::Absent, version),
                after: version(after.into()),
                revision: Revision(0),
            };
            let namespace = id.namespace.clone().unwrap_or_default();
            let subject = KeySubject { kind: id.resource(), namespace, name: id.name.clone() };
            plan.changes.push(NamedDifference { subject, difference });
        }
        plan
    }
}

/// What an apply would do.
#[derive(Default)]
pub struct Plan {
    /// What the manifests are compared with.
    pub target: String,
    /// Objects that it would make or change, in the order of the apply.
    pub changes: Vec<NamedDifference>,
    /// How many objects it would leave as they are.
    pub unchanged: usize,
    /// What would prevent it, with the objects concerned; refusals first.
    pub obstacles: Vec<(ApplyObstacle, Vec<ObjectId>)>,
    /// What could not be read or compared.
    pub notes: Vec<String>,
}

impl Plan {
    /// Whether an apply would change nothing and meets no obstacle.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.obstacles.is_empty()
    }
}

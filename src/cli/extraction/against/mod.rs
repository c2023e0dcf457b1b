//! `--against`: the cluster that manifests are to be applied to, and what applying them would change there.

mod kubectl;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ketcd_history::ObjectVersion;
use ketcd_history::compare::Difference;
use ketcd_kube::api::Versions;
use ketcd_kube::{Kinds, Object};
use ketcd_restore::ObjectId;
use ketcd_restore::apply::applied;
use ketcd_restore::obstacles::{TargetCluster, merge_of, obstacles};
use ketcd_store::Revision;
use serde_json::Value;

use crate::cli::Result;
use crate::cli::args::is_url;
use crate::cli::session::Session;
use ketcd_render::comparison::Named;
use ketcd_render::plan::Plan;

/// A cluster as far as it was read.
pub(in crate::cli) struct Target {
    name: String,
    objects: BTreeMap<ObjectId, Object>,
    served: Served,
    kinds: Kinds,
    /// What could not be read or compared, a sentence each.
    notes: Vec<String>,
}

/// Which kinds are served in which versions.
enum Served {
    /// Those that a release serves by default, and custom ones.
    ByRelease(Versions),
    /// Those that the API server lists: `apiVersion` and kind.
    Listed(BTreeSet<(String, String)>),
}

impl TargetCluster for Target {
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
    fn add(&mut self, objects: Vec<Object>) {
        for object in objects {
            self.objects.entry(ObjectId::of(&object)).or_insert(object);
        }
    }

    /// Reads what manifests are about of another cluster: through kubectl with a kubeconfig, else of a source as `-f` takes it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(in crate::cli) async fn read(session: &Session, name: &str, manifests: &[Value]) -> Result<Self> {
        if !is_url(name) && is_kubeconfig(Path::new(name)) {
            kubectl::read(session, name, manifests).await
        } else {
            source::read(session, name, manifests).await
        }
    }

    /// What applying manifests to it would change, and what stands in the way.
    pub(in crate::cli) fn plan(&self, manifests: &[Value]) -> Plan {
        let mut plan =
            Plan { target: self.name.clone(), notes: self.notes.clone(), obstacles: obstacles(manifests, self), ..Plan::default() };
        for manifest in manifests {
            let id = ObjectId::of(manifest);
            let live = self.objects.get(&id);
            let after = match live {
                Some(live) => applied(live, manifest, merge_of(&id.group)),
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
            plan.changes.push(Named {
                kind: id.resource(),
                namespace: id.namespace.clone().unwrap_or_default(),
                name: id.name.clone(),
                difference,
            });
        }
        plan
    }
}

/// Whether a file is a kubeconfig: a short YAML or JSON document of kind Config.
fn is_kubeconfig(path: &Path) -> bool {
    /// Certificates may be in it, no more.
    const LONGEST: u64 = 4 << 20;
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    let parsed = read.ok().and_then(|_| serde_saphyr::from_str::<Value>(&text).ok());
    parsed.is_some_and(|config| config["kind"] == "Config" && config["clusters"].is_array())
}

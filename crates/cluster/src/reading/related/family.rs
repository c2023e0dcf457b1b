//! Which objects own an object and which it owns, by uid: only kinds that its kind owns are read, and only in its namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::TryStreamExt;
use serde_json::Value;

use super::owners::{self, Owner, StoredObject};
use super::story_keys::WORKLOAD_KINDS;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use ketcd_kube::{Kind, Kinds};
use ketcd_store::{At, KeyRange, Want};

/// What built-in controllers make objects of a kind own.
const OWNED_KINDS: &[(&str, &[&str])] = &[
    ("Deployment", &["replicasets.apps", "pods"]),
    ("ReplicaSet", &["pods"]),
    ("ReplicationController", &["pods"]),
    ("StatefulSet", &["pods", "controllerrevisions.apps", "persistentvolumeclaims"]),
    ("DaemonSet", &["pods", "controllerrevisions.apps"]),
    ("CronJob", &["jobs.batch", "pods"]),
    ("Job", &["pods"]),
    ("Pod", &["persistentvolumeclaims", "resourceclaims.resource.k8s.io"]),
    ("Service", &["endpointslices.discovery.k8s.io"]),
    ("Node", &["pods", "leases.coordination.k8s.io"]),
];

/// What an object of any other kind may own, besides workloads.
const OWNED_BY_OTHERS: &[&str] = &["pods", "services", "persistentvolumeclaims", "configmaps", "secrets"];

/// The family of some objects.
pub struct Family {
    /// The objects asked for, each with its owners, the nearest first.
    pub subjects: Vec<(StoredObject, Vec<Owner>)>,
    /// The objects that were read below them, by the uid of an owner.
    owned: BTreeMap<String, Vec<Arc<StoredObject>>>,
}

impl Family {
    /// What an object owns, in the order of kinds and names.
    pub fn owned(&self, uid: &str) -> &[Arc<StoredObject>] {
        self.owned.get(uid).map_or(&[], Vec::as_slice)
    }

    /// Reads these kinds in a namespace, and the custom kinds that what was read names as its owners.
    async fn read_owned(&mut self, cluster: &Cluster, namespace: Option<&str>, kinds: BTreeSet<String>, at: At) -> Result<()> {
        let built_in = Kinds::builtin();
        let mut waiting: Vec<Arc<Kind>> = Vec::new();
        for resource in kinds {
            let kind = match built_in.find(&resource) {
                Ok(kind) => kind,
                Err(_) => cluster.kinds().await?.find(&resource).map_err(Error::from)?,
            };
            waiting.push(Arc::clone(kind));
        }
        let mut known: BTreeSet<String> = waiting.iter().map(|kind| kind.resource()).collect();
        while let Some(kind) = waiting.pop() {
            let range = KeyRange::prefix(kind.key_prefix(cluster.prefix().await?, namespace));
            let Some(listing) = cluster.range_or_miss(range, at, Want::Values).await? else { continue };
            let mut entries = listing.entries;
            let mut named: BTreeSet<(String, String)> = BTreeSet::new();
            while let Some(entry) = entries.try_next().await? {
                let Some(object) = owners::decoded(cluster, Some(&kind), entry).map(Arc::new) else { continue };
                for reference in references(&object.object) {
                    let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
                    named.insert((text("apiVersion"), text("kind")));
                    self.owned.entry(text("uid")).or_default().push(Arc::clone(&object));
                }
            }
            for (api_version, kind) in named {
                let Some(kind) = owners::kind_of(cluster, &api_version, &kind).await? else { continue };
                if kind.is_custom() && kind.namespaced && known.insert(kind.resource()) {
                    waiting.push(kind);
                }
            }
        }
        Ok(())
    }
}

impl Cluster {
    /// Returns the owners above some objects, and what they own below.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn tree(&self, found: Vec<StoredObject>, at: At) -> Result<Family> {
        let mut subjects = Vec::new();
        let mut needed: BTreeMap<Option<String>, BTreeSet<String>> = BTreeMap::new();
        for subject in found {
            let kinds = needed.entry(subject.namespace().map(str::to_owned)).or_default();
            kinds.extend(owned_kinds(self, &subject).await?);
            let above = owners::owners(self, &subject.object, at).await?;
            subjects.push((subject, above));
        }
        let mut family = Family { subjects, owned: BTreeMap::new() };
        for (namespace, kinds) in needed {
            family.read_owned(self, namespace.as_deref(), kinds, at).await?;
        }
        family.owned.values_mut().for_each(|owned| owned.sort_by(|a, b| a.entry.key.cmp(&b.entry.key)));
        Ok(family)
    }
}

async fn owned_kinds(cluster: &Cluster, subject: &StoredObject) -> Result<Vec<String>> {
    let of = |name: &str| OWNED_KINDS.iter().find(|(kind, _)| *kind == name).map(|(_, owned)| *owned);
    let kind = subject.kind.as_deref();
    if let Some(owned) = kind.filter(|kind| !kind.is_custom()).and_then(|kind| of(&kind.kind)) {
        return Ok(owned.iter().map(|&resource| resource.to_owned()).collect());
    }
    let mut owned: Vec<String> = WORKLOAD_KINDS.iter().chain(OWNED_BY_OTHERS).map(|&resource| resource.to_owned()).collect();
    if let Some(custom) = kind.filter(|kind| kind.is_custom()) {
        // Controllers that bring kinds of their own make them own one another.
        let same_group = cluster.kinds().await?.iter().filter(|other| other.group == custom.group && other.is_stored());
        owned.extend(same_group.map(|kind| kind.resource()));
    }
    Ok(owned)
}

fn references(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map_or(&[], Vec::as_slice)
}

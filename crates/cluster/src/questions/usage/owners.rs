//! Objects whose owner no longer exists, as the garbage collector tells them (k8s.io/kubernetes pkg/controller/garbagecollector).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use serde_json::Value;

use ketcd_history::usage::Remains;
use ketcd_kube::{Decoder, FieldSet, Kind, Kinds};
use ketcd_store::KeyValue;

use super::usage_data::Left;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::{Incomplete, Notice};

const OWNER_FIELDS: &[&str] = &["kind", "metadata.deletionTimestamp", "metadata.namespace", "metadata.ownerReferences", "metadata.uid"];

/// Which objects there are, and which owners objects name. Texts are kept as hashes: two that have the same one make an owner look alive, never gone.
pub(super) struct Owners {
    prefix: String,
    /// Masks nothing: a reference to a Secret would be masked as one. Of `OWNER_FIELDS` nothing is printed.
    decoder: Decoder,
    kinds: Kinds,
    fields: FieldSet,
    hashes: RandomState,
    /// Hashes of the uids of all objects with their namespaces, and of the keys of those that cannot be decoded.
    exist: HashSet<u64>,
    /// Kinds of the objects that name these owners, with their number and bytes.
    owned: HashMap<Box<[OwnerId]>, BTreeMap<String, (u64, u64)>>,
}

/// An owner that an object names.
#[derive(PartialEq, Eq, Hash)]
struct OwnerId {
    kind: String,
    uid: u64,
    key: u64,
}

impl Owners {
    pub(super) async fn new(cluster: &Cluster) -> Result<Self> {
        Ok(Self {
            prefix: cluster.prefix().await?.to_owned(),
            decoder: cluster.decoder.clone().showing_secrets(true),
            kinds: cluster.kinds().await?.clone(),
            fields: FieldSet::of(OWNER_FIELDS.iter().copied()),
            hashes: RandomState::new(),
            exist: HashSet::new(),
            owned: HashMap::new(),
        })
    }

    /// Notes an object, and its owners if it `counts`. Events are left out: they are many and own nothing.
    pub(super) fn see(&mut self, entry: &KeyValue, counts: bool) {
        if entry.key.strip_prefix(self.prefix.as_bytes()).is_none_or(|path| path.starts_with(b"/events/")) {
            return;
        }
        let decoded = self.decoder.decode_only(&entry.key, &entry.value, entry.mod_revision.0, &self.fields);
        let Some(object) = decoded.object() else {
            self.exist.insert(self.hashes.hash_one(&entry.key[..]));
            return;
        };
        let metadata = &object["metadata"];
        let namespace = metadata["namespace"].as_str().filter(|namespace| !namespace.is_empty());
        if let Some(uid) = metadata["uid"].as_str() {
            self.exist.insert(self.hashes.hash_one((namespace.unwrap_or_default(), uid)));
        }
        // What is being deleted is left to whoever holds its finalizers.
        if !counts || metadata["deletionTimestamp"].is_string() {
            return;
        }
        let Some(named) = metadata["ownerReferences"].as_array().filter(|named| !named.is_empty()) else { return };
        let owners: Option<Box<[OwnerId]>> = named.iter().map(|owner| self.owner(namespace, owner)).collect();
        if let Some(owners) = owners {
            let sums = self.owned.entry(owners).or_default();
            let sum = sums.entry(object["kind"].as_str().unwrap_or_default().to_owned()).or_default();
            sum.0 += 1;
            sum.1 += entry.value.len() as u64;
        }
    }

    /// The owner that an object in `namespace` names; `None` where nothing can be said of it, as of kinds that other servers store (aggregated APIs),
    /// and of owners in a namespace of objects that are in none.
    fn owner(&self, namespace: Option<&str>, owner: &Value) -> Option<OwnerId> {
        let text = |name: &str| owner[name].as_str().filter(|text| !text.is_empty());
        let kind: &Arc<Kind> = self.kinds.of_object(text("apiVersion")?, text("kind")?)?;
        if !kind.is_stored() || kind.kind == "Event" || kind.namespaced && namespace.is_none() {
            return None;
        }
        // The owner of an object is looked up in the object's namespace (garbagecollector.go, `getObject`).
        let within = namespace.filter(|_| kind.namespaced);
        let key = kind.key(&self.prefix, within, text("name")?);
        let uid = self.hashes.hash_one((within.unwrap_or_default(), text("uid")?));
        Some(OwnerId { kind: kind.kind.to_string(), uid, key: self.hashes.hash_one(key.as_bytes()) })
    }

    /// The objects none of whose owners exists. Of an incomplete state nothing is said but that.
    pub(super) fn finish(self, cluster: &Cluster) -> Vec<Left> {
        let incomplete = if cluster.source.is_one_moment() {
            Some(Incomplete::Printed)
        } else if !cluster.source.damage().is_empty() {
            Some(Incomplete::Damaged)
        } else {
            None
        };
        if let Some(why) = incomplete.filter(|_| !self.owned.is_empty()) {
            cluster.note(Notice::OwnersNotCounted(why));
            return Vec::new();
        }
        let mut found: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for (owners, sums) in self.owned {
            if owners.iter().any(|owner| self.exist.contains(&owner.uid) || self.exist.contains(&owner.key)) {
                continue;
            }
            for (kind, (objects, bytes)) in sums {
                let sum = found.entry((kind, owners[0].kind.clone())).or_default();
                sum.0 += objects;
                sum.1 += bytes;
            }
        }
        let left =
            |((kind, owner), (objects, bytes))| Left { kind, owner, release: String::new(), reason: Remains::OwnerGone, objects, bytes };
        found.into_iter().map(left).collect()
    }
}

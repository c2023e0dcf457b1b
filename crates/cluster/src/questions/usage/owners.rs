//! Objects whose owner no longer exists, as the garbage collector tells them (k8s.io/kubernetes pkg/controller/garbagecollector).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use ketcd_history::usage::Remains;
use ketcd_kube::{Decoder, FieldSet, Kind, Kinds};
use ketcd_store::KeyValue;

use super::usage_data::Left;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::{Incomplete, Notice};

/// What objects in protobuf begin with (k8s.io/apimachinery pkg/runtime/serializer/protobuf/protobuf.go).
const PROTOBUF_PREFIX: &[u8] = b"k8s\0";

const OWNER_FIELDS: &[&str] = &["kind", "metadata.deletionTimestamp", "metadata.namespace", "metadata.ownerReferences", "metadata.uid"];

/// Reads what objects say of their owners. Texts become hashes: two that have the same one make an owner look alive, never gone.
pub(super) struct OwnerReader {
    prefix: String,
    /// Masks nothing: a reference to a Secret would be masked as one. Of `OWNER_FIELDS` nothing is printed.
    decoder: Decoder,
    kinds: Kinds,
    fields: FieldSet,
    hashes: RandomState,
}

/// Which objects there are, and which owners objects name.
#[derive(Default)]
pub(super) struct Owners {
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

/// What an object says of itself and of its owners.
#[derive(Default)]
pub(super) struct Owned {
    /// The hash by which others may know it.
    exists: Option<u64>,
    /// Its kind and its owners, where the garbage collector would look for them.
    owners: Option<(String, Box<[OwnerId]>)>,
    bytes: u64,
}

/// The members that are looked at, as protobuf has them.
#[derive(Deserialize)]
struct OwnedMembers<'v> {
    kind: String,
    #[serde(borrow)]
    metadata: OwnedMetadata<'v>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnedMetadata<'v> {
    namespace: Option<&'v str>,
    uid: Option<&'v str>,
    deletion_timestamp: Option<String>,
    #[serde(borrow, default)]
    owner_references: Vec<Reference<'v>>,
}

/// A reference to an owner.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference<'v> {
    api_version: Option<&'v str>,
    kind: Option<&'v str>,
    name: Option<&'v str>,
    uid: Option<&'v str>,
}

impl<'v> Reference<'v> {
    fn of(owner: &'v Value) -> Self {
        let text = |name: &str| owner[name].as_str();
        Self { api_version: text("apiVersion"), kind: text("kind"), name: text("name"), uid: text("uid") }
    }
}

impl OwnerReader {
    pub(super) async fn new(cluster: &Cluster) -> Result<Self> {
        Ok(Self {
            prefix: cluster.prefix().await?.to_owned(),
            decoder: cluster.decoder.clone().showing_secrets(true),
            kinds: cluster.kinds().await?.clone(),
            fields: FieldSet::of(OWNER_FIELDS.iter().copied()),
            hashes: RandomState::new(),
        })
    }

    /// Looks at an object. Events are left out: they are many and own nothing.
    pub(super) fn look(&self, entry: &KeyValue) -> Owned {
        if entry.key.strip_prefix(self.prefix.as_bytes()).is_none_or(|path| path.starts_with(b"/events/")) {
            return Owned::default();
        }
        let bytes = entry.value.len() as u64;
        if entry.value.starts_with(PROTOBUF_PREFIX)
            && let Ok((OwnedMembers { kind, metadata }, _)) =
                self.decoder.decode_as::<OwnedMembers<'_>>(&entry.key, &entry.value, entry.mod_revision.0)
        {
            let OwnedMetadata { namespace, uid, deletion_timestamp, owner_references } = metadata;
            let namespace = namespace.filter(|namespace| !namespace.is_empty());
            let owners = self.owners(namespace, deletion_timestamp.is_some(), owner_references.into_iter());
            return Owned { exists: uid.map(|uid| self.known_by(namespace, uid)), owners: owners.map(|owners| (kind, owners)), bytes };
        }
        let decoded = self.decoder.only(&self.fields).decode(&entry.key, &entry.value, entry.mod_revision.0);
        let Some(object) = decoded.object() else {
            return Owned { exists: Some(self.hashes.hash_one(&entry.key[..])), ..Owned::default() };
        };
        let metadata = &object["metadata"];
        let namespace = metadata["namespace"].as_str().filter(|namespace| !namespace.is_empty());
        let named = metadata["ownerReferences"].as_array().into_iter().flatten().map(Reference::of);
        let owners = self.owners(namespace, metadata["deletionTimestamp"].is_string(), named);
        let kind = || object["kind"].as_str().unwrap_or_default().to_owned();
        let exists = metadata["uid"].as_str().map(|uid| self.known_by(namespace, uid));
        Owned { exists, owners: owners.map(|owners| (kind(), owners)), bytes }
    }

    /// The hash by which an object is known to those that name it.
    fn known_by(&self, namespace: Option<&str>, uid: &str) -> u64 {
        self.hashes.hash_one((namespace.unwrap_or_default(), uid))
    }

    /// The owners that an object names; `None` where it names none, or one of which nothing can be said. What is being deleted is left to
    /// the holders of its finalizers.
    fn owners<'v>(&self, namespace: Option<&str>, is_going: bool, named: impl Iterator<Item = Reference<'v>>) -> Option<Box<[OwnerId]>> {
        let owners: Option<Box<[OwnerId]>> = named.map(|owner| self.owner(namespace, &owner)).collect();
        owners.filter(|owners| !is_going && !owners.is_empty())
    }

    /// The owner that an object in `namespace` names; `None` where nothing can be said of it, as of kinds that other servers store (aggregated APIs),
    /// and of owners in a namespace of objects that are in none.
    fn owner<'v>(&self, namespace: Option<&str>, owner: &Reference<'v>) -> Option<OwnerId> {
        let text = |text: Option<&'v str>| text.filter(|text| !text.is_empty());
        let kind: &Arc<Kind> = self.kinds.of_object(text(owner.api_version)?, text(owner.kind)?)?;
        if !kind.is_stored() || kind.kind == "Event" || kind.namespaced && namespace.is_none() {
            return None;
        }
        // The owner of an object is looked up in the object's namespace (garbagecollector.go, `getObject`).
        let within = namespace.filter(|_| kind.namespaced);
        let key = kind.key(&self.prefix, within, text(owner.name)?);
        let uid = self.hashes.hash_one((within.unwrap_or_default(), text(owner.uid)?));
        Some(OwnerId { kind: kind.kind.to_string(), uid, key: self.hashes.hash_one(key.as_bytes()) })
    }
}

impl Owners {
    /// Notes an object, and its owners if it `counts`.
    pub(super) fn add(&mut self, Owned { exists, owners, bytes }: Owned, counts: bool) {
        self.exist.extend(exists);
        if let Some((kind, owners)) = owners.filter(|_| counts) {
            let sum = self.owned.entry(owners).or_default().entry(kind).or_default();
            sum.0 += 1;
            sum.1 += bytes;
        }
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

//! The reading of objects that are to become manifests: what is asked for, and what of it is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::TryStreamExt;
use ketcd_kube::{Address, Body, Decoder, KeyResource, Kind, Object, RegistryKey};
use ketcd_restore::exclusions::{Exclusion, Surroundings, exclusion};
use ketcd_restore::{ObjectId, Switches, has_status_subresource};
use ketcd_store::{At, KeyRange, KeyValue, Want};
use serde_json::Value;

use super::written::{LastWritten, Taken};
use crate::cluster::{CRD_PATH, Cluster};
use crate::error::{Error, Nothing, Result};
use crate::not_found::{Looked, NotFound};
use crate::read::decoder_of;
use crate::related::owners::StoredObject;

/// What is added to the objects asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct With {
    /// What their controllers made.
    pub owned: bool,
    /// What pods need to be admitted and to start.
    pub config: bool,
    /// The rights of their ServiceAccounts.
    pub rbac: bool,
    /// Claims, volumes and their classes.
    pub storage: bool,
    /// The definitions of custom kinds.
    pub crds: bool,
}

/// Why an object became no manifest.
#[derive(Clone, Debug)]
pub enum ManifestLeftOut {
    /// A rule leaves it out.
    Excluded(&'static Exclusion),
    /// Values of it are masked.
    Masked,
}

/// What is asked for.
pub enum Targets<'a> {
    /// What these words name; the name of a Namespace stands for all that is in it.
    Words(&'a [String]),
    /// Everything, or all of the namespace of `-n`.
    Everything,
}

/// An object that is to become a manifest.
pub struct GatheredObject {
    /// The object.
    pub object: Object,
    /// Its kind, where it is known.
    pub kind: Option<Arc<Kind>>,
    /// Whether its kind has a status subresource.
    pub has_status: bool,
}

/// What was read.
#[derive(Default)]
pub struct Gathered {
    /// What becomes a manifest.
    pub objects: BTreeMap<ObjectId, GatheredObject>,
    /// What does not, and why.
    pub left_out: Vec<(ObjectId, ManifestLeftOut)>,
    /// What those asked for may have written only before the revision asked about: what it was then cannot be read.
    pub maybe_older: BTreeSet<ObjectId>,
    /// What others refer to and is not there.
    pub missing: BTreeSet<ObjectId>,
    /// The definitions of custom kinds among them.
    pub definitions: Vec<Value>,
    /// The single objects that were named and are not there.
    pub absent: Vec<NotFound>,
    /// What was addressed, where nothing at all was found.
    pub nothing_of: Option<Vec<Address>>,
}

/// A reading on its way.
pub(super) struct Gathering<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) at: At,
    pub(super) switches: &'a Switches,
    pub(super) written: &'a LastWritten,
    pub(super) decoder: Decoder,
    pub(super) around: Surroundings,
    /// What was asked for, before anything is left out.
    pub(super) read: BTreeMap<ObjectId, StoredObject>,
    pub(super) by_name: BTreeSet<ObjectId>,
    pub(super) definitions: BTreeMap<String, Option<Value>>,
    pub(super) gathered: Gathered,
}

impl Gathering<'_> {
    pub(super) async fn words(&mut self, words: &[String]) -> Result<()> {
        let addresses = self.cluster.addresses(words).await?;
        if addresses.is_empty() {
            return Err(Error::NoKind);
        }
        let (mut any, takes_all) = (false, self.takes_all());
        for address in &addresses {
            let found = match namespace_of(address) {
                Some(namespace) => self.namespace(namespace).await?,
                None => self.address(address).await?,
            };
            any |= found > 0;
            if found == 0 && takes_all && (namespace_of(address).is_some() || address.key("").1) {
                let looked = Looked::At(self.cluster.revision().await?);
                self.gathered.absent.push(NotFound::of(self.cluster, address, looked).await?);
            }
        }
        if !any && !takes_all {
            return Err(Error::Nothing(Nothing::Selected { in_all: self.cluster.options.all_namespaces }));
        }
        self.gathered.nothing_of = (!any).then_some(addresses);
        Ok(())
    }

    /// Whether no selector and no writer is asked for.
    fn takes_all(&self) -> bool {
        self.cluster.options.selection.takes_all() && self.written.takes_all()
    }

    /// Reads what an address names; returns how many objects.
    async fn address(&mut self, address: &Address) -> Result<usize> {
        let (key, is_whole) = address.key(self.cluster.prefix().await?);
        let range = if is_whole { KeyRange::key(key) } else { KeyRange::prefix(key) };
        let found = self.range(range, address.kind()).await?;
        if is_whole {
            self.by_name.extend(found.iter().cloned());
        }
        Ok(found.len())
    }

    async fn namespace(&mut self, namespace: &str) -> Result<usize> {
        let mut found = 0;
        for range in self.cluster.keys_of_namespace(namespace, self.at).await?.apart() {
            found += self.range(range, None).await?.len();
        }
        Ok(found)
    }

    pub(super) async fn everything(&mut self) -> Result<()> {
        let cluster = self.cluster;
        let found = if cluster.options.all_namespaces {
            self.range(KeyRange::prefix(format!("{}/", cluster.prefix().await?)), None).await?.len()
        } else {
            self.namespace(cluster.namespace()).await?
        };
        if found == 0 {
            if !self.takes_all() {
                return Err(Error::Nothing(Nothing::Selected { in_all: cluster.options.all_namespaces }));
            }
            if cluster.options.all_namespaces {
                return Err(Error::Nothing(Nothing::Objects { prefix: cluster.prefix().await?.to_owned() }));
            }
            return Err(Error::Nothing(Nothing::InNamespace(cluster.namespace().to_owned())));
        }
        Ok(())
    }

    /// Reads keys and returns which objects are selected; what belongs to no resource is passed over.
    async fn range(&mut self, range: KeyRange, kind: Option<&Arc<Kind>>) -> Result<Vec<ObjectId>> {
        let mut entries = self.cluster.source.range(range, self.at, Want::Values).await?.entries;
        let mut found = Vec::new();
        while let Some(entry) = entries.try_next().await? {
            if let Some(stored) = self.decoded(entry, kind).await? {
                let id = ObjectId::of(&stored.object);
                self.around.note(&stored.object);
                if !self.cluster.options.selection.fits(&stored.object) {
                    continue;
                }
                match self.written.takes(self.cluster, &stored.entry, &stored.object).await? {
                    Taken::No => continue,
                    Taken::Yes => {}
                    Taken::Maybe => drop(self.gathered.maybe_older.insert(id.clone())),
                }
                found.push(id.clone());
                self.read.insert(id, stored);
            }
        }
        Ok(found)
    }

    /// The object of an entry; `None` where it is none or cannot be decoded, which is reported when the command ends.
    async fn decoded(&self, entry: KeyValue, kind: Option<&Arc<Kind>>) -> Result<Option<StoredObject>> {
        let kind = match kind {
            Some(kind) => Some(Arc::clone(kind)),
            None => match RegistryKey::parse(self.cluster.prefix().await?, &entry.key, self.cluster.kinds().await?).object() {
                Some(object) => {
                    if let KeyResource::Known(kind) = object.resource {
                        Some(Arc::clone(kind))
                    } else {
                        None
                    }
                }
                None => return Ok(None),
            },
        };
        let decoder = decoder_of(&self.decoder, kind.as_ref());
        Ok(match decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            Body::Object(object) => Some(StoredObject { kind, entry, object }),
            Body::Opaque(_) => None,
        })
    }

    /// Reads what decides whether an object is left out and was not asked for.
    pub(super) async fn look_around(&mut self) -> Result<()> {
        let endpoints = self.read.keys().filter(|id| id.is("", "Endpoints"));
        let services: Vec<ObjectId> =
            endpoints.map(|id| ObjectId { kind: "Service".to_owned(), ..id.clone() }).filter(|id| !self.read.contains_key(id)).collect();
        for service in services {
            if let Some(stored) = self.one(&service).await? {
                self.around.note(&stored.object);
            }
        }
        Ok(())
    }

    pub(super) async fn one(&self, id: &ObjectId) -> Result<Option<StoredObject>> {
        let kinds = self.cluster.kinds().await?;
        let api_version = if id.group.is_empty() { "v1".to_owned() } else { format!("{}/", id.group) };
        let Some(kind) = kinds.of_object(&api_version, &id.kind).cloned() else { return Ok(None) };
        let key = kind.key(self.cluster.prefix().await?, id.namespace.as_deref(), &id.name);
        let Some(mut listing) = self.cluster.range_or_miss(KeyRange::key(key), self.at, Want::Values).await? else { return Ok(None) };
        match listing.entries.try_next().await? {
            Some(entry) => self.decoded(entry, Some(&kind)).await,
            None => Ok(None),
        }
    }

    /// Leaves out what is not restored.
    pub(super) async fn select(&mut self) -> Result<()> {
        for (id, stored) in &std::mem::take(&mut self.read) {
            match excluded(&stored.object, &self.around, self.switches).filter(|_| !self.by_name.contains(id)) {
                Some(exclusion) => self.gathered.left_out.push((id.clone(), ManifestLeftOut::Excluded(exclusion))),
                None => self.take(id.clone(), stored.object.clone(), stored.kind.clone()).await?,
            }
        }
        Ok(())
    }

    /// Takes up an object that is added to those asked for, unless it is left out; returns whether it is new.
    pub(super) async fn add(&mut self, stored: &StoredObject) -> Result<bool> {
        let id = ObjectId::of(&stored.object);
        if self.gathered.objects.contains_key(&id) || excluded(&stored.object, &self.around, self.switches).is_some() {
            return Ok(false);
        }
        self.gathered.left_out.retain(|(other, _)| *other != id);
        self.take(id, stored.object.clone(), stored.kind.clone()).await?;
        Ok(true)
    }

    async fn take(&mut self, id: ObjectId, object: Object, kind: Option<Arc<Kind>>) -> Result<()> {
        let version = object["apiVersion"].as_str().and_then(|own| own.rsplit('/').next()).unwrap_or_default().to_owned();
        let has_status = match kind.as_deref().filter(|kind| kind.is_custom()) {
            Some(kind) => self.definition(&kind.resource()).await?.is_none_or(|definition| has_status_subresource(definition, &version)),
            None => true,
        };
        self.gathered.objects.insert(id, GatheredObject { object, kind, has_status });
        Ok(())
    }

    /// The definition of a custom kind, named as `plural.group`.
    pub(super) async fn definition(&mut self, resource: &str) -> Result<Option<&Value>> {
        if !self.definitions.contains_key(resource) {
            let key = KeyRange::key(format!("{}/{CRD_PATH}/{resource}", self.cluster.prefix().await?));
            let read = match self.cluster.range_or_miss(key, self.at, Want::Values).await? {
                Some(mut listing) => listing.entries.try_next().await?,
                None => None,
            };
            let decoded = read.map(|entry| self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
            let definition = decoded.and_then(|body| if let Body::Object(object) = body { Some(object.into_value()) } else { None });
            self.definitions.insert(resource.to_owned(), definition);
        }
        Ok(self.definitions.get(resource).and_then(Option::as_ref))
    }
}

/// The namespace that an address names: with all that is in it.
fn namespace_of(address: &Address) -> Option<&str> {
    match address {
        Address::Objects { kind, name: Some(name), .. } if kind.kind == "Namespace" && !kind.is_custom() => Some(name),
        _ => None,
    }
}

/// Why an object that was not asked for by its name is left out.
fn excluded(object: &Value, around: &Surroundings, switches: &Switches) -> Option<&'static Exclusion> {
    exclusion(object, around, |name| switches.is_off(name))
}

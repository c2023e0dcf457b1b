//! The cluster that manifests are to be applied to, as far as they are about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::TryStreamExt;
use ketcd_kube::api::Versions;
use ketcd_kube::{Body, Kind, Object};
use ketcd_restore::ObjectId;
use ketcd_restore::obstacles::Needed;
use ketcd_store::{KeyRange, Want};
use serde_json::Value;

use super::plan::{Served, Target};
use crate::cluster::{CRD_PATH, Cluster};
use crate::error::Result;
use crate::read::{decoder, decoder_of};

impl Cluster {
    /// Reads what manifests are about, to plan how they would be applied to this cluster, which is called `name`.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn target(&self, name: &str, manifests: &[Value]) -> Result<Target> {
        let definitions = definitions(self).await?;
        let reading = TargetReading { cluster: self, versions: Versions::new(self.release(), &definitions) };
        let wanted: BTreeMap<ObjectId, &str> =
            manifests.iter().map(|manifest| (ObjectId::of(manifest), manifest["apiVersion"].as_str().unwrap_or_default())).collect();
        let (mut objects, mut notes) = (BTreeMap::new(), Vec::new());
        let needed = Needed::of(manifests);
        for (group, kind, namespace) in &needed.lists {
            reading.list(group, kind, namespace.as_deref(), &mut objects).await?;
        }
        let services = Needed::services_of_webhooks(objects.values().map(|object: &Object| &**object));
        for id in needed.objects.iter().chain(&services) {
            reading.one(id, wanted.get(id).copied(), &mut objects, &mut notes).await?;
        }
        self.note_missed().await?;
        if self.finish() {
            notes.push(format!("{name} is damaged: objects that cannot be read count as missing"));
        }
        let kinds = self.kinds().await?.clone();
        Ok(Target { name: name.to_owned(), objects, served: Served::ByRelease(reading.versions), kinds, notes })
    }
}

/// The definitions of the custom kinds of a source.
async fn definitions(cluster: &Cluster) -> Result<Vec<Value>> {
    let entries = match cluster.definitions(cluster.at).await {
        Err(error) if error.refusal().is_some() => {
            cluster.miss(&KeyRange::prefix(format!("{}/{CRD_PATH}/", cluster.prefix().await?)));
            return Ok(Vec::new());
        }
        found => found?,
    };
    let mut found = Vec::new();
    for entry in entries {
        if let Body::Object(object) = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            found.push(object.into_value());
        }
    }
    Ok(found)
}

struct TargetReading<'a> {
    cluster: &'a Cluster,
    versions: Versions,
}

impl TargetReading<'_> {
    /// Reads all objects of a kind, in a namespace or in all.
    async fn list(&self, group: &str, kind: &str, namespace: Option<&str>, objects: &mut BTreeMap<ObjectId, Object>) -> Result<()> {
        let Some(kind) = self.kind(group, kind).await? else { return Ok(()) };
        let range = KeyRange::prefix(kind.key_prefix(self.cluster.prefix().await?, namespace));
        for object in self.read(range, &kind).await? {
            objects.insert(ObjectId::of(&object), object);
        }
        Ok(())
    }

    /// Reads one object, in the version of its manifest if there is one.
    async fn one(
        &self,
        id: &ObjectId,
        api_version: Option<&str>,
        objects: &mut BTreeMap<ObjectId, Object>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let Some(kind) = self.kind(&id.group, &id.kind).await? else { return Ok(()) };
        let key = kind.key(self.cluster.prefix().await?, id.namespace.as_deref(), &id.name);
        let Some(object) = self.read(KeyRange::key(key), &kind).await?.pop() else { return Ok(()) };
        let stored = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let object = match api_version.filter(|wanted| *wanted != stored) {
            None => object,
            Some(wanted) => {
                let mut value = object.clone().into_value();
                match self.versions.convert(&mut value, wanted) {
                    Ok(()) => value.into(),
                    Err(reason) => {
                        notes.push(format!("{id} is compared as it is stored, {stored}, with a manifest of {wanted}: {reason}"));
                        object
                    }
                }
            }
        };
        objects.insert(id.clone(), object);
        Ok(())
    }

    async fn kind(&self, group: &str, kind: &str) -> Result<Option<Arc<Kind>>> {
        let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/") };
        Ok(self.cluster.kinds().await?.of_object(&api_version, kind).cloned())
    }

    async fn read(&self, range: KeyRange, kind: &Arc<Kind>) -> Result<Vec<Object>> {
        let listing_decoder = decoder(self.cluster);
        let Some(listing) = self.cluster.range_or_miss(range, self.cluster.at, Want::Values).await? else { return Ok(Vec::new()) };
        let mut entries = listing.entries;
        let mut found = Vec::new();
        while let Some(entry) = entries.try_next().await? {
            if let Body::Object(object) =
                decoder_of(&listing_decoder, Some(kind)).decode(&entry.key, &entry.value, entry.mod_revision.0).body
            {
                found.push(object);
            }
        }
        Ok(found)
    }
}

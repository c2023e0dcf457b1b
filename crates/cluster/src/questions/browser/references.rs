//! What an object refers to: the node of a pod, configuration, claims and volumes.

use bytes::Bytes;
use serde_json::Value;

use ketcd_restore::ObjectId;
use ketcd_restore::references::{Related, references};
use ketcd_store::{KeyRange, Want};

use crate::cluster::Cluster;
use crate::error::Result;

/// An object that another one refers to.
#[derive(Clone, Debug)]
pub struct Referred {
    /// Its key.
    pub key: Bytes,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty where its kind has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it is there at the revision looked at; that what may not be read is there is not known.
    pub found: bool,
    /// What the reference is for: `node`, `configuration` or `storage`.
    pub via: &'static str,
}

impl Cluster {
    /// Returns what an object refers to.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn referred_by(&self, object: &Value) -> Result<Vec<Referred>> {
        let node = object["spec"]["nodeName"].as_str().filter(|node| object["kind"] == "Pod" && !node.is_empty());
        let node = node.map(|node| (ObjectId::new("", "Node", None, node), "node"));
        let configuration = references(object, Related::Config).into_iter().map(|id| (id, "configuration"));
        let storage = references(object, Related::Storage).into_iter().map(|id| (id, "storage"));
        let mut found = Vec::new();
        for (id, via) in node.into_iter().chain(configuration).chain(storage) {
            let api_version = if id.group.is_empty() { "v1".to_owned() } else { format!("{}/", id.group) };
            let Some(kind) = self.kinds().await?.of_object(&api_version, &id.kind).cloned() else { continue };
            let key = kind.key(self.prefix().await?, id.namespace.as_deref(), &id.name);
            let listing = self.range_or_miss(KeyRange::key(&key[..]), self.at, Want::Keys).await?;
            let is_there = match listing {
                Some(listing) => !futures_util::TryStreamExt::try_collect::<Vec<_>>(listing.entries).await?.is_empty(),
                None => false,
            };
            let namespace = id.namespace.unwrap_or_default();
            found.push(Referred { key: Bytes::from(key), kind: id.kind, namespace, name: id.name, found: is_there, via });
        }
        Ok(found)
    }
}

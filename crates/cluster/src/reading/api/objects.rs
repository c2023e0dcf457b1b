//! The stored objects of one resource: where they lie, and what decodes them.

use std::sync::Arc;

use ketcd_kube::api::Resource;
use ketcd_kube::{Decoder, Kind};

use super::decoder::decoder;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::name_below;

/// Where the objects of a resource lie, and what decodes them.
#[derive(Clone)]
pub struct StoredObjects {
    kind: Arc<Kind>,
    /// The prefix of the API server's keys.
    prefix: String,
    /// What the keys of all objects begin with.
    all: String,
    decoder: Decoder,
}

impl StoredObjects {
    /// The objects of a resource. Those of a custom kind are read by the schemas of its definition, as API servers do.
    ///
    /// # Errors
    /// The prefix of the keys cannot be found.
    pub async fn of(cluster: &Cluster, resource: &Resource) -> Result<Self> {
        let (kind, prefix) = (Arc::clone(&resource.kind), cluster.prefix().await?.to_owned());
        let decoder = match resource.schemas() {
            Some(schemas) => decoder(cluster).with_schemas(Arc::clone(schemas)),
            None => decoder(cluster),
        };
        Ok(Self { all: kind.key_prefix(&prefix, None), kind, prefix, decoder })
    }

    /// What decodes them, with their members in the order in which API servers return them.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Returns the prefix of their keys, in one namespace if one is given.
    pub fn key_prefix(&self, namespace: Option<&str>) -> String {
        self.kind.key_prefix(&self.prefix, namespace)
    }

    /// Returns the namespace and the name in a key; `None` where it is not the key of such an object.
    pub fn name<'k>(&self, key: &'k [u8]) -> Option<(Option<&'k str>, &'k str)> {
        name_below(&self.kind, key.get(self.all.len()..)?)
    }
}

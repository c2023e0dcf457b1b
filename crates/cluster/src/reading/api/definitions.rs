//! The definitions of custom kinds at a revision, and the resources that are served with them.

use ketcd_kube::Body;
use ketcd_kube::api::Catalog;
use ketcd_store::{At, KeyValue, Revision};

use super::decoder::decoder;
use crate::cluster::Cluster;
use crate::error::Result;

/// The CustomResourceDefinitions of a revision.
#[derive(Debug)]
pub struct Definitions {
    stored: Vec<KeyValue>,
    /// Whether OpenShift's own API servers keep objects next to these.
    has_openshift: bool,
}

impl Definitions {
    /// Reads those of a revision. Empty if the user may not read them: built-in resources can still be read.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn read(cluster: &Cluster, revision: Revision) -> Result<Self> {
        let has_openshift = cluster.has_openshift().await?;
        match cluster.definitions(At::Revision(revision)).await {
            Err(error) if error.refusal().is_some() => Ok(Self { stored: Vec::new(), has_openshift }),
            stored => Ok(Self { stored: stored?, has_openshift }),
        }
    }

    /// The key of each, and the revision that wrote it: the same for two revisions at which the same is served.
    pub fn versions(&self) -> impl Iterator<Item = (&[u8], Revision)> {
        self.stored.iter().map(|entry| (&entry.key[..], entry.mod_revision))
    }

    /// Returns what an API server of the cluster's release serves with them. One that cannot be decoded defines nothing.
    pub fn catalog(&self, cluster: &Cluster) -> Catalog {
        let decoder = decoder(cluster);
        let decoded = self.stored.iter().map(|entry| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
        let definitions: Vec<_> = decoded
            .filter_map(|body| match body {
                Body::Object(object) => Some(object.into_value()),
                Body::Opaque(_) => None,
            })
            .collect();
        let catalog = Catalog::new(cluster.release(), &definitions);
        if self.has_openshift { catalog.with_openshift() } else { catalog }
    }
}

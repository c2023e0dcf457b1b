//! With what the values of each resource are sealed.

use futures_util::TryStreamExt;

use ketcd_kube::encryption::{Audit, AuditRow, EncryptionConfig, Seal};
use ketcd_kube::{KeyResource, Kinds, RegistryKey};
use ketcd_store::{KeyRange, Want};

use crate::cluster::Cluster;
use crate::error::Result;

impl Cluster {
    /// Returns with what the values of each resource are sealed, and whether that is as a configuration says.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn seals(&self, configuration: Option<&EncryptionConfig>) -> Result<Vec<AuditRow>> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let mut audit = Audit::new(configuration, &self.options.keys);
        let mut values = self.range(KeyRange::all(), Want::Values).await?.entries;
        while let Some(entry) = values.try_next().await? {
            if let Some(resource) = resource_of(prefix, &entry.key, &entry.value, kinds) {
                audit.add(&resource, &entry.key, &entry.value);
            }
        }
        Ok(audit.finish())
    }
}

/// The resource a key belongs to, as configurations name it. Keys of none count only where they are sealed.
fn resource_of(prefix: &str, key: &[u8], value: &[u8], kinds: &Kinds) -> Option<String> {
    match RegistryKey::parse(prefix, key, kinds).object().map(|object| object.resource) {
        Some(KeyResource::Known(kind)) => Some(kind.resource()),
        Some(KeyResource::Unlisted { group: "", plural }) => Some(plural.to_owned()),
        Some(KeyResource::Unlisted { group, plural }) => Some(format!("{plural}.{group}")),
        None => Seal::is_on(value).then(|| "no resource".to_owned()),
    }
}

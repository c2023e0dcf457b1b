//! The keys of one namespace.

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::Keys;
use ketcd_kube::Kinds;
use ketcd_store::{At, KeyRange};

impl Cluster {
    /// The keys of a namespace as it was at `at`: all its objects, of custom kinds as they were defined then, and the namespace itself.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn keys_of_namespace(&self, namespace: &str, at: At) -> Result<Keys> {
        let (prefix, mut kinds) = (self.prefix().await?, self.kinds().await?.clone());
        self.add_defined_at(at, &mut kinds).await?;
        self.note_undefined();
        for kind in self.unlisted_kinds(at).await? {
            kinds.push(kind);
        }
        let stored = kinds.iter().filter(|kind| kind.is_stored());
        let mut ranges: Vec<KeyRange> =
            stored.filter(|kind| kind.namespaced).map(|kind| KeyRange::prefix(kind.key_prefix(prefix, Some(namespace)))).collect();
        ranges.extend(kinds.find("namespaces").ok().map(|kind| KeyRange::key(kind.key(prefix, None, namespace))));
        Ok(Keys::many(ranges))
    }

    /// Adds the custom kinds of another revision, whose definitions may be gone at the one looked at.
    async fn add_defined_at(&self, at: At, kinds: &mut Kinds) -> Result<()> {
        if at == self.at {
            return Ok(());
        }
        let definitions = match self.definitions(at).await {
            Err(error) if error.refusal().is_some() => return Ok(()),
            found => found?,
        };
        for entry in definitions {
            if let Some(definition) = self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).object() {
                kinds.add_crd(definition);
            }
        }
        Ok(())
    }
}

//! Which of all keys were asked for, where a command reads more than those.

use ketcd_kube::Address;
use ketcd_store::{KeyRange, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::not_found::{Looked, NotFound};
use crate::read::Keys;
use crate::rights::refused::unless_denied;

/// The keys that words name and selectors select.
#[derive(Clone, Debug)]
pub struct AskedKeys {
    /// Ranges without those that others hold, ascending.
    ranges: Vec<KeyRange>,
    /// The ranges that words name, before selectors select; none without words.
    named: Vec<KeyRange>,
    /// The single objects that are named, or the objects that are selected.
    pub addresses: Vec<Address>,
}

impl AskedKeys {
    /// Returns the keys that words name and the cluster's selectors select; without words, those of the namespace looked at, or of all. `None`
    /// means everything.
    ///
    /// # Errors
    /// A word that cannot be read as an address, a source that cannot be read, or that nothing is selected.
    pub async fn of(cluster: &Cluster, words: &[String]) -> Result<Option<Self>> {
        let options = &cluster.options;
        if words.is_empty() && options.namespace.is_none() && options.selection.takes_all() {
            return Ok(None);
        }
        let named = match words {
            [] => Vec::new(),
            words => Keys::at(cluster.prefix().await?, cluster.addresses(words).await?).apart(),
        };
        let keys = cluster.asked(words, true).await?;
        Ok(Some(Self { ranges: keys.apart(), named, addresses: keys.addresses }))
    }

    /// Whether a key is among them.
    pub fn contains(&self, key: &[u8]) -> bool {
        let behind = self.ranges.partition_point(|range| &range.start[..] <= key);
        behind.checked_sub(1).is_some_and(|last| self.ranges[last].contains(key))
    }

    /// Whether one of the keys that an object of this kind, namespace and name can have is among them.
    pub(crate) async fn contain(&self, cluster: &Cluster, (kind, namespace, name): (&str, &str, &str)) -> Result<bool> {
        let (prefix, namespace) = (cluster.prefix().await?, Some(namespace).filter(|namespace| !namespace.is_empty()));
        let mut kinds = cluster.kinds().await?.iter().filter(|known| known.kind == *kind);
        Ok(kinds.any(|kind| self.contains(kind.key(prefix, namespace, name).as_bytes())))
    }

    /// Returns the ranges that words name, ascending, whatever selectors select of them.
    pub fn named(&self) -> &[KeyRange] {
        &self.named
    }

    /// Returns the ranges, ascending.
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Whether nothing that words name is there at the revision looked at. What may not be read is not missing.
    pub(crate) async fn names_nothing(&self, cluster: &Cluster) -> Result<bool> {
        for range in &self.named {
            let found = unless_denied(cluster.source.first(range.clone(), cluster.at, Want::Keys, 1).await)?;
            if found.is_none_or(|found| !found.is_empty()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the single objects that are named and not there at the revision looked at.
    pub(crate) async fn absent(&self, cluster: &Cluster) -> Result<Vec<NotFound>> {
        let (prefix, looked) = (cluster.prefix().await?, Looked::At(cluster.revision().await?));
        let mut absent = Vec::new();
        for address in &self.addresses {
            let (key, is_whole) = address.key(prefix);
            if is_whole && cluster.source.first(KeyRange::key(key), cluster.at, Want::Keys, 1).await?.is_empty() {
                absent.push(NotFound::of(cluster, address, looked).await?);
            }
        }
        Ok(absent)
    }
}

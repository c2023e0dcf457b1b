//! The keys that words name, and of these the keys of the objects that selectors select.

use std::collections::BTreeSet;
use std::pin::pin;

use bytes::Bytes;
use futures_util::TryStreamExt;

use super::body::{decoder, fits_stored};
use super::changes::{Read, events};
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::error::{Error, Nothing, Result};
use ketcd_kube::{Address, KeyResource, Kinds, ObjectPath, RegistryKey};
use ketcd_store::{Event, EventKind, KeyRange, KeyValue, Until, Want};

impl Keys {
    /// The keys that words name, as far as the cluster's selectors select them.
    ///
    /// # Errors
    /// A word that is not an address, a source that cannot be read, or a selection of nothing.
    pub async fn of(cluster: &Cluster, words: &[String]) -> Result<Self> {
        let addresses = cluster.selected_addresses(words).await?;
        let mut keys = Self::at(cluster.prefix().await?, addresses);
        keys.many |= !cluster.options.selection.takes_all();
        Ok(keys)
    }
}

impl Cluster {
    /// Reads words as [`Cluster::addresses`] does; where selectors are given, the addresses are of the objects that are selected, one by one.
    ///
    /// # Errors
    /// Those of [`Cluster::addresses`], a source that cannot be read, or that nothing is selected.
    pub(crate) async fn selected_addresses(&self, words: &[String]) -> Result<Vec<Address>> {
        let addresses = self.addresses(words).await?;
        if self.options.selection.takes_all() || addresses.is_empty() {
            return Ok(addresses);
        }
        Ok(self.selected(Keys::at(self.prefix().await?, addresses)).await?.addresses)
    }

    /// Returns those of the keys whose objects the selectors select: all if there is none.
    ///
    /// # Errors
    /// The source cannot be read, or nothing is selected.
    pub(crate) async fn selected(&self, keys: Keys) -> Result<Keys> {
        let selection = &self.options.selection;
        if selection.takes_all() {
            return Ok(keys);
        }
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let (decoder, looks_at) = (decoder(self), selection.looks_at());
        let fits = |entry: &KeyValue| {
            let path = RegistryKey::parse(prefix, &entry.key, kinds).object();
            path.is_some() && fits_stored((selection, &looks_at), &decoder, path, entry)
        };
        let found = if selection.ever { self.ever_fitting(keys, fits).await? } else { self.fitting(&keys, fits).await? };
        if found.is_empty() {
            return Err(Error::Nothing(Nothing::Selected { in_all: self.options.all_namespaces }));
        }
        let ranges = found.iter().map(|key| KeyRange::key(&key[..])).collect();
        let addresses = found.iter().map(|key| address_of(prefix, key, kinds)).collect();
        Ok(Keys { addresses, ..Keys::many(ranges) })
    }

    /// The keys whose values fit at the revision looked at.
    async fn fitting(&self, keys: &Keys, fits: impl Fn(&KeyValue) -> bool) -> Result<BTreeSet<Bytes>> {
        let mut found = BTreeSet::new();
        for range in keys.apart() {
            let mut entries = self.range(range, Want::Values).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                if fits(&entry) {
                    found.insert(entry.key);
                }
            }
        }
        Ok(found)
    }

    /// The keys of which a readable version fits, up to the revision looked at.
    async fn ever_fitting(&self, keys: Keys, fits: impl Fn(&KeyValue) -> bool) -> Result<BTreeSet<Bytes>> {
        let mut found = BTreeSet::new();
        let mut events = pin!(events(self, keys, Until::Revision(self.revision().await?)));
        while let Some(read) = events.try_next().await? {
            if let Read::Item(Event { kind: EventKind::Put, key_value: entry, .. }) = read
                && !found.contains(&entry.key)
                && fits(&entry)
            {
                found.insert(entry.key);
            }
        }
        Ok(found)
    }
}

impl Cluster {
    /// The objects that words name and selectors select, each with its own key; for a kind, those that exist at the revision looked at.
    ///
    /// # Errors
    /// Those of [`Keys::of`].
    pub async fn keys_one_by_one(&self, words: &[String]) -> Result<Vec<Keys>> {
        let prefix = self.prefix().await?;
        let mut found = Vec::new();
        for address in self.selected_addresses(words).await? {
            let (key, is_whole) = address.key(prefix);
            if is_whole {
                found.push(Keys::at(prefix, vec![address]));
                continue;
            }
            let kinds = self.kinds().await?;
            let mut entries = self.range(KeyRange::prefix(key), Want::Keys).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                found.push(Keys::at(prefix, vec![address_of(prefix, &entry.key, kinds)]));
            }
        }
        Ok(found)
    }
}

fn address_of(prefix: &str, key: &[u8], kinds: &Kinds) -> Address {
    match RegistryKey::parse(prefix, key, kinds).object() {
        Some(ObjectPath { resource: KeyResource::Known(kind), namespace, name }) => {
            Address::Objects { kind: kind.clone(), namespace: namespace.map(str::to_owned), name: Some(name.to_owned()) }
        }
        _ => Address::Key(String::from_utf8_lossy(key).into_owned()),
    }
}

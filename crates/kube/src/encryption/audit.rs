//! Compares what is stored with what an encryption configuration promises.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{EncryptionConfig, KeyRing, Scheme};

/// Whether values are as the configuration would write them now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Promise {
    /// The configuration's first provider and key (or plain text, where it names identity first or does not name the resource).
    Kept,
    /// There is no configuration to compare the values with.
    NotAsked,
    /// Sealed by the plugin that the configuration names, under one of several key ids; which is the current one only the plugin knows.
    Unknown,
    /// In plain text, where the configuration seals.
    PlainText,
    /// Sealed with a provider or key that is not the configuration's first.
    OtherKey,
    /// Sealed, where the configuration writes plain text: unreadable once the key is gone.
    StillSealed,
    /// Under the right name, but no key of ours opens it.
    DoesNotOpen,
}

impl Promise {
    /// Whether the values are known not to be as the configuration would write them.
    pub fn is_broken(self) -> bool {
        !matches!(self, Self::Kept | Self::NotAsked | Self::Unknown)
    }
}

/// The values of a resource that are sealed with the same provider and key, and keep the configuration's promise alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// `secrets`, `deployments.apps`, …
    pub resource: String,
    /// With what they are sealed.
    pub scheme: Scheme,
    /// The key's or the KMS provider's name.
    pub name: String,
    /// KMS v2: the id of the plugin's key.
    pub key_id: Option<String>,
    /// How many values.
    pub values: u64,
    /// How many of them open with the keys at hand (all of those in plain text).
    pub opened: u64,
    /// Why the first that did not open stayed closed.
    pub reason: Option<String>,
    /// Whether the configuration's promise is kept.
    pub promise: Promise,
}

/// An audit under way: values go in one by one.
pub struct Audit<'a> {
    config: Option<&'a EncryptionConfig>,
    keys: &'a KeyRing,
    rows: BTreeMap<(String, Scheme, String, Option<String>), [Counts; 2]>,
    /// The current key id of each plugin that was asked.
    current_ids: HashMap<String, Option<String>>,
    /// How many key ids of each plugin there are.
    key_ids: HashMap<String, u32>,
}

/// Values of one seal. Those that a key at hand does not open, though it has the right name, are counted apart: they are other values than those that it
/// opens.
#[derive(Default)]
struct Counts {
    values: u64,
    opened: u64,
    reason: Option<String>,
}

impl Counts {
    fn and(self, other: Self) -> Self {
        Self { values: self.values + other.values, opened: self.opened + other.opened, reason: self.reason.or(other.reason) }
    }
}

impl<'a> Audit<'a> {
    /// An audit against `config`, opening values with `keys`.
    pub fn new(config: Option<&'a EncryptionConfig>, keys: &'a KeyRing) -> Self {
        Self { config, keys, rows: BTreeMap::new(), current_ids: HashMap::new(), key_ids: HashMap::new() }
    }

    /// Looks at one value of `resource`.
    pub fn add(&mut self, resource: &str, key: &[u8], value: &[u8]) {
        let seal = self.keys.seal_of(value);
        let opened = if seal.scheme == Scheme::Identity { Ok(()) } else { self.keys.open(key, value).map(drop) };
        let wrong = usize::from(opened.as_ref().is_err_and(|unopened| !unopened.expected));
        let counts = &mut self.rows.entry((resource.to_owned(), seal.scheme, seal.name, seal.key_id)).or_default()[wrong];
        counts.values += 1;
        match opened {
            Ok(()) => counts.opened += 1,
            Err(unopened) => {
                counts.reason.get_or_insert(unopened.reason);
            }
        }
    }

    /// Ends the audit: one row per resource, provider, key and promise, in that order.
    pub fn finish(mut self) -> Vec<AuditRow> {
        let rows = std::mem::take(&mut self.rows);
        let ids: BTreeSet<(String, String)> = rows.keys().filter_map(|(_, _, name, id)| Some((name.clone(), id.clone()?))).collect();
        for (provider, _) in ids {
            *self.key_ids.entry(provider).or_default() += 1;
        }
        let mut found = Vec::new();
        for ((resource, scheme, name, key_id), [right, wrong]) in rows {
            let promises = [false, true].map(|wrong| self.promise(&resource, scheme, &name, key_id.as_deref(), wrong));
            let counts = match promises[0] == promises[1] {
                true => vec![(promises[0], right.and(wrong))],
                false => promises.into_iter().zip([right, wrong]).filter(|(_, counts)| counts.values > 0).collect(),
            };
            found.extend(counts.into_iter().map(|(promise, Counts { values, opened, reason })| AuditRow {
                resource: resource.clone(),
                scheme,
                name: name.clone(),
                key_id: key_id.clone(),
                values,
                opened,
                reason,
                promise,
            }));
        }
        found
    }

    fn promise(&mut self, resource: &str, scheme: Scheme, name: &str, key_id: Option<&str>, wrong: bool) -> Promise {
        let Some(config) = self.config else { return Promise::NotAsked };
        let writer = config.writer(resource);
        let (wanted, wanted_name) = writer.map_or((Scheme::Identity, ""), |writer| {
            (writer.scheme, writer.keys.first().map_or(writer.name.as_str(), |key| key.name.as_str()))
        });
        match (wanted, scheme) {
            (Scheme::Identity, Scheme::Identity) => Promise::Kept,
            (Scheme::Identity, _) => Promise::StillSealed,
            (_, Scheme::Identity) => Promise::PlainText,
            _ if (wanted, wanted_name) != (scheme, name) => Promise::OtherKey,
            _ if wrong => Promise::DoesNotOpen,
            (Scheme::KmsV2, _) => self.by_key_id(name, key_id),
            _ => Promise::Kept,
        }
    }

    /// The plugin knows under which of its keys it seals by now.
    fn by_key_id(&mut self, provider: &str, key_id: Option<&str>) -> Promise {
        let current = self.current_ids.entry(provider.to_owned()).or_insert_with(|| self.keys.current_key_id(provider));
        match current.as_deref() {
            Some(current) if Some(current) == key_id => Promise::Kept,
            Some(_) => Promise::OtherKey,
            None if self.key_ids.get(provider).is_some_and(|&ids| ids > 1) => Promise::Unknown,
            None => Promise::Kept,
        }
    }
}

//! Label sets, shared: a cluster's pods repeat the same few thousand sets, so each set is kept once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use super::PodSpec;

/// An immutable set of labels (or annotations), sorted by key; cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Arc<[(Arc<str>, Arc<str>)]>);

impl Labels {
    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.shared(key).map(|value| &**value)
    }

    /// Returns the shared value of `key`.
    pub fn shared(&self, key: &str) -> Option<&Arc<str>> {
        // Label sets are short: a linear scan beats a binary search up to a dozen entries.
        self.0.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// Whether `key` is set.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The labels, ascending by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Labels {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(labels: T) -> Self {
        let sorted: BTreeMap<Arc<str>, Arc<str>> =
            labels.into_iter().map(|(key, value)| (key.as_ref().into(), value.as_ref().into())).collect();
        Self(sorted.into_iter().collect())
    }
}

/// Keeps one copy of each string, label set and pod template seen.
#[derive(Debug, Default)]
pub struct Interner {
    strings: HashSet<Arc<str>>,
    labels: HashMap<Vec<(Arc<str>, Arc<str>)>, Labels>,
    specs: HashSet<Arc<PodSpec>>,
}

impl Interner {
    /// Returns the shared copy of `text`.
    pub fn string(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.strings.get(text) {
            return known.clone();
        }
        let new: Arc<str> = text.into();
        self.strings.insert(new.clone());
        new
    }

    /// Returns the shared copy of a set of labels.
    pub fn labels(&mut self, labels: Option<&BTreeMap<String, String>>) -> Labels {
        let Some(labels) = labels else { return Labels::default() };
        let pairs: Vec<_> = labels.iter().map(|(key, value)| (self.string(key), self.string(value))).collect();
        if let Some(known) = self.labels.get(&pairs) {
            return known.clone();
        }
        let new = Labels(pairs.as_slice().into());
        self.labels.insert(pairs, new.clone());
        new
    }

    /// Returns the shared copy of a pod's compiled template.
    pub fn spec(&mut self, spec: PodSpec) -> Arc<PodSpec> {
        if let Some(known) = self.specs.get(&spec) {
            return known.clone();
        }
        let new = Arc::new(spec);
        self.specs.insert(new.clone());
        new
    }
}

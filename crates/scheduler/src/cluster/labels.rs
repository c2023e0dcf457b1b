//! Label sets, shared: a cluster's pods repeat the same few thousand sets, so each set is kept once.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};

use super::Pairs;

/// An immutable set of labels (or annotations), sorted by key; cheap to clone, to compare and to hash.
#[derive(Clone)]
pub struct Labels {
    pairs: Arc<[(Arc<str>, Arc<str>)]>,
    /// The hash of the keys and values.
    hash: u64,
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pairs, &other.pairs) || self.hash == other.hash && self.pairs == other.pairs
    }
}

impl Eq for Labels {}

impl Hash for Labels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The hash of labels, however they are stored.
fn hash_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
    // The keys of the hash must be the same for all sets; the maps that use it add their own.
    let mut hasher = FixedState::default().build_hasher();
    pairs.for_each(|pair| pair.hash(&mut hasher));
    hasher.finish()
}

impl Labels {
    fn new(pairs: Arc<[(Arc<str>, Arc<str>)]>) -> Self {
        let hash = hash_of(pairs.iter().map(|(key, value)| (&**key, &**value)));
        Self { pairs, hash }
    }

    /// Whether it is the set that `pairs` lists, ascending by key.
    fn is<'a>(&self, mut pairs: impl Iterator<Item = (&'a str, &'a str)>) -> bool {
        self.iter().all(|(key, value)| pairs.next() == Some((key, value))) && pairs.next().is_none()
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.shared(key).map(|value| &**value)
    }

    /// Returns the shared value of `key`.
    pub(crate) fn shared(&self, key: &str) -> Option<&Arc<str>> {
        // Label sets are short: a linear scan beats a binary search up to a dozen entries.
        self.pairs.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// Whether `key` is set.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The labels, ascending by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.pairs.iter().map(|(key, value)| (key, value))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self::new(Arc::new([]))
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
        Self::new(sorted.into_iter().collect())
    }
}

/// Keeps one copy of each string and label set seen.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    strings: HashSet<Arc<str>>,
    labels: HashMap<u64, Vec<Labels>>,
}

impl Interner {
    /// Returns the shared copy of `text`.
    pub(crate) fn string(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.strings.get(text) {
            return known.clone();
        }
        let new: Arc<str> = text.into();
        self.strings.insert(new.clone());
        new
    }

    /// Returns the shared copy of a set of labels.
    pub(crate) fn labels(&mut self, labels: Option<&BTreeMap<String, String>>) -> Labels {
        self.set_of(|| labels.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// Returns the shared copy of a set of labels.
    pub(crate) fn pairs(&mut self, labels: Option<&Pairs>) -> Labels {
        self.set_of(|| labels.into_iter().flat_map(Pairs::iter))
    }

    /// Returns the shared copy of the set that `pairs` lists, ascending by key.
    fn set_of<'a, I: Iterator<Item = (&'a str, &'a str)>>(&mut self, pairs: impl Fn() -> I) -> Labels {
        let hash = hash_of(pairs());
        if let Some(known) = self.labels.get(&hash).into_iter().flatten().find(|known| known.is(pairs())) {
            return known.clone();
        }
        let pairs: Vec<_> = pairs().map(|(key, value)| (self.string(key), self.string(value))).collect();
        let new = Labels { pairs: pairs.into(), hash };
        self.labels.entry(hash).or_default().push(new.clone());
        new
    }
}

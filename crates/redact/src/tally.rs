//! Counts of what was replaced, by class and path.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::choice::Class;
use crate::report::PathCount;

/// How much was replaced where.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: HashMap<Class, BTreeMap<String, u64>>,
    /// Hashes of the originals.
    originals: HashMap<Class, HashSet<u64>>,
    pub objects: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, class: Class, path: &str, original: &str) {
        let mut hasher = DefaultHasher::new();
        original.hash(&mut hasher);
        self.originals.entry(class).or_default().insert(hasher.finish());
        let paths = self.counts.entry(class).or_default();
        match paths.get_mut(path) {
            Some(count) => *count += 1,
            None => drop(paths.insert(path.to_owned(), 1)),
        }
    }

    /// How many different values were replaced.
    pub(crate) fn distinct(&self, class: Class) -> u64 {
        self.originals.get(&class).map_or(0, HashSet::len) as u64
    }

    pub(crate) fn paths(&self, class: Class) -> Vec<PathCount> {
        let paths = self.counts.get(&class).into_iter().flatten();
        paths.map(|(path, count)| PathCount { count: *count, path: path.clone() }).collect()
    }
}

//! Counts of what was replaced, by class and path.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::choice::Class;
use crate::report::PathCount;

/// A class and a path, by their place in the tally.
pub(crate) type CountedPlace = u32;

/// How much was replaced where.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    places: HashMap<Class, HashMap<String, CountedPlace>>,
    counts: Vec<u64>,
    /// Hashes of the originals.
    originals: HashMap<Class, HashSet<u64>>,
    pub objects: u64,
    /// What is counted while somebody notes it, and how many do.
    noted: Vec<CountedPlace>,
    notes: usize,
}

impl Tally {
    pub(crate) fn count(&mut self, class: Class, path: &str, original: &str) {
        let mut hasher = DefaultHasher::new();
        original.hash(&mut hasher);
        self.originals.entry(class).or_default().insert(hasher.finish());
        let places = self.places.entry(class).or_default();
        let place = match places.get(path) {
            Some(place) => *place,
            None => {
                let place = self.counts.len() as CountedPlace;
                places.insert(path.to_owned(), place);
                self.counts.push(0);
                place
            }
        };
        self.count_again(&[place]);
    }

    /// Counts what was counted before for the same originals.
    pub(crate) fn count_again(&mut self, places: &[CountedPlace]) {
        for place in places {
            self.counts[*place as usize] += 1;
        }
        if self.notes > 0 {
            self.noted.extend_from_slice(places);
        }
    }

    /// Begins to note what is counted; returns what [`Tally::end_note`] takes.
    pub(crate) fn begin_note(&mut self) -> usize {
        self.notes += 1;
        self.noted.len()
    }

    /// Returns what was counted since.
    pub(crate) fn end_note(&mut self, begun: usize) -> Vec<CountedPlace> {
        let noted = self.noted[begun..].to_vec();
        self.notes -= 1;
        if self.notes == 0 {
            self.noted.clear();
        }
        noted
    }

    /// How many different values were replaced.
    pub(crate) fn distinct(&self, class: Class) -> u64 {
        self.originals.get(&class).map_or(0, HashSet::len) as u64
    }

    /// The paths of a class, in order.
    pub(crate) fn paths(&self, class: Class) -> Vec<PathCount> {
        let places = self.places.get(&class).into_iter().flatten();
        let mut paths: Vec<PathCount> =
            places.map(|(path, place)| PathCount { count: self.counts[*place as usize], path: path.clone() }).collect();
        paths.sort_by(|one, other| one.path.cmp(&other.path));
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_counts_again() {
        let mut tally = Tally::default();
        let outer = tally.begin_note();
        tally.count(Class::Names, "Pod.metadata.name", "web");
        let inner = tally.begin_note();
        tally.count(Class::Values, "Pod.spec.x", "y");
        let (inner, outer) = (tally.end_note(inner), tally.end_note(outer));
        assert_eq!((inner.len(), outer.len()), (1, 2));
        tally.count_again(&outer);
        let paths = tally.paths(Class::Names);
        assert_eq!((paths[0].path.as_str(), paths[0].count, tally.distinct(Class::Names)), ("Pod.metadata.name", 2, 1));
    }
}

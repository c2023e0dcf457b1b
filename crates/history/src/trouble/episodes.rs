//! Troubles of objects through their history: which lasted longest, and weigh most.

use std::collections::{BTreeMap, BTreeSet};

use super::{Likeness, Trouble};

/// A trouble that one or several objects of one owner had.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Episode {
    /// The trouble as the object that had it longest said it last.
    pub trouble: Trouble,
    /// The object that had it longest, by the number it was added under.
    pub longest: usize,
    /// When that one began, and how long it lasted, in milliseconds.
    pub begun: i64,
    /// How long it lasted, in milliseconds.
    pub lasted: i64,
    /// How many objects had it.
    pub objects: usize,
}

/// Collects the troubles of objects.
#[derive(Default)]
pub struct Episodes {
    found: BTreeMap<(String, Likeness), (Episode, BTreeSet<usize>)>,
}

impl Episodes {
    /// Adds a trouble that object number `object` of `group` had, from `begun` to `ended` in milliseconds.
    pub fn add(&mut self, group: &str, object: usize, trouble: &Trouble, (begun, ended): (i64, i64)) {
        let lasted = (ended - begun).max(0);
        let made = || (Episode { trouble: trouble.clone(), longest: object, begun, lasted, objects: 0 }, BTreeSet::new());
        let (episode, objects) = self.found.entry((group.to_owned(), trouble.likeness_in_short())).or_insert_with(made);
        objects.insert(object);
        episode.objects = objects.len();
        if lasted > episode.lasted {
            *episode = Episode { trouble: trouble.clone(), longest: object, begun, lasted, ..episode.clone() };
        }
    }

    /// Returns those that lasted at least `least` milliseconds and longer than their kind may, the weightiest first, `most` of them at most.
    pub fn standing_out(self, least: i64, most: usize) -> Vec<Episode> {
        let mut found: Vec<Episode> = self.found.into_values().map(|(episode, _)| episode).collect();
        found.retain(|episode| episode.lasted >= least && i128::from(episode.lasted) >= episode.trouble.kind.patience().as_millis());
        let weight = |episode: &Episode| i128::from(episode.lasted) * i128::from(episode.trouble.kind.weight());
        found.sort_by_key(|episode| std::cmp::Reverse(weight(episode)));
        found.truncate(most);
        found
    }
}

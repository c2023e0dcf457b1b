//! When objects say that they were created, held against the order in which they were.
//!
//! The creation time is the API server's clock at the write (apiserver v0.37, `pkg/registry/rest/meta.go`, `FillObjectMetaSystemFields`). So creation times
//! ascend with create revisions, but for:
//!
//! - several API servers, whose clocks differ: [`CLOCK_TOLERANCE_SECONDS`];
//! - a clock that was set right: a run of objects is off, in itself in order ([`MIN_JUMP`]);
//! - a store that was copied key by key (etcd-manager's restore, k3s's way from SQLite to etcd, vcluster's and Kamaji's moves): all that the copy wrote is
//!   off ([`Creations::copied_until`]).

use bytes::Bytes;

use ketcd_store::Revision;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};

/// By how much the clocks of API servers may differ, in seconds. Leases and tokens break long before.
const CLOCK_TOLERANCE_SECONDS: i64 = 120;

/// Fewer creations show no order.
const MIN_CREATIONS: usize = 20;

/// How many creations in a row that are off, in themselves in order, show a clock that was set.
const MIN_JUMP: usize = 10;

/// How many creations by ascending keys show a copy.
const MIN_ASCENDING: usize = 30;

/// A copy is shown where one in this number of creations is off, and [`MIN_JUMP`] in all.
const CREATIONS_PER_STRAY: usize = 5;

/// A creation.
#[derive(Clone, Debug)]
struct Creation {
    create_revision: Revision,
    /// The revision at which it was seen.
    at: Revision,
    key: Bytes,
    /// What the object says, in seconds since 1970.
    time: i64,
}

/// All creations that the history shows.
#[derive(Debug, Default)]
pub(super) struct Creations(Vec<Creation>);

impl Creations {
    /// Notes a change that shows a creation.
    pub(super) fn see(&mut self, change: &Change<'_>) {
        let Some((object, _)) = change.object().zip(change.resource()).filter(|_| change.is_new()) else { return };
        if let Some(time) = object.created.filter(|_| !object.uid.is_empty()) {
            let (create_revision, at, key) = (change.version.create_revision, change.revision(), change.key().clone());
            self.0.push(Creation { create_revision, at, key, time });
        }
    }

    /// Adds the creations whose times do not fit to `found`, and returns the revision up to which the store was copied.
    pub(super) fn judge(mut self, found: &mut Found) -> Option<Revision> {
        self.0.sort_by_key(|creation| creation.create_revision);
        let chain = longest_chain(&self.0);
        let strays = self.strays(&chain);
        let copied = self.copied_until(&strays);
        if chain.len() < MIN_CREATIONS {
            return copied;
        }
        for (place, expected) in self.alone(&strays) {
            let Creation { create_revision, at, key, time } = &self.0[place];
            let (says, by) = if *time < expected {
                ("the object says that it was created long before its key was", expected - time)
            } else {
                ("the object says that it was created long after its key was", time - expected)
            };
            let fact = format!("its key was created at revision {create_revision}, {by} s apart from its creation time");
            found.add(Evidence::new(*at, key, Weight::Medium, says).because(fact).of_copies());
        }
        copied
    }

    /// The places of the creations that are off, and the nearest time that would not be.
    fn strays(&self, chain: &[usize]) -> Vec<(usize, i64)> {
        let mut strays = Vec::new();
        for (place, creation) in self.0.iter().enumerate() {
            let behind = chain.partition_point(|member| *member < place);
            let earliest = behind.checked_sub(1).map(|before| self.0[chain[before]].time);
            let latest = chain.get(behind).map(|member| self.0[*member].time);
            if let Some(earliest) = earliest.filter(|earliest| creation.time < earliest - CLOCK_TOLERANCE_SECONDS) {
                strays.push((place, earliest));
            } else if let Some(latest) = latest.filter(|latest| creation.time > latest + CLOCK_TOLERANCE_SECONDS) {
                strays.push((place, latest));
            }
        }
        strays
    }

    /// The strays without those that a clock which was set left behind.
    fn alone(&self, strays: &[(usize, i64)]) -> Vec<(usize, i64)> {
        let goes_on = |one: &(usize, i64), other: &(usize, i64)| {
            one.0 + 1 == other.0 && self.0[one.0].time <= self.0[other.0].time + CLOCK_TOLERANCE_SECONDS
        };
        strays.chunk_by(goes_on).filter(|run| run.len() < MIN_JUMP).flatten().copied().collect()
    }

    /// Up to which revision a copying program wrote: by ascending keys while times do not ascend, or so that much of it is off.
    fn copied_until(&self, strays: &[(usize, i64)]) -> Option<Revision> {
        let ascending = self.0.windows(2).take_while(|pair| pair[0].key < pair[1].key).count() + 1;
        let head = &self.0[..ascending.min(self.0.len())];
        let goes_back = head.windows(2).any(|pair| pair[1].time < pair[0].time - CLOCK_TOLERANCE_SECONDS);
        let by_keys = head.last().filter(|_| ascending >= MIN_ASCENDING && goes_back);
        // The part with the most strays for its length.
        let scored = strays.iter().zip(1..).map(|((place, _), upto)| (upto * CREATIONS_PER_STRAY as i64 - *place as i64, upto, *place));
        let densest = scored.filter(|(score, upto, _)| *score > 0 && *upto >= MIN_JUMP as i64).max_by_key(|(score, ..)| *score);
        let by_share = densest.map(|(.., place)| &self.0[place]);
        by_keys.into_iter().chain(by_share).map(|creation| creation.create_revision).max()
    }
}

/// The places of a longest series of creations whose times do not descend.
fn longest_chain(creations: &[Creation]) -> Vec<usize> {
    // The place that ends the best series of each length, and the place before each.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::with_capacity(creations.len()));
    for (place, creation) in creations.iter().enumerate() {
        let length = ends.partition_point(|end| creations[*end].time <= creation.time);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut chain: Vec<usize> = std::iter::successors(ends.last().copied(), |place| before[*place]).collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn creations(times: impl IntoIterator<Item = i64>, key: impl Fn(usize) -> String) -> Creations {
        let one = |(place, time): (usize, i64)| {
            let revision = Revision(place as i64 + 2);
            Creation { create_revision: revision, at: revision, key: Bytes::from(key(place)), time }
        };
        Creations(times.into_iter().enumerate().map(one).collect())
    }

    /// Keys in no order.
    fn mixed(place: usize) -> String {
        format!("/registry/configmaps/a/{}", place * 7 % 101)
    }

    fn off(creations: Creations) -> (Vec<i64>, Option<i64>) {
        let mut found = Found::default();
        let copied = creations.judge(&mut found);
        let (findings, _) = found.findings(copied);
        (findings.iter().map(|finding| finding.revision.unwrap().0).collect(), copied.map(|revision| revision.0))
    }

    fn steady(count: i64) -> Vec<i64> {
        (0..count).map(|number| 1_000_000 + number * 10).collect()
    }

    #[test]
    fn one_that_is_old_or_young_is_off() {
        assert_eq!(off(creations(steady(60), mixed)), (vec![], None));
        let mut times = steady(60);
        (times[40], times[50]) = (900_000, 2_000_000);
        assert_eq!(off(creations(times, mixed)), (vec![42, 52], None));
    }

    /// Two API servers whose clocks are 5 s apart, one after the other.
    #[test]
    fn clocks_may_differ() {
        let times = steady(60).into_iter().enumerate().map(|(place, time)| time + if place % 2 == 0 { 50 } else { 0 });
        assert_eq!(off(creations(times, mixed)), (vec![], None));
    }

    #[test]
    fn a_clock_that_was_set_accuses_nobody() {
        let times = steady(100).into_iter().enumerate().map(|(place, time)| if (70..85).contains(&place) { time + 3_600 } else { time });
        assert_eq!(off(creations(times, mixed)).0, Vec::<i64>::new());
    }

    #[test]
    fn a_copy_key_by_key_is_recognised() {
        let sorted = |place: usize| format!("/registry/configmaps/a/{place:04}");
        let copied = (0..40).map(|number| 1_000_000 + number * 7_919 % 40 * 1_000);
        let later = (0..40).map(|number| 2_000_000 + number * 10);
        let mut times: Vec<i64> = copied.chain(later).collect();
        times[60] = 1_000_000;
        let key = |place: usize| if place < 40 { sorted(place) } else { format!("/registry/a/{}", mixed(place)) };
        assert_eq!(off(creations(times, key)), (vec![62], Some(41)));
    }

    #[test]
    fn few_creations_show_nothing() {
        assert_eq!(off(creations([100, 900_000, 100], mixed)), (vec![], None));
    }
}

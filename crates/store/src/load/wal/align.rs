//! Which revision each entry of a log made, where the log begins later than the cluster, so that it cannot be replayed from nothing.
//!
//! After each candidate the store's revision lies between two bounds, and what is known of each key follows from the candidates that wrote
//! it. What the database still has fixes some candidates; a transaction that succeeded proves that the revision it compared was made by a
//! write of the same key. Both narrow the bounds until nothing changes any more. A revision is given to a candidate only where no other
//! one, and nothing before the log, can have made it; where several can, it is undecided.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::candidate::{Candidate, Guard, Write};
use super::key_state::NewestVersion;

/// A candidate's place among the candidates and the revision it made.
pub(super) type Fixed = (usize, i64);

/// No log says more in as many rounds.
const MOST_ROUNDS: usize = 64;

/// What is known besides the candidates.
pub(super) struct Evidence<'a> {
    pub candidates: &'a [Candidate<'a>],
    /// Candidates whose revision the database shows, ascending by place.
    pub fixed: Vec<Fixed>,
    /// The lowest and the highest revision that the store may have before the first candidate.
    pub begin: Option<(i64, i64)>,
    /// The revision after the last.
    pub reached: Option<i64>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Alignment {
    /// The revision of each candidate that made one, as far as it is certain.
    pub revisions: Vec<Option<i64>>,
    /// Ascending.
    pub undecided: Vec<OpenRevision>,
}

/// A revision of one key that more than one candidate, or one and something before the log, may have made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpenRevision {
    pub revision: i64,
    /// Places among the candidates.
    pub candidates: Vec<usize>,
    /// Whether it may have been made before the log begins.
    pub may_be_older: bool,
}

/// The evidence contradicts itself.
struct Inconsistent;

impl Evidence<'_> {
    /// Finds the revisions. Where two fixed points contradict each other, the one of the lower revision is wrong: what the log repeats of
    /// the time before it has a lower revision than all that it made. The lowest is dropped until nothing contradicts.
    pub(super) fn align(mut self) -> Alignment {
        self.drop_inverted();
        self.drop_impossible();
        loop {
            match AlignmentSearch::new(&self).run() {
                Ok(alignment) => return alignment,
                Err(Inconsistent) if self.fixed.is_empty() => {
                    return Alignment { revisions: vec![None; self.candidates.len()], undecided: Vec::new() };
                }
                Err(Inconsistent) => drop(self.fixed.remove(0)),
            }
        }
    }

    /// Drops fixed points behind one of a higher revision.
    fn drop_inverted(&mut self) {
        let mut highest = 0;
        self.fixed.retain(|&(_, revision)| {
            let is_higher = revision > highest;
            highest = highest.max(revision);
            is_higher
        });
    }

    /// Drops those up to the last from which more revisions follow until the next than there are candidates.
    fn drop_impossible(&mut self) {
        let end = self.reached.map(|reached| (self.candidates.len(), reached + 1));
        let next = self.fixed[1.min(self.fixed.len())..].iter().copied().chain(end);
        let pairs: Vec<(&Fixed, Fixed)> = self.fixed.iter().zip(next).collect();
        let impossible = pairs.iter().rposition(|(one, next)| next.1 - one.1 > (next.0 - one.0) as i64);
        if let Some(last) = impossible {
            self.fixed.drain(..=last);
        }
    }
}

/// The bounds and fates as far as they are known.
struct AlignmentSearch<'a> {
    candidates: &'a [Candidate<'a>],
    /// Whether each candidate made a revision.
    fates: Vec<Option<bool>>,
    /// The lowest and the highest revision that the store may have before each candidate, and after the last.
    bounds: Vec<(i64, i64)>,
    /// The candidates that may write each key, ascending.
    of_key: HashMap<&'a [u8], Vec<usize>>,
    /// The candidates that may put several keys, ascending.
    of_several: Vec<usize>,
    /// The keys that the log puts to each lease.
    of_lease: HashMap<i64, Vec<&'a [u8]>>,
    undecided: BTreeMap<i64, OpenRevision>,
}

impl<'a> AlignmentSearch<'a> {
    fn new(evidence: &'a Evidence<'_>) -> Self {
        let candidates = evidence.candidates;
        let (least, most) = evidence.begin.unwrap_or((1, i64::MAX / 2));
        let mut bounds = vec![(least, i64::MAX / 2); candidates.len() + 1];
        bounds[0].1 = most;
        if let Some(reached) = evidence.reached {
            bounds[candidates.len()] = (reached, reached);
        }
        let mut fates = vec![None; candidates.len()];
        for &(place, revision) in &evidence.fixed {
            fates[place] = Some(true);
            bounds[place + 1] = (revision, revision);
        }
        let (mut of_key, mut of_lease): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = (HashMap::new(), HashMap::new());
        for (place, candidate) in candidates.iter().enumerate() {
            if let Some(key) = candidate.write.key() {
                of_key.entry(key).or_default().push(place);
            }
            if let Write::Put(key, lease) = candidate.write
                && lease != 0
            {
                of_lease.entry(lease).or_default().push(key);
            }
        }
        let several = (0..candidates.len()).filter(|&place| matches!(candidates[place].write, Write::Some(_) | Write::Anything));
        Self { candidates, fates, bounds, of_key, of_several: several.collect(), of_lease, undecided: BTreeMap::new() }
    }

    fn run(mut self) -> Result<Alignment, Inconsistent> {
        for _ in 0..MOST_ROUNDS {
            let before = (self.fates.clone(), self.bounds.clone());
            self.undecided.clear();
            self.count()?;
            self.follow_keys()?;
            self.follow_compares()?;
            if (&self.fates, &self.bounds) == (&before.0, &before.1) {
                break;
            }
        }
        self.count()?;
        let made = |place: usize| {
            let (low, high) = self.bounds[place + 1];
            (self.fates[place] == Some(true) && low == high).then_some(low)
        };
        let revisions: Vec<Option<i64>> = (0..self.candidates.len()).map(made).collect();
        let decided: HashSet<i64> = revisions.iter().flatten().copied().collect();
        let undecided = self.undecided.into_values().filter(|open| !decided.contains(&open.revision)).collect();
        Ok(Alignment { revisions, undecided })
    }

    fn set(&mut self, place: usize, happened: bool) -> Result<(), Inconsistent> {
        match self.fates[place].replace(happened) {
            Some(before) if before != happened => Err(Inconsistent),
            _ => Ok(()),
        }
    }

    /// A candidate makes one revision or none.
    fn count(&mut self) -> Result<(), Inconsistent> {
        let steps = |fate: Option<bool>| (i64::from(fate == Some(true)), i64::from(fate != Some(false)));
        for place in 0..self.candidates.len() {
            let ((low, high), (least, most)) = (self.bounds[place], steps(self.fates[place]));
            let after = &mut self.bounds[place + 1];
            *after = (after.0.max(low + least), after.1.min(high + most));
        }
        for place in (0..self.candidates.len()).rev() {
            let ((low, high), (least, most)) = (self.bounds[place + 1], steps(self.fates[place]));
            let before = &mut self.bounds[place];
            *before = (before.0.max(low - most), before.1.min(high - least));
            if before.0 > before.1 {
                return Err(Inconsistent);
            }
            let before = *before;
            if low > before.1 {
                self.set(place, true)?;
            } else if high == before.0 {
                self.set(place, false)?;
            }
        }
        Ok(())
    }

    /// Goes forwards: what is known of each key decides conditions.
    fn follow_keys(&mut self) -> Result<(), Inconsistent> {
        let mut held: HashMap<&'a [u8], NewestVersion> = HashMap::new();
        for (place, candidate) in self.candidates.iter().enumerate() {
            let ((low, newest), (_, last)) = (self.bounds[place], self.bounds[place + 1]);
            match &candidate.write {
                Write::Put(key, _) | Write::Delete(key) => {
                    let before = held.remove(key).unwrap_or_else(|| NewestVersion::anything(newest));
                    if let Some(happened) = before.decides(candidate) {
                        self.set(place, happened)?;
                    }
                    held.insert(*key, before.after(candidate, self.fates[place], (low + 1, last)));
                }
                Write::DeleteRange(start, end) => {
                    held.iter_mut().filter(|(key, _)| is_within(key, start, end)).for_each(|(_, held)| held.may_be_deleted());
                }
                Write::Revoke { lease, may_be_older } => self.revoke(place, *lease, *may_be_older, &mut held)?,
                Write::Some(ranges) => held.retain(|key, _| !ranges.iter().any(|(start, end)| is_within(key, start, end))),
                Write::Anything => held.clear(),
            }
        }
        Ok(())
    }

    fn revoke(
        &mut self,
        place: usize,
        lease: i64,
        may_be_older: bool,
        held: &mut HashMap<&'a [u8], NewestVersion>,
    ) -> Result<(), Inconsistent> {
        let keys: &[&[u8]] = self.of_lease.get(&lease).map_or(&[], |keys| keys);
        let may_have = |key: &&&[u8]| held.get(**key).is_none_or(|held| held.may_have_lease(lease));
        if !may_be_older && !keys.iter().any(|key| may_have(&key)) {
            return self.set(place, false);
        }
        if may_be_older {
            held.values_mut().filter(|held| held.may_have_lease(lease)).for_each(NewestVersion::may_be_deleted);
        }
        for key in keys {
            held.entry(key).and_modify(|held| {
                if held.may_have_lease(lease) {
                    held.may_be_deleted()
                }
            });
        }
        Ok(())
    }

    /// Goes backwards: what a successful transaction compared was written by some write before it.
    fn follow_compares(&mut self) -> Result<(), Inconsistent> {
        for place in (0..self.candidates.len()).rev() {
            let candidate = &self.candidates[place];
            if let (Some(true), Guard::Mod(compared), Some(key)) = (self.fates[place], candidate.guard, candidate.write.key()) {
                self.bounds[place].0 = self.bounds[place].0.max(compared);
                if compared > 0 {
                    self.written(key, compared, place)?;
                }
            }
        }
        Ok(())
    }

    /// Some write of `key` made `revision`, and no other one followed until the candidate `until`.
    fn written(&mut self, key: &[u8], revision: i64, until: usize) -> Result<(), Inconsistent> {
        let mut open = OpenRevision { revision, candidates: Vec::new(), may_be_older: revision <= self.bounds[0].1 };
        let others = self.others(key, until);
        for &place in others.iter().rev() {
            let is_put = !matches!(self.candidates[place].write, Write::Delete(_));
            let (from, to) = (self.bounds[place].0 + 1, self.bounds[place + 1].1);
            let is_possible = is_put && self.fates[place] != Some(false) && (from..=to).contains(&revision);
            if is_possible {
                open.candidates.push(place);
            }
            let writes_it = self.candidates[place].write.key().is_some();
            if self.fates[place] == Some(true) && writes_it {
                open.may_be_older = false;
                break;
            }
            if open.candidates.is_empty() && writes_it {
                // It would have replaced the version that was compared.
                self.set(place, false)?;
            }
        }
        match (&open.candidates[..], open.may_be_older) {
            ([], false) => return Err(Inconsistent),
            (&[place], false) => {
                self.set(place, true)?;
                for &later in others.iter().filter(|&&later| later > place && self.candidates[later].write.key().is_some()) {
                    self.set(later, false)?;
                }
                let bounds = &mut self.bounds[place + 1];
                *bounds = (bounds.0.max(revision), bounds.1.min(revision));
                if bounds.0 > bounds.1 {
                    return Err(Inconsistent);
                }
            }
            ([], true) => {}
            _ => {
                open.candidates.reverse();
                self.undecided.insert(revision, open);
            }
        }
        Ok(())
    }

    /// The candidates before `until` that may write `key`, ascending.
    fn others(&self, key: &[u8], until: usize) -> Vec<usize> {
        let of_key = self.of_key.get(key).map_or(&[][..], |places| places);
        let before = &of_key[..of_key.partition_point(|&place| place < until)];
        // Writes of several keys are few, and only those since the last certain write of the key matter.
        let last = before.iter().rev().find(|&&place| self.fates[place] == Some(true)).copied().unwrap_or(0);
        let several = &self.of_several[self.of_several.partition_point(|&place| place < last)..];
        let several = several.iter().copied().take_while(|&place| place < until).filter(|&place| match &self.candidates[place].write {
            Write::Some(ranges) => ranges.iter().any(|(start, end)| is_within(key, start, end)),
            _ => true,
        });
        let mut all: Vec<usize> = before.iter().copied().chain(several).collect();
        all.sort_unstable();
        all
    }
}

/// Whether `key` is in a range as etcd writes it: an empty end means the start alone, a zero byte means no end.
pub(super) fn is_within(key: &[u8], start: &[u8], end: &[u8]) -> bool {
    match end {
        [] => key == start,
        [0] => key >= start,
        end => (start..end).contains(&key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(key: &'static [u8], compared: i64) -> Candidate<'static> {
        Candidate { entry: 0, write: Write::Put(key, 0), guard: Guard::Mod(compared), is_accepted: true }
    }

    fn align(candidates: &[Candidate<'_>], fixed: &[Fixed], begin: Option<i64>, reached: Option<i64>) -> Alignment {
        Evidence { candidates, fixed: fixed.to_vec(), begin: begin.map(|most| (1, most)), reached }.align()
    }

    fn check(candidates: &[Candidate<'_>], fixed: &[Fixed], begin: Option<i64>, reached: Option<i64>, wanted: &[i64]) {
        let found = align(candidates, fixed, begin, reached).revisions;
        assert_eq!(found.into_iter().map(|revision| revision.unwrap_or(0)).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn compares_lead_back_through_the_writes_of_a_key() {
        let log = [update(b"a", 90), update(b"b", 80), update(b"a", 101), update(b"a", 103)];
        check(&log, &[(3, 104)], Some(100), None, &[101, 102, 103, 104]);
    }

    #[test]
    fn a_create_is_counted_between_others() {
        check(&[update(b"a", 90), update(b"new", 0), update(b"a", 101)], &[(0, 101), (2, 103)], None, None, &[101, 102, 103]);
    }

    #[test]
    fn a_failed_transaction_makes_no_revision() {
        // The second lost a race and was tried again.
        check(&[update(b"a", 90), update(b"a", 90), update(b"a", 101)], &[(0, 101), (2, 102)], None, None, &[101, 0, 102]);
        check(&[update(b"a", 90), update(b"b", 0), update(b"a", 90), update(b"c", 0)], &[(0, 101)], None, Some(103), &[101, 102, 0, 103]);
    }

    #[test]
    fn what_does_not_hold_gets_no_revision() {
        check(&[update(b"a", 90), update(b"b", 0), update(b"c", 0), update(b"a", 101)], &[(3, 103)], Some(100), None, &[101, 0, 0, 103]);
        check(&[update(b"x", 0), update(b"a", 90)], &[(1, 103)], None, None, &[0, 103]);
    }

    #[test]
    fn no_candidate_makes_a_revision_that_was_there_before() {
        let creates = [update(b"a", 0), update(b"b", 0), update(b"c", 0)];
        let evidence = |begin| Evidence { candidates: &creates, fixed: vec![(0, 2), (2, 4)], begin, reached: None };
        assert_eq!(evidence(Some((1, 8))).align().revisions, [Some(2), Some(3), Some(4)]);
        assert_eq!(evidence(Some((7, 8))).align().revisions, [None; 3]);
    }

    #[test]
    fn a_fixed_point_that_contradicts_the_others_is_dropped() {
        let creates = [update(b"a", 0), update(b"b", 0), update(b"c", 0), update(b"d", 0)];
        check(&creates, &[(0, 10), (1, 11), (2, 7), (3, 13)], None, None, &[10, 11, 12, 13]);
    }

    /// The second of two creates of a key fails, whatever was before; an update of the version they compete for proves neither of them.
    #[test]
    fn the_loser_of_a_race_is_not_believed() {
        let race = [update(b"k", 0), update(b"k", 0), update(b"k", 101), update(b"x", 0)];
        let found = align(&race, &[(2, 102), (3, 103)], None, None);
        assert_eq!(found.revisions, [None, None, Some(102), Some(103)]);
        // The first may have made it, or what was before the log.
        assert_eq!(found.undecided, [OpenRevision { revision: 101, candidates: vec![0], may_be_older: true }]);
        check(&race, &[(2, 102), (3, 103)], Some(100), None, &[101, 0, 102, 103]);
    }

    /// Two updates of different versions: which of them made the revision is open where neither's version is known.
    #[test]
    fn where_two_may_have_made_a_revision_it_is_undecided() {
        let log = [update(b"x", 0), update(b"k", 80), update(b"y", 0), update(b"k", 90), update(b"k", 102), update(b"z", 0)];
        let found = align(&log, &[(5, 104)], Some(101), Some(104));
        assert_eq!(found.revisions[5], Some(104));
        assert!(found.revisions[1].is_none() && found.revisions[3].is_none(), "{found:?}");
        let open = found.undecided.iter().find(|open| open.revision == 102).map(|open| &open.candidates[..]);
        assert!(open.is_none_or(|candidates| candidates == [1, 3]), "{found:?}");
    }
}

//! Which revision each entry of a log made, where the log begins later than the cluster, so that it cannot be replayed from nothing.
//!
//! Fixed points: a put that the database still has shows its revision; a transaction that succeeded shows, by the `mod_revision` it
//! compared, the revision of the write before it on the same key. Between two fixed points the possible changes are counted: as many
//! as revisions, and all succeeded. Where that does not hold, no revision is assigned.

use std::collections::{HashMap, HashSet};

use super::candidate::{Candidate, Guard};

/// A candidate's place in the log and the revision it made.
type Fixed = (usize, i64);

/// Finds the revisions of `candidates`, given those known from the database, and the revision reached after all of them, if known.
/// A candidate that failed or whose revision is uncertain gets none.
pub(super) fn revisions(candidates: &[Candidate<'_>], from_database: &[Fixed], reached: Option<i64>) -> Vec<Option<i64>> {
    let mut alignment = RevisionAssignment { candidates, revisions: vec![None; candidates.len()], failed: repeated(candidates) };
    for &(index, revision) in increasing(from_database) {
        alignment.revisions[index] = Some(revision);
    }
    loop {
        let known = alignment.known();
        alignment.follow_compares();
        alignment.keep_increasing();
        alignment.count_between(reached);
        if alignment.known() <= known {
            return alignment.revisions;
        }
    }
}

/// Marks what compared the same revision of the same key as an earlier one: a revision never comes back, so only the first can
/// have succeeded. (That a key does not exist can come back.)
fn repeated(candidates: &[Candidate<'_>]) -> Vec<bool> {
    let mut seen = HashSet::new();
    let is_repeated = |candidate: &Candidate<'_>| match (candidate.key, candidate.guard) {
        (Some(key), Guard::Mod(compared)) if compared > 0 => !seen.insert((key.to_vec(), compared)),
        _ => false,
    };
    candidates.iter().map(is_repeated).collect()
}

struct RevisionAssignment<'a> {
    candidates: &'a [Candidate<'a>],
    revisions: Vec<Option<i64>>,
    failed: Vec<bool>,
}

impl RevisionAssignment<'_> {
    fn known(&self) -> usize {
        self.revisions.iter().flatten().count() + self.failed.iter().filter(|&&failed| failed).count()
    }

    fn fixed(&self) -> Vec<Fixed> {
        self.revisions.iter().enumerate().filter_map(|(index, revision)| Some((index, (*revision)?))).collect()
    }

    /// Goes backwards: what a successful transaction compared was written by the write before it.
    fn follow_compares(&mut self) {
        let mut written_at: HashMap<&[u8], i64> = HashMap::new();
        let mut taken: HashSet<i64> = self.revisions.iter().flatten().copied().collect();
        for (index, candidate) in self.candidates.iter().enumerate().rev() {
            let Some(key) = candidate.key else {
                if candidate.touches_unknown_keys {
                    written_at.clear();
                }
                continue;
            };
            if self.failed[index] {
                continue;
            }
            let before = written_at.get(key).copied();
            if self.revisions[index].is_none() {
                match (before, candidate.guard) {
                    // It compared a revision at least as new as the one that must come of it.
                    (Some(before), Guard::Mod(compared)) if compared >= before => {
                        self.failed[index] = true;
                        continue;
                    }
                    (Some(before), _) if taken.insert(before) => self.revisions[index] = Some(before),
                    _ => {}
                }
            }
            match (self.revisions[index], candidate.guard) {
                (Some(_), Guard::Mod(compared)) if compared > 0 => drop(written_at.insert(key, compared)),
                _ => drop(written_at.remove(key)),
            }
        }
    }

    /// Later entries make later revisions: what contradicts the most is dropped.
    fn keep_increasing(&mut self) {
        let fixed = self.fixed();
        self.revisions.fill(None);
        for &(index, revision) in increasing(&fixed) {
            self.revisions[index] = Some(revision);
        }
    }

    /// Between two fixed points there are as many successes as revisions.
    fn count_between(&mut self, reached: Option<i64>) {
        let mut fixed = self.fixed();
        fixed.extend(reached.map(|reached| (self.candidates.len(), reached + 1)));
        for pair in fixed.windows(2) {
            let ((from, first), (to, last)) = (pair[0], pair[1]);
            let free = (last - first - 1) as usize;
            let mut open: Vec<usize> = (from + 1..to).filter(|&index| !self.failed[index]).collect();
            if open.len() > free {
                open.retain(|&index| !self.is_stale(index, last));
            }
            if free == 0 {
                (from + 1..to).for_each(|index| self.failed[index] = true);
            } else if open.len() == free {
                for (index, revision) in open.into_iter().zip(first + 1..) {
                    self.revisions[index] = Some(revision);
                }
            }
        }
    }

    /// Whether the candidate compared what cannot have been: a revision yet to come, or one that a known later write had replaced.
    fn is_stale(&self, index: usize, before: i64) -> bool {
        let Guard::Mod(compared) = self.candidates[index].guard else { return false };
        let key = self.candidates[index].key;
        let last_write =
            || (0..index).rev().take(10_000).find(|&earlier| self.candidates[earlier].key == key && self.revisions[earlier].is_some());
        compared >= before || last_write().and_then(|write| self.revisions[write]).is_some_and(|written| written > compared)
    }
}

/// The longest part of `fixed` (ascending by index) whose revisions ascend too.
fn increasing(fixed: &[Fixed]) -> impl Iterator<Item = &Fixed> {
    // The last element of the best chain of each length, and for each element the one before it in its chain.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::with_capacity(fixed.len()));
    for (index, (_, revision)) in fixed.iter().enumerate() {
        let length = ends.partition_point(|&end| fixed[end].1 < *revision);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() { ends.push(index) } else { ends[length] = index }
    }
    let mut chain: Vec<&Fixed> = std::iter::successors(ends.last().copied(), |&index| before[index]).map(|index| &fixed[index]).collect();
    chain.reverse();
    chain.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(key: &'static [u8], compared: i64) -> Candidate<'static> {
        Candidate { key: Some(key), guard: Guard::Mod(compared), touches_unknown_keys: false, entry: 0 }
    }

    fn check(candidates: &[Candidate<'_>], from_database: &[Fixed], reached: Option<i64>, wanted: &[i64]) {
        let found: Vec<i64> = revisions(candidates, from_database, reached).into_iter().map(|revision| revision.unwrap_or(0)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn compares_lead_back_through_the_writes_of_a_key() {
        check(&[update(b"a", 90), update(b"b", 80), update(b"a", 101), update(b"a", 103)], &[(3, 104)], None, &[101, 102, 103, 104]);
    }

    #[test]
    fn a_create_is_counted_between_others() {
        check(&[update(b"a", 90), update(b"new", 0), update(b"a", 101)], &[(2, 103)], None, &[101, 102, 103]);
    }

    #[test]
    fn a_failed_transaction_makes_no_revision() {
        // The second lost a race and was tried again.
        check(&[update(b"a", 90), update(b"a", 90), update(b"a", 101)], &[(0, 101), (2, 102)], None, &[101, 0, 102]);
        check(&[update(b"a", 90), update(b"b", 0), update(b"a", 90), update(b"c", 0)], &[(0, 101)], Some(103), &[101, 102, 0, 103]);
    }

    #[test]
    fn what_does_not_hold_gets_no_revision() {
        check(&[update(b"a", 90), update(b"b", 0), update(b"c", 0), update(b"a", 101)], &[(3, 103)], None, &[101, 0, 0, 103]);
        check(&[update(b"x", 0), update(b"a", 90)], &[(1, 103)], None, &[0, 103]);
    }

    #[test]
    fn a_fixed_point_that_contradicts_the_others_is_dropped() {
        let creates = [update(b"a", 0), update(b"b", 0), update(b"c", 0), update(b"d", 0)];
        check(&creates, &[(0, 10), (1, 11), (2, 7), (3, 13)], None, &[10, 11, 12, 13]);
    }
}

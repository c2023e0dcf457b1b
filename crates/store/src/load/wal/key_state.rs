//! What is known about a key between two entries of a log that begins later than the cluster.

use super::candidate::{Candidate, Guard, Write};

/// More revisions that a key's version cannot have are not remembered.
const MAX_REVISIONS_EXCLUDED: usize = 16;

/// What may be a key's newest version: deleted or never made, or made by one of a span of revisions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NewestVersion {
    /// Whether the key may not exist.
    absent: bool,
    /// If it exists, the first revision that may have made its version, and the last.
    low: i64,
    high: i64,
    /// Revisions between them that have not.
    not: Vec<i64>,
    /// The leases that it may have; `None` where it may have any.
    leases: Option<Vec<i64>>,
}

impl NewestVersion {
    /// A key of which nothing is known but the newest revision.
    pub(super) fn anything(newest: i64) -> Self {
        Self { absent: true, low: 1, high: newest, not: Vec::new(), leases: None }
    }

    fn absent() -> Self {
        Self { absent: true, low: 1, high: 0, not: Vec::new(), leases: Some(Vec::new()) }
    }

    fn present(&self) -> bool {
        self.low <= self.high
    }

    /// Whether `compared` may be its revision; 0: whether it may not exist.
    fn may_be(&self, compared: i64) -> bool {
        if compared == 0 { self.absent } else { (self.low..=self.high).contains(&compared) && !self.not.contains(&compared) }
    }

    fn must_be(&self, compared: i64) -> bool {
        if compared == 0 { !self.present() } else { !self.absent && self.low == compared && self.high == compared }
    }

    /// Whether the change of a candidate with this condition happens: `None` where that is not known.
    pub(super) fn decides(&self, candidate: &Candidate<'_>) -> Option<bool> {
        let is_delete = matches!(candidate.write, Write::Delete(_));
        match candidate.guard {
            // What does not exist is not deleted.
            Guard::Mod(0) if is_delete => Some(false),
            Guard::Mod(compared) if !self.may_be(compared) => Some(false),
            Guard::Mod(compared) if self.must_be(compared) && candidate.is_accepted => Some(true),
            Guard::Always if is_delete && !self.present() => Some(false),
            Guard::Always if is_delete && self.absent => None,
            Guard::Always if candidate.is_accepted => Some(true),
            Guard::Mod(_) | Guard::Always => None,
            Guard::Other if is_delete && !self.present() => Some(false),
            Guard::Other => None,
        }
    }

    /// Goes on to the time after a candidate that writes this key; it made one of the revisions `made` if it happened.
    pub(super) fn after(&self, candidate: &Candidate<'_>, happened: Option<bool>, made: (i64, i64)) -> Self {
        let done = || match candidate.write {
            Write::Put(_, lease) => {
                let least = if let Guard::Mod(compared) = candidate.guard { compared + 1 } else { 1 };
                Self { absent: false, low: made.0.max(least), high: made.1, not: Vec::new(), leases: Some(vec![lease]) }
            }
            _ => Self::absent(),
        };
        match happened {
            Some(true) => done(),
            Some(false) => self.without(candidate),
            None => self.without(candidate).or(done()),
        }
    }

    /// The same after a candidate that changed nothing: if it was accepted, its condition did not hold.
    fn without(&self, candidate: &Candidate<'_>) -> Self {
        let mut held = self.clone();
        match candidate.guard {
            _ if !candidate.is_accepted => {}
            Guard::Mod(0) if matches!(candidate.write, Write::Put(..)) => held.absent = false,
            Guard::Mod(compared) if compared > 0 && held.not.len() < MAX_REVISIONS_EXCLUDED => held.not.push(compared),
            Guard::Always if matches!(candidate.write, Write::Delete(_)) => return Self::absent(),
            Guard::Mod(_) | Guard::Always | Guard::Other => {}
        }
        held
    }

    fn or(mut self, other: Self) -> Self {
        if !self.present() && !self.absent {
            return other;
        }
        self.not.retain(|not| other.present().then(|| other.may_be(*not)) != Some(true));
        if !self.present() {
            (self.low, self.high, self.not) = (other.low, other.high, other.not);
        } else if other.present() {
            (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
        }
        self.absent |= other.absent;
        self.leases = self.leases.zip(other.leases).map(|(mut one, other)| {
            one.extend(other);
            one.sort_unstable();
            one.dedup();
            one
        });
        self
    }

    pub(super) fn may_be_deleted(&mut self) {
        self.absent = true;
    }

    pub(super) fn may_have_lease(&self, lease: i64) -> bool {
        self.present() && self.leases.as_ref().is_none_or(|leases| leases.contains(&lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(guard: Guard) -> Candidate<'static> {
        Candidate { entry: 0, write: Write::Put(b"a", 0), guard, is_accepted: true }
    }

    #[test]
    fn of_two_creates_the_second_one_fails() {
        let held = NewestVersion::anything(100);
        assert_eq!(held.decides(&put(Guard::Mod(0))), None);
        let after = held.after(&put(Guard::Mod(0)), None, (2, 101));
        assert_eq!(after.decides(&put(Guard::Mod(0))), Some(false));
    }

    #[test]
    fn a_revision_is_replaced_once() {
        let after = NewestVersion::anything(100).after(&put(Guard::Mod(90)), None, (2, 101));
        assert_eq!(after.decides(&put(Guard::Mod(90))), Some(false));
        assert_eq!(after.decides(&put(Guard::Mod(95))), None);
        let known = after.after(&put(Guard::Always), Some(true), (101, 101));
        assert_eq!((known.decides(&put(Guard::Mod(101))), known.decides(&put(Guard::Mod(95)))), (Some(true), Some(false)));
    }

    #[test]
    fn what_may_have_been_refused_says_nothing() {
        let doubtful = Candidate { is_accepted: false, ..put(Guard::Mod(0)) };
        let after = NewestVersion::anything(100).after(&doubtful, None, (2, 101));
        assert_eq!(after.decides(&put(Guard::Mod(0))), None);
    }
}

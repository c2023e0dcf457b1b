//! Which request made a change, and how that is known.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::request::Request;

/// Which request made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Authorship {
    /// This one: its answer names the revision.
    Exact(Arc<Request>),
    /// One user's: no other request fits key, verb and time. Where several of that user's fit, all of them, the earliest first.
    Attributed(Vec<Arc<Request>>),
    /// One of these: all that fit, the earliest first.
    Candidates(Vec<Arc<Request>>),
    /// None of the log, which would hold it.
    Unexplained(Unexplained),
}

/// Why no request of the log made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Unexplained {
    /// The log holds the requests that make such changes, those before and after it too, and none for this one: it was written directly to etcd.
    NoRequest,
    /// The same of several changes in a row: more likely a part of the log is missing.
    NoRequests,
    /// The same bytes were written again, which no API server does.
    SameBytes,
    /// The value is of another object than the key, which no API server writes.
    Misplaced,
}

impl Unexplained {
    /// Whether the change was more likely written directly to etcd than left out of the log.
    pub fn is_bypass(self) -> bool {
        self != Self::NoRequests
    }
}

impl Authorship {
    /// The request, if there is one; if one user made several, the earliest.
    pub fn request(&self) -> Option<&Arc<Request>> {
        match self {
            Self::Exact(request) => Some(request),
            Self::Attributed(requests) => requests.first(),
            Self::Candidates(_) | Self::Unexplained(_) => None,
        }
    }

    /// All requests that may have made the change.
    pub fn requests(&self) -> &[Arc<Request>] {
        match self {
            Self::Exact(request) => std::slice::from_ref(request),
            Self::Attributed(requests) | Self::Candidates(requests) => requests,
            Self::Unexplained(_) => &[],
        }
    }
}

/// What audit logs say about the changes of a history.
#[derive(Debug, Default)]
pub struct Authors {
    pub(crate) found: HashMap<(i64, i64), Authorship>,
    /// Revisions with the times between which their requests were received and answered, in order.
    pub(crate) dated: Vec<(i64, Timestamp, Timestamp)>,
    /// By how much the clocks of API servers differ at least, in microseconds; 0 where nothing shows that they do.
    pub(crate) skew: i64,
    /// Stretches of revisions whose requests are missing.
    pub(crate) gaps: Vec<(i64, i64)>,
}

impl Authors {
    /// Returns who made the change of a revision, by its place among the changes of it; `None` where the log does not say.
    pub fn of(&self, revision: i64, sub_revision: i64) -> Option<&Authorship> {
        self.found.get(&(revision, sub_revision))
    }

    /// Returns every request that made a change or may have made it, one for each change.
    pub fn requests(&self) -> impl Iterator<Item = &Arc<Request>> {
        self.found.values().flat_map(Authorship::requests)
    }

    /// Returns revisions with the times between which they were written, in ascending order.
    pub fn dated(&self) -> &[(i64, Timestamp, Timestamp)] {
        &self.dated
    }

    /// Returns by how much the clocks of the API servers that wrote the log differ at least, in seconds; 0 where nothing shows that they do.
    pub fn clocks_differ(&self) -> f64 {
        const MICROS_PER_SECOND: f64 = 1e6;
        #[expect(clippy::cast_precision_loss, reason = "microseconds of a clock's error")]
        let skew = self.skew as f64;
        skew / MICROS_PER_SECOND
    }

    /// Returns the stretches of revisions, both ends included, in which the log lacks requests that it holds elsewhere.
    pub fn gaps(&self) -> &[(i64, i64)] {
        &self.gaps
    }

    /// Returns the changes that no request explains, by revision and place in it, in order.
    pub fn unexplained_changes(&self) -> Vec<(i64, i64, Unexplained)> {
        let why = |(place, found): (&(i64, i64), &Authorship)| match found {
            Authorship::Unexplained(why) => Some((place.0, place.1, *why)),
            _ => None,
        };
        let mut changes: Vec<(i64, i64, Unexplained)> = self.found.iter().filter_map(why).collect();
        changes.sort_unstable_by_key(|(revision, sub_revision, _)| (*revision, *sub_revision));
        changes
    }

    /// Returns the revisions of the changes that no request explains, in order.
    pub fn unexplained(&self) -> Vec<i64> {
        let unexplained = self.found.iter().filter(|(_, found)| matches!(found, Authorship::Unexplained(_)));
        let mut revisions: Vec<i64> = unexplained.map(|((revision, _), _)| *revision).collect();
        revisions.sort_unstable();
        revisions.dedup();
        revisions
    }

    /// Returns how many changes have which request: exact, attributed, candidates, unexplained.
    pub fn counts(&self) -> [usize; 4] {
        self.found.values().fold([0; 4], |mut counts, authorship| {
            counts[match authorship {
                Authorship::Exact(_) => 0,
                Authorship::Attributed(_) => 1,
                Authorship::Candidates(_) => 2,
                Authorship::Unexplained(_) => 3,
            }] += 1;
            counts
        })
    }
}

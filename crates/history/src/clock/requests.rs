//! Requests of audit logs as evidence for the clock: a change was written between its request's receipt and its answer, by the API server's own clock.

use std::sync::Arc;

use super::Clock;
use super::stamp::Micros;
use super::steps::Steps;
use ketcd_audit::{Authors, Authorship};
use ketcd_store::Revision;

/// What requests say about when revisions were written, and who wrote them.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    authors: Option<Arc<Authors>>,
    earliest: Steps,
    latest: Steps,
}

impl Requests {
    fn of(authors: Arc<Authors>) -> Self {
        let mut earliest = Steps::default();
        for (revision, from, _) in authors.dated() {
            earliest.raise(*revision, from.as_microsecond());
        }
        let upper: Vec<(i64, Micros)> = authors.dated().iter().map(|(revision, _, to)| (*revision, to.as_microsecond())).collect();
        Self { authors: Some(authors), earliest, latest: Steps::lowest_from_the_end(&upper) }
    }

    /// What remains of the interval that the data shows. Where the two contradict each other, the data's own times are off: it assumes how soon writes
    /// follow them.
    pub(super) fn narrow(&self, revision: i64, of_data: Option<(Micros, Micros)>) -> Option<(Micros, Micros)> {
        let of_requests = self.earliest.at_or_before(revision).zip(self.latest.at_or_after(revision));
        let Some((from, to)) = of_requests.map(|(from, to)| (from.min(to), from.max(to))) else { return of_data };
        let both = of_data.map(|(earliest, latest)| (earliest.max(from), latest.min(to)));
        Some(both.filter(|(earliest, latest)| earliest <= latest).unwrap_or((from, to)))
    }

    /// The first and the last revision that can be dated, given those of the data.
    pub(super) fn widen(&self, of_data: Option<(i64, i64)>) -> Option<(i64, i64)> {
        let Some((first, last)) = self.earliest.first().zip(self.latest.last()) else { return of_data };
        Some(of_data.map_or((first, last), |(from, to)| (from.min(first), to.max(last))))
    }
}

impl Clock {
    /// The same clock with what audit logs say, which date revisions better than all else and name who wrote them.
    #[must_use]
    pub fn with_authors(self, authors: Arc<Authors>) -> Self {
        Self { requests: Requests::of(authors), ..self }
    }

    /// Returns what audit logs say about who made a change; `None` if there are none, or they do not say.
    pub fn request(&self, revision: Revision, sub_revision: i64) -> Option<&Authorship> {
        self.requests.authors.as_ref()?.of(revision.0, sub_revision)
    }
}

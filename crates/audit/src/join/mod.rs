//! Joins requests to changes: by the revision that an answer names, else by key, verb and time.
//!
//! What is certain bounds the rest: a change whose request is known was made between that request's receipt and its answer, and revisions are in order of
//! time. A request makes one change, but for collections, and for the request that ends a grace and removes the object. So what fits a change becomes
//! less from round to round, until nothing more follows.

mod coverage;
mod index;
mod rules;
mod windows;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::authorship::{Authors, Authorship, Unexplained};
use crate::change::{ChangeFacts, Did};
use crate::reader::LogSpan;
use crate::request::{Request, Verb};
use index::{Index, collection, place};
use windows::{Windows, skew};

/// The requests that can have made any of some changes, so that no others are kept of a long log.
#[derive(Debug)]
pub struct Wanted {
    keys: HashSet<String>,
    /// The time of the changes and a while before and after, in microseconds.
    from: i64,
    to: i64,
}

/// How long before and after the time that the data shows requests are kept.
const KEPT_AROUND_MICROS: i64 = 300_000_000;

impl Wanted {
    /// Returns what is wanted for these changes.
    pub fn of(changes: &[ChangeFacts]) -> Self {
        let both = changes.iter().flat_map(|change| {
            let of = (&*change.group, &*change.resource, &*change.namespace);
            [place(of, &change.name), collection(of)]
        });
        let first = changes.first().and_then(|change| change.earliest);
        let last = changes.last().and_then(|change| change.latest);
        Self {
            keys: both.collect(),
            from: first.map_or(i64::MIN, |time| time.as_microsecond() - KEPT_AROUND_MICROS),
            to: last.map_or(i64::MAX, |time| time.as_microsecond() + KEPT_AROUND_MICROS),
        }
    }

    /// Whether a request is wanted.
    pub fn takes(&self, request: &Request) -> bool {
        let (from, to) = request.interval();
        request.may_change() && to >= self.from && from <= self.to && self.keys.contains(&index::of_request(request))
    }
}

/// Changes and the requests that may have made them.
pub struct Join {
    changes: Vec<ChangeFacts>,
    /// The next change of the same key.
    next: Vec<Option<usize>>,
    requests: Vec<Arc<Request>>,
    index: Index,
    /// Whether a request's one change is known.
    used: Vec<bool>,
    windows: Windows,
    found: Vec<Option<Authorship>>,
    span: Option<LogSpan>,
    holes: Vec<LogSpan>,
}

impl Join {
    /// Takes the changes of a history in order, those requests of the log that [`Wanted`] takes, and from when to when it is.
    pub fn new(changes: Vec<ChangeFacts>, mut requests: Vec<Arc<Request>>, span: Option<LogSpan>) -> Self {
        // A request that several files hold is one.
        requests.sort_by(|one, other| (one.interval(), &one.audit_id).cmp(&(other.interval(), &other.audit_id)));
        requests.dedup_by(|one, other| !one.audit_id.is_empty() && one.audit_id == other.audit_id && one.interval() == other.interval());
        let index = Index::of(&requests);
        let slack = skew(&changes, &requests);
        let (mut last, mut next) = (HashMap::new(), vec![None; changes.len()]);
        for (at, change) in changes.iter().enumerate() {
            if let Some(before) = last.insert(place((&change.group, &change.resource, &change.namespace), &change.name), at) {
                next[before] = Some(at);
            }
        }
        Self {
            windows: Windows::of(&changes, &requests, slack),
            used: vec![false; requests.len()],
            found: vec![None; changes.len()],
            next,
            changes,
            requests,
            index,
            span,
            holes: Vec::new(),
        }
    }

    /// The same with times in which the log lost requests.
    #[must_use]
    pub fn with_holes(self, holes: Vec<LogSpan>) -> Self {
        Self { holes, ..self }
    }

    /// Finds which request made each change.
    pub fn authors(mut self) -> Authors {
        self.name_exact();
        while self.attribute() {}
        self.complete();
        let (found, gaps) = coverage::unexplained(&self.changes, &self.found, &self.windows, (self.span, &self.holes));
        let is_certain = |why: &Unexplained| matches!(why, Unexplained::SameBytes | Unexplained::Misplaced);
        let told: Vec<_> = found.into_iter().filter(|(at, why)| is_certain(why) || !self.may_be_another(*at)).collect();
        for (at, why) in told {
            self.found[at] = Some(Authorship::Unexplained(why));
        }
        let skew = self.windows.skew();
        let dated = self.changes.iter().zip(&self.found).filter_map(|(change, found)| dated(change, found.as_ref(), skew)).collect();
        let found = self.changes.iter().zip(self.found);
        let found = found.filter_map(|(change, found)| Some(((change.revision, change.sub_revision), found?))).collect();
        Authors { found, dated, skew: self.windows.skew(), gaps }
    }

    /// Whether clocks differ, and a request fits a change in everything but its time.
    fn may_be_another(&self, at: usize) -> bool {
        let is_known = |place: usize| self.used[place] && self.requests[place].names_revision.is_some();
        let change = &self.changes[at];
        self.windows.skew() > 0 && self.index.near(change).any(|place| !is_known(place) && rules::fits(change, &self.requests[place]))
    }

    /// Finds the requests whose answers name the revisions of changes.
    fn name_exact(&mut self) {
        for at in 0..self.changes.len() {
            let mut fits = self.naming(at);
            fits.retain(|&place| rules::is_stamped_by(&self.changes[at], &self.requests[place], self.windows.slack()));
            if let [only] = fits[..] {
                self.settle(at, only, Authorship::Exact(Arc::clone(&self.requests[only])));
            }
        }
        self.windows.propagate();
    }

    /// The requests whose answers name the revision of a change, and may have made it. Who changes nothing is answered with the last revision, but is not
    /// the first to be answered with it.
    fn naming(&self, at: usize) -> Vec<usize> {
        let change = &self.changes[at];
        let names = |request: &Request| rules::fits(change, request) && !self.windows.excludes_naming(at, request);
        let mut fits: Vec<usize> = self.index.naming(change).filter(|&place| names(&self.requests[place])).collect();
        let first = fits.iter().map(|&place| self.requests[place].interval().1).min();
        // Where clocks differ, the order of requests is as uncertain.
        let skew = self.windows.skew();
        fits.retain(|&place| Some(self.requests[place].interval().0.saturating_sub(skew)) <= first);
        fits
    }

    /// Attributes changes that one request alone fits. Returns whether there was any.
    fn attribute(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.changes.len() {
            if self.found[at].is_some() || self.is_removed_next(at) {
                continue;
            }
            if let [only] = self.fitting(at)[..]
                && !takes_unlisted(&self.requests[only])
            {
                self.settle(at, only, Authorship::Attributed(vec![Arc::clone(&self.requests[only])]));
                any = true;
            }
        }
        self.windows.propagate();
        any
    }

    /// Whether the request that made a change also made the next one of its key, which shows it better.
    fn is_removed_next(&self, at: usize) -> bool {
        self.changes[at].ends_grace && self.next[at].is_some_and(|next| self.changes[next].did == Did::Delete)
    }

    /// The requests that fit a change by key, verb and time.
    fn fitting(&self, at: usize) -> Vec<usize> {
        let (change, slack) = (&self.changes[at], self.windows.slack());
        let fits = |place: &usize| {
            let request = &self.requests[*place];
            // Where clocks differ, what was attributed may be another's.
            let is_free = !self.used[*place] || request.verb == Verb::DeleteCollection || self.windows.skew() > 0;
            // A write that removed the last finalizer is answered with the object as it was asked for.
            let is_last = change.did == Did::Delete && matches!(request.verb, Verb::Update | Verb::Patch);
            is_free
                && request.names_revision.is_none_or(|named| named == change.revision || is_last)
                && !self.windows.excludes(at, request)
                && rules::fits(change, request)
                && rules::is_stamped_by(change, request, slack)
        };
        let (from, to) = self.windows.of_change(at);
        let span = (from.saturating_sub(slack), to.saturating_add(slack));
        let mut fits: Vec<usize> = self.index.between(change, span, &self.requests).filter(fits).collect();
        fits.sort_unstable();
        fits.dedup();
        fits
    }

    fn settle(&mut self, at: usize, place: usize, authorship: Authorship) {
        self.windows.narrow(at, &self.requests[place]);
        self.used[place] = true;
        self.found[at] = Some(authorship);
    }

    /// Gives the rest what is left: the request of the deletion that follows, one user's requests, or candidates.
    fn complete(&mut self) {
        for at in 0..self.changes.len() {
            if self.found[at].is_some() {
                continue;
            }
            let removal = self.next[at].filter(|_| self.is_removed_next(at)).and_then(|next| self.found[next].as_ref());
            if let Some(request) = removal.and_then(Authorship::request) {
                self.found[at] = Some(Authorship::Attributed(vec![Arc::clone(request)]));
                continue;
            }
            let fits = self.fitting(at);
            // An answer names the revision, though the change has the mark of another writer: that one's request may be in the log without its answer.
            let (fits, is_doubtful) = if fits.is_empty() { (self.naming(at), true) } else { (fits, false) };
            let fits: Vec<Arc<Request>> = fits.into_iter().map(|place| Arc::clone(&self.requests[place])).collect();
            let are_of_one = !is_doubtful
                && fits.windows(2).all(|pair| pair[0].user == pair[1].user)
                && !fits.iter().any(|request| takes_unlisted(request));
            if !fits.is_empty() {
                self.found[at] = Some(if are_of_one { Authorship::Attributed(fits) } else { Authorship::Candidates(fits) });
            }
        }
    }
}

/// Whether a request deleted a collection, and the log does not say what was in it.
fn takes_unlisted(request: &Request) -> bool {
    request.verb == Verb::DeleteCollection && request.deleted.is_none()
}

/// Between which times a change was made whose one request is known; clocks of API servers may differ by `skew`.
fn dated(change: &ChangeFacts, found: Option<&Authorship>, skew: i64) -> Option<(i64, Timestamp, Timestamp)> {
    let (from, to) = match found?.requests() {
        [only] if only.verb != Verb::DeleteCollection && !matches!(found?, Authorship::Candidates(_)) => only.interval(),
        _ => return None,
    };
    let (from, to) = (from.saturating_sub(skew), to.saturating_add(skew));
    Some((change.revision, Timestamp::from_microsecond(from).ok()?, Timestamp::from_microsecond(to).ok()?))
}

#[cfg(test)]
mod tests;

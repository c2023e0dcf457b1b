//! Between which moments each change was made, in microseconds: by the requests that are known, and by the data's own times.

use std::collections::HashMap;
use std::sync::Arc;

use super::index;
use crate::change::{ChangeFacts, Did};
use crate::request::{Request, Verb};

/// How far an API server's times may be from the moment of a write in any case.
const MIN_SKEW_MICROS: i64 = 20_000;

/// The data's own bounds assume that writes follow their stamps soon. On a busy machine they come later.
const MAX_LEAD_MICROS: i64 = 100_000;
const MAX_DELAY_MICROS: i64 = 1_000_000;

/// How much later than the data allows an answer may name its revision: what a request that changed nothing names may be much older.
const NAMED_LATER: i64 = 10_000_000;

/// Clocks that differ by more are not believed.
const MOST_SKEW: i64 = 30_000_000;

/// The windows of changes, in their order.
pub(super) struct Windows {
    low: Vec<i64>,
    high: Vec<i64>,
    data: Vec<(i64, i64)>,
    slack: i64,
    skew: i64,
}

impl Windows {
    /// Begins with what every answer says that names a revision: that it was there by then.
    pub(super) fn of(changes: &[ChangeFacts], requests: &[Arc<Request>], skew: i64) -> Self {
        // What shows that clocks differ shows it at least: they may differ by more.
        let slack = MIN_SKEW_MICROS + skew + skew / 2;
        let data = changes.iter().map(|change| {
            let earliest = change.earliest.map_or(i64::MIN, |time| time.as_microsecond() - MAX_LEAD_MICROS);
            (earliest, change.latest.map_or(i64::MAX, |time| time.as_microsecond() + MAX_DELAY_MICROS))
        });
        let mut windows =
            Self { low: vec![i64::MIN; changes.len()], high: vec![i64::MAX; changes.len()], data: data.collect(), slack, skew };
        for request in requests {
            let Some(named) = request.names_revision else { continue };
            let after = changes.partition_point(|change| change.revision <= named);
            if let Some(high) = after.checked_sub(1).and_then(|at| windows.high.get_mut(at)) {
                *high = (*high).min(request.interval().1 + slack);
            }
        }
        windows.propagate();
        windows
    }

    /// How far times of the log may be off.
    pub(super) fn slack(&self) -> i64 {
        self.slack
    }

    /// By how much clocks of API servers differ at least.
    pub(super) fn skew(&self) -> i64 {
        self.skew
    }

    pub(super) fn of_change(&self, at: usize) -> (i64, i64) {
        (self.low[at].max(self.data[at].0), self.high[at].min(self.data[at].1))
    }

    /// Whether a request that fits by its times alone cannot have made a change.
    pub(super) fn excludes(&self, at: usize, request: &Request) -> bool {
        let ((low, high), (from, to)) = (self.of_change(at), request.interval());
        from - self.slack > high || to + self.slack < low
    }

    /// Whether a request whose answer names the change's revision cannot have made it: it came when others had been answered with later revisions, or
    /// the data says that it was long before or after.
    pub(super) fn excludes_naming(&self, at: usize, request: &Request) -> bool {
        let ((from, to), (earliest, latest)) = (request.interval(), self.data[at]);
        let from = from - self.slack;
        from > self.high[at] || from > latest.saturating_add(NAMED_LATER) || to + self.slack < earliest.saturating_sub(NAMED_LATER)
    }

    pub(super) fn narrow(&mut self, at: usize, request: &Request) {
        let (from, to) = request.interval();
        self.low[at] = self.low[at].max(from - self.slack);
        self.high[at] = self.high[at].min(to + self.slack);
    }

    /// Revisions are in order of time.
    pub(super) fn propagate(&mut self) {
        let mut bound = i64::MIN;
        for low in &mut self.low {
            bound = bound.max(*low);
            *low = bound;
        }
        bound = i64::MAX;
        for high in self.high.iter_mut().rev() {
            bound = bound.min(*high);
            *high = bound;
        }
    }
}

/// By how much clocks of API servers differ at least: of two revisions in a row the later one's request cannot have been answered before the earlier
/// one's was received. Single cases may be requests that changed nothing.
pub(super) fn skew(changes: &[ChangeFacts], requests: &[Arc<Request>]) -> i64 {
    /// The fewest cases, and how many pairs there may be for each.
    const MIN_SKEW_CASES: usize = 3;
    const MAX_PAIRS_PER_CASE: usize = 200;
    let is_revision = |revision: i64| changes.binary_search_by_key(&revision, |change| change.revision).is_ok();
    let of = |revision: i64, request: &Request| (revision, request.interval().1, request.interval().0);
    let mut named: Vec<(i64, i64, i64)> = requests
        .iter()
        .filter_map(|request| request.names_revision.map(|named| of(named, request)))
        .filter(|(named, ..)| is_revision(*named))
        .collect();
    named.extend(only_creations(changes, requests).map(|(revision, request)| of(revision, request)));
    // The first that was answered with a revision.
    named.sort_unstable();
    named.dedup_by_key(|(named, ..)| *named);
    let mut off: Vec<i64> = named.windows(2).map(|pair| pair[0].2 - pair[1].1).filter(|&off| off > MIN_SKEW_MICROS).collect();
    off.sort_unstable_by(|one, other| other.cmp(one));
    let are_enough = off.len() >= MIN_SKEW_CASES.max(named.len() / MAX_PAIRS_PER_CASE);
    if are_enough { off[MIN_SKEW_CASES - 1].min(MOST_SKEW) } else { 0 }
}

/// Creations that belong together whatever the clocks say: a key was created once, and one request alone was granted that creates it.
fn only_creations<'r>(changes: &[ChangeFacts], requests: &'r [Arc<Request>]) -> impl Iterator<Item = (i64, &'r Request)> {
    let mut created: HashMap<String, Option<i64>> = HashMap::new();
    for change in changes.iter().filter(|change| change.did == Did::Create) {
        let key = index::place((&change.group, &change.resource, &change.namespace), &change.name);
        created.entry(key).and_modify(|known| *known = None).or_insert(Some(change.revision));
    }
    let mut asked: HashMap<String, Option<&Request>> = HashMap::new();
    let creates =
        |request: &&Arc<Request>| request.verb == Verb::Create && request.target.subresource.is_empty() && !request.target.name.is_empty();
    for request in requests.iter().filter(creates) {
        asked.entry(index::of_request(request)).and_modify(|known| *known = None).or_insert(Some(&**request));
    }
    asked.into_iter().filter_map(move |(key, request)| Some((created.get(&key).copied().flatten()?, request?)))
}

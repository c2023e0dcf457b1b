//! Requests by what they are about.

use std::collections::HashMap;
use std::sync::Arc;

use crate::change::ChangeFacts;
use crate::request::{Request, Verb};

/// No API server works on one request longer than this (`--request-timeout`), in microseconds.
const MAX_REQUEST_MICROS: i64 = 60_000_000;

/// Requests by key, in order of time.
pub(super) struct Index(HashMap<String, OfKey>);

#[derive(Default)]
struct OfKey {
    all: Vec<usize>,
    /// Those whose answers name a revision, by it: an object may be written, and asked for, very often.
    naming: HashMap<i64, Vec<usize>>,
}

impl Index {
    /// Requests in order of time.
    pub(super) fn of(requests: &[Arc<Request>]) -> Self {
        let mut found: HashMap<String, OfKey> = HashMap::new();
        for (place, request) in requests.iter().enumerate() {
            let of_key = found.entry(of_request(request)).or_default();
            of_key.all.push(place);
            if let Some(revision) = request.names_revision {
                of_key.naming.entry(revision).or_default().push(place);
            }
        }
        Self(found)
    }

    /// All requests about the object of a change, or about a collection that it is of.
    pub(super) fn near(&self, change: &ChangeFacts) -> impl Iterator<Item = usize> {
        self.about(change).flat_map(|of_key| &of_key.all).copied()
    }

    /// Those of them whose answers name the revision of the change.
    pub(super) fn naming(&self, change: &ChangeFacts) -> impl Iterator<Item = usize> {
        self.about(change).filter_map(|of_key| of_key.naming.get(&change.revision)).flatten().copied()
    }

    /// Those that were worked on between two moments.
    pub(super) fn between<'i>(
        &'i self,
        change: &ChangeFacts,
        (from, to): (i64, i64),
        requests: &'i [Arc<Request>],
    ) -> impl Iterator<Item = usize> + 'i {
        let begins = move |place: &usize| requests[*place].interval().0;
        self.about(change).map(|of_key| &of_key.all).flat_map(move |places| {
            let first = places.partition_point(|place| begins(place) < from.saturating_sub(MAX_REQUEST_MICROS));
            places[first..].iter().copied().take_while(move |place| begins(place) <= to)
        })
    }

    fn about<'i>(&'i self, change: &ChangeFacts) -> impl Iterator<Item = &'i OfKey> + use<'i> {
        let of = (&*change.group, &*change.resource, &*change.namespace);
        [place(of, &change.name), collection(of)].into_iter().filter_map(|key| self.0.get(&key))
    }
}

/// What a request is about: an object, or a collection where it names none.
pub(super) fn of_request(request: &Request) -> String {
    let target = &request.target;
    let of = (&*target.group, &*target.resource, &*target.namespace);
    if target.name.is_empty() || request.verb == Verb::DeleteCollection { collection(of) } else { place(of, &target.name) }
}

pub(super) fn place((group, resource, namespace): (&str, &str, &str), name: &str) -> String {
    format!("{}/{resource}/{namespace}/{name}", group_of(group))
}

pub(super) fn collection(of: (&str, &str, &str)) -> String {
    place(of, "")
}

/// Kubernetes stores an object that several of its own groups serve once (`events`, `ingresses`), and its own groups share no resource names beyond
/// that; custom groups are told apart.
fn group_of(group: &str) -> &str {
    if !group.contains('.') || group.ends_with(".k8s.io") { "" } else { group }
}

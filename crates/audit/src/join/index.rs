//! Requests by what they are about.

use std::collections::HashMap;
use std::sync::Arc;

use crate::change::ChangeFacts;
use crate::request::{Request, Verb};

/// No API server works on one request longer than this (`--request-timeout`), in microseconds.
const LONGEST: i64 = 60_000_000;

/// Requests by key, in order of time.
pub(super) struct Index(HashMap<String, Vec<usize>>);

impl Index {
    /// Requests in order of time.
    pub(super) fn of(requests: &[Arc<Request>]) -> Self {
        let mut found: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, request) in requests.iter().enumerate() {
            found.entry(of_request(request)).or_default().push(place);
        }
        Self(found)
    }

    /// All requests about the object of a change, or about a collection that it is of.
    pub(super) fn near(&self, change: &ChangeFacts) -> impl Iterator<Item = usize> {
        self.lists(change).into_iter().flatten().copied()
    }

    /// Those that were worked on between two moments.
    pub(super) fn between<'i>(
        &'i self,
        change: &ChangeFacts,
        (from, to): (i64, i64),
        requests: &'i [Arc<Request>],
    ) -> impl Iterator<Item = usize> + 'i {
        let begins = move |place: &usize| requests[*place].interval().0;
        self.lists(change).into_iter().flat_map(move |places| {
            let first = places.partition_point(|place| begins(place) < from.saturating_sub(LONGEST));
            places[first..].iter().copied().take_while(move |place| begins(place) <= to)
        })
    }

    fn lists(&self, change: &ChangeFacts) -> [&[usize]; 2] {
        let of = (&*change.group, &*change.resource, &*change.namespace);
        [place(of, &change.name), collection(of)].map(|key| self.0.get(&key).map(Vec::as_slice).unwrap_or_default())
    }
}

/// What a request is about: an object, or a collection where it names none.
pub(super) fn of_request(request: &Request) -> String {
    let target = &request.target;
    let of = (&*target.group, &*target.resource, &*target.namespace);
    if target.name.is_empty() || request.verb == Verb::DeleteCollection { collection(of) } else { place(of, &target.name) }
}

/// Names an object.
pub(super) fn place((group, resource, namespace): (&str, &str, &str), name: &str) -> String {
    format!("{}/{resource}/{namespace}/{name}", group_of(group))
}

/// Names a collection.
pub(super) fn collection(of: (&str, &str, &str)) -> String {
    place(of, "")
}

/// Kubernetes stores an object that several of its own groups serve once (`events`, `ingresses`), and its own groups share no resource names beyond
/// that; custom groups are told apart.
fn group_of(group: &str) -> &str {
    if !group.contains('.') || group.ends_with(".k8s.io") { "" } else { group }
}

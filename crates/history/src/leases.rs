//! Leases as evidence of who was alive: a kubelet or a leader whose lease had run out, or was given back, wrote nothing then.

use std::collections::HashMap;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::clock::Clock;
use super::lease_facts::LeaseFacts;
use ketcd_store::{KeyValue, Revision};

/// The namespace of kubelets' leases, and that of the control plane's leaders.
const OF_NODES: &str = "kube-node-lease";
const OF_LEADERS: &str = "kube-system";
const LEASE_COMPONENTS: [&str; 3] = ["kube-scheduler", "kube-controller-manager", "cloud-controller-manager"];
/// How long a kubelet's lease is good for by default (`nodeLeaseDurationSeconds`), and how often it is renewed: a quarter of that.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(40);
/// How far the clocks of the holder and of the API server may differ, in seconds.
const CLOCK_DOUBT_SECONDS: f64 = 5.0;

/// Leases of nodes and leaders through many revisions.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    /// By namespace and name.
    terms: HashMap<String, Vec<Term>>,
    /// The end of the last gap, in which leases may have changed.
    gap: Revision,
    /// Up to here every change since that gap is known.
    known_to: Revision,
}

#[derive(Clone, Debug)]
struct Term {
    version: KeyValue,
    /// What it says; `None` where it was deleted.
    facts: Option<LeaseFacts>,
    /// Up to this revision it is known to be the last one.
    until: Revision,
}

/// Returns the lease that a key holds, where it is one that says who is alive: its namespace and name.
fn name_of(key: &[u8]) -> Option<String> {
    let mut parts = std::str::from_utf8(key).ok()?.rsplitn(4, '/');
    let (name, namespace, resource) = (parts.next()?, parts.next()?, parts.next()?);
    (resource == "leases" && Leases::tells_who_lives(namespace, name)).then(|| format!("{namespace}/{name}"))
}

impl Leases {
    /// Returns the keys below which such leases lie, below the API server's prefix.
    pub fn places() -> [String; 2] {
        [OF_NODES, OF_LEADERS].map(|namespace| format!("leases/{namespace}/"))
    }

    /// Returns whether the lease of this namespace and name says whether a kubelet or a component of the control plane lives.
    pub fn tells_who_lives(namespace: &str, name: &str) -> bool {
        namespace == OF_NODES || namespace == OF_LEADERS && LEASE_COMPONENTS.contains(&name)
    }

    /// Returns the key of a node's lease, below the API server's prefix.
    pub fn place_of_node(node: &str) -> String {
        format!("leases/{OF_NODES}/{node}")
    }

    /// Takes note of a change, if it is of such a lease: the version written with the object in it, or that of a deletion. Those of a key come in
    /// ascending order.
    pub fn observe(&mut self, version: &KeyValue, object: Option<&Value>) {
        let Some(name) = name_of(&version.key) else { return };
        let terms = self.terms.entry(name).or_default();
        if object.is_some() && terms.last().is_some_and(|last| last.version.mod_revision == version.mod_revision) {
            return;
        }
        let follows = |last: &Term| match object {
            Some(_) => version.follows(&last.version),
            None => last.until > self.gap,
        };
        if let Some(last) = terms.last_mut().filter(|last| follows(last)) {
            last.until = version.mod_revision.before();
        }
        // The bytes are not needed any more, and would keep a received message in memory.
        let version = KeyValue { key: Bytes::new(), value: Bytes::new(), ..version.clone() };
        let until = version.mod_revision;
        terms.push(Term { version, facts: object.and_then(LeaseFacts::of), until });
    }

    /// Takes note that this version of a lease is the last one up to a revision.
    pub fn confirm(&mut self, version: &KeyValue, to: Revision) {
        let last = name_of(&version.key).and_then(|name| self.terms.get_mut(&name)?.last_mut());
        if let Some(last) = last.filter(|last| last.version.mod_revision == version.mod_revision) {
            last.until = last.until.max(to);
        }
    }

    /// Takes note that changes up to a revision are missing.
    pub fn gap(&mut self, to: Revision) {
        self.gap = to;
    }

    /// Takes note that every change was observed from the last gap up to a revision.
    pub fn complete(&mut self, to: Revision) {
        self.known_to = to;
    }

    /// Returns when a node's lease was renewed last up to a revision, by the holder's clock; `None` where that is not known.
    pub fn renewed(&self, node: &str, revision: Revision) -> Option<Timestamp> {
        let terms = self.terms.get(&format!("{OF_NODES}/{node}"))?;
        let next = terms.partition_point(|term| term.version.mod_revision <= revision);
        Some(terms[next.checked_sub(1)?].facts.as_ref()?.renewed)
    }

    /// Whether the kubelet of a node was silent when a revision was written: its lease had run out, and it was not about to be renewed.
    pub(crate) fn lacks_kubelet(&self, node: &str, revision: Revision, clock: &Clock) -> bool {
        self.is_over(&format!("{OF_NODES}/{node}"), revision, clock, Some(GOOD_FOR / 4))
    }

    /// Whether nobody led a component of the control plane when a revision was written.
    pub(crate) fn lacks_leader(&self, component: &str, revision: Revision, clock: &Clock) -> bool {
        self.is_over(&format!("{OF_LEADERS}/{component}"), revision, clock, None)
    }

    /// Whether a lease had run out, or was given back, at a revision by all that is known. A kubelet that is back may write `early` before it renews its
    /// lease at most; a leader takes its lease first.
    fn is_over(&self, name: &str, revision: Revision, clock: &Clock, early: Option<SignedDuration>) -> bool {
        let Some(terms) = self.terms.get(name) else { return false };
        let next = terms.partition_point(|term| term.version.mod_revision <= revision);
        let Some(term) = next.checked_sub(1).map(|last| &terms[last]) else { return false };
        let next = terms.get(next);
        let is_last = next.is_none() && term.until > self.gap;
        let until = if is_last { term.until.max(self.known_to) } else { term.until };
        if revision > until {
            return false;
        }
        if early.is_none() && term.facts.as_ref().is_some_and(|facts| facts.holder.is_empty()) {
            return term.version.mod_revision < revision;
        }
        let Some(written) = clock.date(revision) else { return false };
        let (earliest, latest) = (ago(written.time, written.error), ago(written.time, -written.error));
        let good_for = term.facts.as_ref().map_or(GOOD_FOR, |facts| facts.duration);
        let renewed = match clock.date(term.version.mod_revision).filter(|dated| dated.error <= CLOCK_DOUBT_SECONDS) {
            Some(dated) => Some(ago(dated.time, -dated.error)),
            // By the holder's own clock.
            None => term.facts.as_ref().map(|facts| ago(facts.renewed, -CLOCK_DOUBT_SECONDS)),
        };
        let is_back = next.zip(early).is_some_and(|(next, early)| {
            clock.date(next.version.mod_revision).is_none_or(|dated| ago(dated.time, dated.error).duration_since(latest) <= early)
        });
        renewed.is_some_and(|renewed| earliest.duration_since(renewed) > good_for) && !is_back
    }
}

/// The moment this many seconds before another.
fn ago(time: Timestamp, seconds: f64) -> Timestamp {
    SignedDuration::try_from_secs_f64(seconds).ok().and_then(|seconds| time.checked_sub(seconds).ok()).unwrap_or(time)
}

//! Requests of audit logs that made no change: refused ones, dry runs, writes that changed nothing, and reads, of the objects asked for.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_audit::{Authors, Authorship, Reader, Request, RequestOutcome, Verb};
use ketcd_history::clock::Clock;
use ketcd_kube::Kind;
use ketcd_store::{KeyRange, Revision, RevisionSpan, Until};

use crate::audit::rotation;
use crate::audit::targets::{self, TargetKinds};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;
use crate::read::{Keys, Read, events};

/// How a request relates to what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestScope {
    /// One object.
    Object,
    /// The objects of a resource in a namespace.
    Namespace,
    /// All objects of a resource.
    Cluster,
}

/// A request that made none of the changes.
#[derive(Clone, Debug)]
pub struct OtherRequest {
    /// The request.
    pub request: Request,
    /// What became of it.
    pub outcome: RequestOutcome,
    /// What it is about.
    pub scope: RequestScope,
    /// The key of its object in etcd; of many, what their keys begin with.
    pub key: String,
    /// The object's kind, such as `Pod`; where that is not known, its resource.
    pub kind: String,
    /// The resource with its group, such as `deployments.apps`.
    pub resource: String,
}

/// The most requests that are held at once; the newest are.
const MAX_REQUESTS_HELD: usize = 50_000;

/// How far the moment of a write may be from the times that the log and the data give, in microseconds.
const SLACK_MICROS: i64 = 1_000_000;

impl Cluster {
    /// Returns the requests about `keys` that made none of their changes and that `takes` accepts, by the time they were received, within the stretch of
    /// history that was asked for. The logs are read once more; no more than 50,000 requests are held. `clock` has dated the changes.
    ///
    /// # Errors
    /// The source or a log cannot be read.
    pub async fn other_requests(&self, keys: &Keys, clock: &Clock, takes: impl Fn(&Request) -> bool) -> Result<VecDeque<OtherRequest>> {
        let (prefix, kinds, window) = (self.prefix().await?, self.kinds().await?, self.window().await?);
        let known = KnownChanges::of(self, keys, clock).await?;
        let (since, until) = window.map_or((None, None), |window| (window.since, window.until));
        let [since, until] = [since, until].map(|end| end.and_then(|end| end.time));
        let is_within =
            |request: &Request| since.is_none_or(|since| request.received > since) && until.is_none_or(|until| request.received <= until);
        let (mut of_kinds, mut found) = (TargetKinds::default(), RequestsFound::of(keys));
        let mut reader = Reader::with_open();
        rotation::read(&self.audit.logs, &mut |_, from| {
            // What is wrong with a log was said when its requests were joined to changes.
            let _ = reader.read(from, &mut |request| {
                let kind = of_kinds.of(&request.target, kinds.iter());
                found.see(&request, kind.as_deref());
                let Some((key, scope)) = about(&request, kind.as_deref(), prefix, keys) else { return };
                if !takes(&request) || !is_within(&request) || known.is_author(&request) {
                    return;
                }
                let outcome = request.without_change().unwrap_or_else(|| known.outcome(&request, &key, scope));
                found.add(OtherRequest {
                    outcome,
                    scope,
                    key,
                    kind: kind.as_ref().map_or_else(|| resource(&request), |kind| kind.kind.to_string()),
                    resource: kind.as_ref().map_or_else(|| resource(&request), |kind| kind.resource()),
                    request,
                });
            });
        })?;
        Ok(found.end(self))
    }
}

/// The resource that a request names, with its group.
fn resource(request: &Request) -> String {
    let target = &request.target;
    if target.group.is_empty() { target.resource.to_string() } else { format!("{}.{}", target.resource, target.group) }
}

/// The key that a request is about, or what the keys begin with, where they are among those asked for.
fn about(request: &Request, kind: Option<&Kind>, prefix: &str, keys: &Keys) -> Option<(String, RequestScope)> {
    let target = &request.target;
    if target.resource.is_empty() || kind.is_some_and(|kind| !kind.is_stored()) {
        return None;
    }
    let key = targets::key(prefix, kind, target, (&target.namespace, &target.name));
    if !target.name.is_empty() {
        return keys.contains(key.as_bytes()).then_some((key, RequestScope::Object));
    }
    let collection = KeyRange::prefix(key.as_str());
    // A creation without a name is of an object that is none of those named.
    let is_asked = match request.verb {
        Verb::Create => keys.ranges.iter().any(|range| range.covers(&collection)),
        _ => keys.ranges.iter().any(|range| meet(range, &collection)),
    };
    let scope = if target.namespace.is_empty() { RequestScope::Cluster } else { RequestScope::Namespace };
    is_asked.then_some((key, scope))
}

fn meet(one: &KeyRange, other: &KeyRange) -> bool {
    let begins_before = |one: &KeyRange, other: &KeyRange| other.end.as_ref().is_none_or(|end| one.start < *end);
    begins_before(one, other) && begins_before(other, one)
}

struct KnownChanges<'c> {
    authors: Option<&'c Arc<Authors>>,
    /// Requests that made a change, or may have.
    of_changes: HashSet<u64>,
    clock: &'c Clock,
    /// The revisions that changed each key.
    revisions: BTreeMap<Bytes, Vec<Revision>>,
    span: RevisionSpan,
    /// Whether every change is known: not where the source was made of the logs, nor where a part of the history is missing.
    is_whole: bool,
}

impl<'c> KnownChanges<'c> {
    async fn of(cluster: &'c Cluster, keys: &Keys, clock: &'c Clock) -> Result<Self> {
        let (authors, span) = (cluster.known_authors(), cluster.source.span().await?);
        let (mut revisions, mut is_whole) = (BTreeMap::<Bytes, Vec<Revision>>::new(), !cluster.audit.is_alone);
        let newest = cluster.revision().await?;
        let mut events = pin!(events(cluster, keys.clone(), Until::Revision(newest)));
        while let Some(read) = events.try_next().await? {
            match read {
                Read::Gap { .. } => is_whole = false,
                Read::Item(event) => revisions.entry(event.key_value.key).or_default().push(event.revision),
            }
        }
        let of_changes = authors.map(|authors| authors.requests().map(|request| identity(request)).collect()).unwrap_or_default();
        Ok(Self { authors, of_changes, clock, revisions, span, is_whole })
    }

    fn is_author(&self, request: &Request) -> bool {
        self.of_changes.contains(&identity(request))
    }

    /// What became of a request that was granted and made none of the changes, as far as they show it.
    fn outcome(&self, request: &Request, key: &str, scope: RequestScope) -> RequestOutcome {
        let changed_nothing = match request.names_revision {
            Some(named) => self.is_of_another(named) || self.is_before(Revision(named), request.interval().0),
            None => self.is_whole && self.covers(request) && !self.may_have_made(request, key, scope),
        };
        if changed_nothing { RequestOutcome::NoChange } else { RequestOutcome::Unknown }
    }

    fn is_of_another(&self, revision: i64) -> bool {
        let found = self.authors.and_then(|authors| authors.of(revision, 0));
        matches!(found, Some(Authorship::Exact(_) | Authorship::Attributed(_)))
    }

    /// Whether a revision was written before a moment, in microseconds.
    fn is_before(&self, revision: Revision, moment: i64) -> bool {
        let bounds = self.bounds(revision.max(self.span.oldest));
        bounds.is_some_and(|(_, latest)| latest < moment)
    }

    /// Between which moments a revision was written, in microseconds.
    fn bounds(&self, revision: Revision) -> Option<(i64, i64)> {
        let dated = self.clock.date(revision)?;
        let (time, error) = (dated.time.as_microsecond(), microseconds(dated.error));
        Some((time.saturating_sub(error), time.saturating_add(error)))
    }

    /// Whether the history holds every change of a request's time.
    fn covers(&self, request: &Request) -> bool {
        let (from, to) = request.interval();
        let begins = self.span.compacted.is_none() || self.bounds(self.span.oldest).is_some_and(|(_, latest)| latest < from);
        let newest = self.clock.newest().map(|dated| dated.time.as_microsecond().saturating_sub(microseconds(dated.error)));
        begins && newest.is_some_and(|newest| newest > to)
    }

    /// Whether a change that is of no known request was made at the time of one.
    fn may_have_made(&self, request: &Request, key: &str, scope: RequestScope) -> bool {
        let slack = SLACK_MICROS.saturating_add(self.authors.map_or(0, |authors| microseconds(authors.clocks_differ())));
        let (from, to) = request.interval();
        let is_possible = |revision: &Revision| {
            let is_near = self
                .bounds(*revision)
                .is_none_or(|(earliest, latest)| earliest <= to.saturating_add(slack) && latest >= from.saturating_sub(slack));
            is_near && !self.is_of_another(revision.0)
        };
        let of_keys = self.revisions.range(Bytes::copy_from_slice(key.as_bytes())..);
        let is_meant =
            |of_key: &[u8]| if scope == RequestScope::Object { of_key == key.as_bytes() } else { of_key.starts_with(key.as_bytes()) };
        of_keys.take_while(|(of_key, _)| is_meant(of_key)).any(|(_, revisions)| revisions.iter().any(is_possible))
    }
}

fn microseconds(seconds: f64) -> i64 {
    const MICROS_PER_SECOND: f64 = 1e6;
    #[expect(clippy::cast_possible_truncation, reason = "a bound of a time; larger ones saturate")]
    let microseconds = (seconds * MICROS_PER_SECOND).ceil() as i64;
    microseconds
}

/// A number for a request: the same of copies of it.
fn identity(request: &Request) -> u64 {
    let mut hasher = DefaultHasher::new();
    let target = &request.target;
    (&request.audit_id, &request.user, request.verb, request.interval()).hash(&mut hasher);
    (&target.resource, &target.namespace, &target.name, &target.subresource).hash(&mut hasher);
    hasher.finish()
}

/// What was found so far.
struct RequestsFound {
    /// By time; of copies of a request one.
    requests: BTreeMap<(Timestamp, Timestamp, u64), OtherRequest>,
    is_cut: bool,
    /// Resources asked for, and whether any of their objects was read.
    read: HashMap<String, bool>,
}

impl RequestsFound {
    fn of(keys: &Keys) -> Self {
        let asked = keys.addresses.iter().filter_map(|address| Some((address.kind()?.resource(), false)));
        Self { requests: BTreeMap::new(), is_cut: false, read: asked.collect() }
    }

    /// Notes whether objects of a resource asked for are read.
    fn see(&mut self, request: &Request, kind: Option<&Kind>) {
        let is_read = matches!(request.verb, Verb::Get | Verb::List | Verb::Watch) && request.target.subresource.is_empty();
        if let (true, Some(kind)) = (is_read, kind)
            && let Some(read) = self.read.get_mut(&kind.resource())
        {
            *read = true;
        }
    }

    fn add(&mut self, other: OtherRequest) {
        self.requests.insert((other.request.received, other.request.completed, identity(&other.request)), other);
        if self.requests.len() > MAX_REQUESTS_HELD {
            self.requests.pop_first();
            self.is_cut = true;
        }
    }

    /// Ends, and notes what is not shown.
    fn end(mut self, cluster: &Cluster) -> VecDeque<OtherRequest> {
        let has_ended = |other: &&OtherRequest| !other.request.is_open;
        let ended: HashSet<Box<str>> = self.requests.values().filter(has_ended).map(|other| other.request.audit_id.clone()).collect();
        self.requests.retain(|_, other| !other.request.is_open || !ended.contains(&other.request.audit_id));
        let mut unread: Vec<String> = self.read.into_iter().filter(|(_, is_read)| !is_read).map(|(resource, _)| resource).collect();
        unread.sort();
        if !unread.is_empty() {
            cluster.note(Notice::AuditWithoutReads { resources: unread });
        }
        if let Some((&(from, ..), _)) = self.requests.first_key_value().filter(|_| self.is_cut) {
            cluster.note(Notice::RequestsLeftOut { most: MAX_REQUESTS_HELD, from });
        }
        self.requests.into_values().collect()
    }
}

//! Every event with the version before it, as both are stored, looked at on all cores before anything is dated: for questions that few changes answer.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_history::clock::Clock;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{AttributedChange, EventPair, Follower};
use ketcd_kube::{Body, Decoder};
use ketcd_store::{Event, EventKind, KeyValue, Revision, Until};

use super::changes::{Read, events, follow, follower};
use super::history::{Found, decoded, stored_bytes};
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::Result;

/// Fewer changes are not worth a thread.
const MIN_CHANGES_PER_THREAD: usize = 16;

/// What decodes the values of one event, and keeps what is to be reported of them.
pub(crate) struct Reporting<'d> {
    decoder: &'d Decoder,
    found: Vec<Found>,
}

impl Reporting<'_> {
    /// Decodes a version.
    pub(crate) fn decode(&mut self, KeyValue { key, value, mod_revision, .. }: &KeyValue) -> Body {
        let decoded = self.decoder.decode(key, value, mod_revision.0);
        let problems = match &decoded.body {
            Body::Object(_) => Ok(decoded.unknown_fields),
            Body::Opaque(opaque) => Err(opaque.clone()),
        };
        self.found.push((mod_revision.0, problems));
        decoded.body
    }

    /// The decoder itself, for what is not reported.
    pub(crate) fn decoder(&self) -> &Decoder {
        self.decoder
    }
}

/// Makes something of each event of `keys` up to a revision on all cores, in their order. What `make` decodes is reported.
pub(crate) fn pairs_on_cores<'c, T: Send + 'static>(
    cluster: &'c Cluster,
    keys: Keys,
    until: Revision,
    make: impl Fn(EventPair, &mut Reporting<'_>) -> T + Send + Sync + 'static,
) -> BoxStream<'c, Result<Read<T>>> {
    let mut follower = follower(cluster);
    let read = events(cluster, keys, Until::Revision(until));
    let pairs = read.map_ok(move |read| follow(&mut follower, read, Follower::pair).map(|pair| (pair, ())));
    let decoder = cluster.decoder.clone();
    let made = move |read: Read<(EventPair, ())>| {
        read.map(|(pair, ())| {
            let key = pair.event.key_value.key.clone();
            let mut reporting = Reporting { decoder: &decoder, found: Vec::new() };
            let made = make(pair, &mut reporting);
            (key, made, reporting.found)
        })
    };
    let reported = move |read: Read<(bytes::Bytes, T, Vec<Found>)>| {
        read.map(|(key, made, found)| {
            found.iter().for_each(|(revision, found)| cluster.reporting_decoder.report(&key, *revision, found));
            made
        })
    };
    cores::in_order_ahead(pairs, stored_bytes, made).map_ok(reported).boxed()
}

/// Dates changes and finds who made them, on all cores, in their order. They are all that the clock is asked for, so that a long history is dated where
/// they are. `make` keeps what is needed of each.
///
/// # Errors
/// The source cannot be read.
pub(crate) async fn attributed<T: Send>(
    cluster: &Cluster,
    pairs: &[EventPair],
    make: impl Fn(AttributedChange) -> T + Sync,
) -> Result<Vec<T>> {
    let events: Vec<&Event> = pairs.iter().map(|pair| &pair.event).collect();
    let revisions: Vec<Revision> = events.iter().map(|event| event.revision).collect();
    let versions: Vec<KeyValue> = events.iter().filter(|event| event.kind == EventKind::Put).map(|event| event.key_value.clone()).collect();
    let clock: Arc<Clock> = cluster.clock_of_writers(&revisions, &versions, &events).await?;
    let change = |pair: &EventPair| {
        let (change, ..) = decoded(pair.clone(), &cluster.decoder, Some(ManagedFields::Hidden));
        make(AttributedChange::new(change, &clock))
    };
    Ok(cores::in_order(pairs, MIN_CHANGES_PER_THREAD, change))
}

//! Every event with the version before it, as both are stored, looked at on all cores before anything is dated: for questions that few changes answer.

use std::future::ready;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_history::clock::Clock;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{AttributedChange, EventPair, Problems};
use ketcd_kube::{Body, Decoded, Decoder, FieldSet, SearchedText};
use ketcd_store::{Event, EventKind, KeyValue, Revision, Until};

use super::changes::{Followed, Read, events, pairs};
use super::depth::Depth;
use super::history::{History, stored_bytes};
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::Result;

/// What decodes the values of one event, and keeps what is to be reported of them.
pub(crate) struct Reporting<'d> {
    decoder: &'d Decoder,
    found: Vec<(i64, Problems)>,
}

impl<'d> Reporting<'d> {
    /// Nothing is decoded yet.
    pub(super) fn of(decoder: &'d Decoder) -> Self {
        Self { decoder, found: Vec::new() }
    }

    /// What is to be reported, with the revision of each value.
    pub(super) fn found(self) -> Vec<(i64, Problems)> {
        self.found
    }

    /// Decodes these members of a version.
    pub(crate) fn decode_only(&mut self, KeyValue { key, value, mod_revision, .. }: &KeyValue, fields: &FieldSet) -> Body {
        self.note(self.decoder.only(fields).decode(key, value, mod_revision.0), mod_revision.0)
    }

    /// Decodes what of a version may show a text; `None` where its bytes show that none does.
    pub(crate) fn decode_showing(&mut self, KeyValue { key, value, mod_revision, .. }: &KeyValue, text: &SearchedText) -> Option<Body> {
        text.decode(self.decoder, key, value, mod_revision.0).map(|decoded| self.note(decoded, mod_revision.0))
    }

    fn note(&mut self, decoded: Decoded, revision: i64) -> Body {
        let Decoded { body, unknown_fields, .. } = decoded;
        match &body {
            Body::Object(_) if unknown_fields.is_empty() => {}
            Body::Object(_) => self.found.push((revision, Ok(unknown_fields))),
            Body::Opaque(opaque) => self.found.push((revision, Err(opaque.clone()))),
        }
        body
    }
}

/// Makes something of each event of `keys` up to a revision on all cores, in their order. What `make` decodes is reported.
pub(crate) fn pairs_on_cores<'c, T: Send + 'static>(
    cluster: &'c Cluster,
    keys: Keys,
    until: Revision,
    make: impl Fn(EventPair, &mut Reporting<'_>) -> T + Send + Sync + 'static,
) -> BoxStream<'c, Result<Read<T>>> {
    let pair = |read: Read<Followed>| match read {
        Read::Item(Followed::Pair(pair)) => Some(Read::Item(pair)),
        Read::Item(Followed::LeftOut(_)) => None,
        Read::Gap { from, to } => Some(Read::Gap { from, to }),
    };
    let pairs = pairs(cluster, events(cluster, keys, Until::Revision(until)), false, |_| false);
    let pairs = pairs.try_filter_map(move |read| ready(Ok(pair(read))));
    let decoder = cluster.decoder.clone();
    let made = move |read: Read<Box<EventPair>>| {
        read.map(|pair| {
            let key = pair.event.key_value.key.clone();
            let mut reporting = Reporting::of(&decoder);
            let made = make(*pair, &mut reporting);
            (key, made, reporting.found())
        })
    };
    let bytes = |read: &Read<Box<EventPair>>| if let Read::Item(pair) = read { stored_bytes(pair) } else { 0 };
    let reported = move |read: Read<(bytes::Bytes, T, Vec<(i64, Problems)>)>| {
        read.map(|(key, made, found)| {
            found.iter().for_each(|(revision, found)| cluster.reporting_decoder.report(&key, *revision, found));
            made
        })
    };
    cores::in_order_ahead(pairs, bytes, made).map_ok(reported).boxed()
}

/// The clock that dates changes as closely as the data allow: they are all that it is asked for, so that a long history is dated where they are.
pub(crate) async fn clock_of_pairs(cluster: &Cluster, pairs: &[EventPair]) -> Result<Arc<Clock>> {
    let events: Vec<&Event> = pairs.iter().map(|pair| &pair.event).collect();
    let revisions: Vec<Revision> = events.iter().map(|event| event.revision).collect();
    let versions: Vec<KeyValue> = events.iter().filter(|event| event.kind == EventKind::Put).map(|event| event.key_value.clone()).collect();
    cluster.clock_of_writers(&revisions, &versions, &events).await
}

/// Dates changes and finds who made them, on all cores, in their order. `make` keeps what is needed of each; nothing is reported.
pub(crate) async fn attributed<T: Send + 'static>(
    cluster: &Cluster,
    pairs: Vec<EventPair>,
    clock: Arc<Clock>,
    make: impl Fn(AttributedChange) -> T + Send + Sync + 'static,
) -> Result<Vec<T>> {
    let history =
        History::of_pairs(cluster, pairs, clock).decoded_by(cluster.decoder.clone()).decoded_to(Depth::Text(ManagedFields::Hidden));
    let made = history.on_cores(move |change, _, _| make(change));
    let made = made.try_filter_map(|read| ready(Ok(if let Read::Item((_, made)) = read { made } else { None })));
    made.try_collect().await
}

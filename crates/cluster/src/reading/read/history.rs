//! The changes of some keys, each with its time and its author: decoded on all cores, in their order, and handed over when they come.

use std::future::ready;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt, TryStreamExt};

use ketcd_history::clock::{Clock, Dated};
use ketcd_history::{AttributedChange, EventPair, PrevVersion, Problems, Recent, SharedVersion};
use ketcd_kube::Decoder;
use ketcd_store::{At, Event, EventKind, KeyValue, Revision, Until};

use super::arrivals::Arrivals;
use super::changes::{Followed, Read, events, events_from, knows_before, pairs};
use super::depth::Depth;
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::{Error, Result};
use crate::kinds::KeySubject;

/// Decoded objects take several times as much memory as the stored ones.
const STORED_BYTES_OF_OBJECTS: usize = 4;

/// The changes of some keys, of which nothing is decoded yet.
pub struct History<'c> {
    cluster: &'c Cluster,
    pairs: BoxStream<'c, Result<Read<Followed>>>,
    clock: Arc<Clock>,
    arrivals: Option<Arrivals>,
    /// Gaps that end before this revision, or with it, do not count.
    after: Revision,
    depth: Depth,
    decoder: Decoder,
}

/// What was made of each change, with its event; `None` for a change that was left out.
pub type Made<'c, T> = BoxStream<'c, Result<Read<(Event, Option<T>)>>>;

impl Cluster {
    /// Returns every readable change of what an address names (`pod/shop/web-0`, `pods`, a raw key) up to the revision looked at, oldest first, with
    /// its time and its author. Revisions that cannot be read are gaps.
    pub fn changes(&self, address: &str) -> BoxStream<'_, Result<Read<AttributedChange>>> {
        let words = [address.to_owned()];
        let begun = async move {
            let keys = Keys::of(self, &words).await?;
            Ok::<_, Error>(self.history(keys, self.revision().await?).await?.changes())
        };
        stream::once(begun).try_flatten().boxed()
    }

    /// Returns the history of keys up to a revision. Of single objects all events are read first, so that a long history is dated where they changed.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn history(&self, keys: Keys, until: Revision) -> Result<History<'_>> {
        let (events, clock) = self.dated_events(keys, until).await?;
        Ok(History::of_events(self, events, clock, |_| false))
    }

    /// The same, of which only the changes after [`Cluster::since`] count: the others are left out, with the gaps between them.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn counted_history(&self, keys: Keys, until: Revision) -> Result<History<'_>> {
        let (events, clock) = self.dated_events(keys, until).await?;
        let after = self.counted_after();
        Ok(History { after, ..History::of_events(self, events, clock, move |event| event.revision <= after) })
    }

    async fn dated_events(&self, keys: Keys, until: Revision) -> Result<(BoxStream<'_, Result<Read<Event>>>, Arc<Clock>)> {
        let keys = Keys { to_newest: self.at == At::Newest, ..keys };
        if !keys.are_whole() {
            let clock = self.clock_of_writers(&[], &[], &[]).await?;
            return Ok((events(self, keys, Until::Revision(until)).boxed(), clock));
        }
        let read: Vec<Read<Event>> = events(self, keys, Until::Revision(until)).try_collect().await?;
        let events = || read.iter().filter_map(|read| if let Read::Item(event) = read { Some(event) } else { None });
        let revisions: Vec<Revision> = events().map(|event| event.revision).collect();
        let versions: Vec<KeyValue> = events().filter(|event| event.kind == EventKind::Put).map(|event| event.key_value.clone()).collect();
        let clock = self.clock_of_writers(&revisions, &versions, &events().collect::<Vec<_>>()).await?;
        Ok((stream::iter(read.into_iter().map(Ok)).boxed(), clock))
    }
}

impl<'c> History<'c> {
    /// What these events changed, dated by a clock; of those that `leaves_out` nothing is read or decoded.
    pub(crate) fn of_events(
        cluster: &'c Cluster,
        events: impl Stream<Item = Result<Read<Event>>> + Send + 'c,
        clock: Arc<Clock>,
        leaves_out: impl Fn(&Event) -> bool + Send + 'c,
    ) -> Self {
        Self::new(cluster, pairs(cluster, events, false, leaves_out), clock)
    }

    /// What these events changed, each with the version before it.
    pub(crate) fn of_pairs(cluster: &'c Cluster, pairs: Vec<EventPair>, clock: Arc<Clock>) -> Self {
        let pairs = pairs.into_iter().map(|pair| Ok(Read::Item(Followed::Pair(Box::new(pair)))));
        Self::new(cluster, stream::iter(pairs).boxed(), clock)
    }

    /// The changes from a revision on, of which those that arrive are dated by their arrival.
    pub(crate) async fn arriving(
        cluster: &'c Cluster,
        keys: Keys,
        (from, until): (Revision, Until),
        clock: Arc<Clock>,
        arrivals: Arrivals,
    ) -> Result<Self> {
        let knows_before = knows_before(cluster, from).await?;
        let pairs = pairs(cluster, events_from(cluster, keys, from, until), knows_before, |_| false);
        Ok(Self { arrivals: Some(arrivals), ..Self::new(cluster, pairs, clock) })
    }

    fn new(cluster: &'c Cluster, pairs: BoxStream<'c, Result<Read<Followed>>>, clock: Arc<Clock>) -> Self {
        let decoder = cluster.reporting_decoder.clone();
        Self { cluster, pairs, clock, arrivals: None, after: Revision(0), depth: Depth::Whole, decoder }
    }

    /// Decodes objects as `decoder` does.
    #[must_use]
    pub fn decoded_by(self, decoder: Decoder) -> Self {
        Self { decoder, ..self }
    }

    /// Decodes objects no further than this.
    #[must_use]
    pub fn decoded_to(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// When revisions were written, and who was alive.
    pub fn clock(&self) -> Arc<Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns every change, oldest first, and the gaps between them.
    pub fn changes(self) -> BoxStream<'c, Result<Read<AttributedChange>>> {
        let made = self.on_cores(|change, _, _| change);
        let change = |read: Read<(Event, Option<AttributedChange>)>| match read {
            Read::Item((_, change)) => change.map(Read::Item),
            Read::Gap { from, to } => Some(Read::Gap { from, to }),
        };
        made.try_filter_map(move |read| ready(Ok(change(read)))).boxed()
    }

    /// Makes something of each change on all cores, in their order. `make` also gets the object, where it is named, and its JSON after the change, where
    /// it was decoded as text.
    pub fn on_cores<T: Send + 'static>(
        self,
        make: impl Fn(AttributedChange, &KeySubject, Option<&[u8]>) -> T + Send + Sync + 'static,
    ) -> Made<'c, T> {
        let Self { cluster, pairs, clock, mut arrivals, after, depth, decoder } = self;
        let (quiet, mut recent) = (decoder.clone().with_observer(None), Recent::default());
        let steps = pairs.try_filter(move |read| ready(read.counts(after))).and_then(move |read| {
            let read = read.map(|followed| {
                let mut step = HistoryStep { followed, shared: [None, None], subject: KeySubject::default(), arrival: None };
                if let Followed::Pair(pair) = &step.followed {
                    step.arrival = arrivals.as_mut().and_then(|arrivals| arrivals.date(cluster, pair.event.revision));
                    step.shared = if depth.shares() { recent.of(pair) } else { [None, None] };
                }
                step
            });
            async move {
                let mut read = read;
                if let Read::Item(HistoryStep { followed: Followed::Pair(pair), subject, .. }) = &mut read
                    && depth.names()
                {
                    *subject = cluster.subject_of(&pair.event.key_value.key).await?;
                }
                Ok(read)
            }
        });
        let made = move |read: Read<HistoryStep>| {
            read.map(|HistoryStep { followed, shared, subject, arrival }| match followed {
                Followed::LeftOut(event) => (event, None, Vec::new()),
                Followed::Pair(pair) => {
                    let event = pair.event.clone();
                    let (change, text, found) = depth.decoded(*pair, &shared, &quiet);
                    let change = match arrival {
                        Some(dated) => AttributedChange::arriving(change, dated),
                        None => AttributedChange::new(change, &clock),
                    };
                    (event, Some(make(change, &subject, text.as_deref())), found)
                }
            })
        };
        let reported = move |read: Read<(Event, Option<T>, Vec<(i64, Problems)>)>| {
            read.map(|(event, made, found)| {
                found.iter().for_each(|(revision, found)| decoder.report(&event.key_value.key, *revision, found));
                (event, made)
            })
        };
        let weight = if matches!(depth, Depth::Text(_)) { 1 } else { STORED_BYTES_OF_OBJECTS };
        let bytes = move |read: &Read<HistoryStep>| match read {
            Read::Item(HistoryStep { followed: Followed::Pair(pair), .. }) => stored_bytes(pair) * weight,
            _ => 0,
        };
        cores::in_order_ahead(steps, bytes, made).map_ok(reported).boxed()
    }
}

/// An event on its way to what is made of it.
struct HistoryStep {
    followed: Followed,
    /// The versions before and after it, where other changes need them too.
    shared: [Option<Arc<SharedVersion>>; 2],
    subject: KeySubject,
    /// When it arrived, if it has just arrived.
    arrival: Option<Dated>,
}

/// How many stored bytes a change holds on its way.
pub(super) fn stored_bytes(pair: &EventPair) -> usize {
    let before = if let PrevVersion::Version(last) = &pair.prev { last.value.len() } else { 0 };
    before + pair.event.key_value.value.len()
}

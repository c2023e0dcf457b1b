//! Reads a source's events and changes: all that is readable of some keys, oldest first, with their gaps.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use async_stream::try_stream;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};

use ketcd_history::clock::Clock;
use ketcd_history::{Change, Follower};
use ketcd_kube::{Address, Body, Decoder};
use ketcd_store::{
    At, Error as StoreError, Event, EventKind, KeyRange, KeyValue, Lives, Origin, Revision, RevisionSpan, Source, Unsearched, Until, Want,
    WatchItem,
};

use super::output::note;
use super::session::Session;
use super::{Error, Result};

/// The keys that a command is about.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Each key or prefix asked for.
    pub ranges: Vec<KeyRange>,
    /// Whether they can be of several objects.
    pub many: bool,
    /// What was asked for; empty where it is everything.
    pub addresses: Vec<Address>,
    /// Those of single keys that are read beside what was asked for, and revisions at which they were alive: of these the last life counts.
    pub beside: BTreeMap<Vec<u8>, Vec<Revision>>,
    /// Whether the newest revision is only where the reading ends: where a compaction overtakes it, what is there after that is wanted.
    pub to_newest: bool,
}

impl Keys {
    /// The keys of many objects, which no address names.
    pub(super) fn many(ranges: Vec<KeyRange>) -> Self {
        Self { ranges, many: true, addresses: Vec::new(), beside: BTreeMap::new(), to_newest: false }
    }

    /// Every key.
    pub(super) fn all() -> Self {
        Self::many(vec![KeyRange::all()])
    }

    /// The keys that addresses name.
    ///
    /// # Errors
    /// An address that cannot be read.
    pub(super) async fn of(session: &Session, addresses: &[String]) -> Result<Self> {
        let prefix = session.prefix().await?;
        let mut ranges = Vec::new();
        let mut many = false;
        let mut asked = Vec::new();
        for address in session.addresses(addresses).await? {
            let (key, whole) = address.key(prefix);
            many |= !whole;
            ranges.push(if whole { KeyRange::key(key) } else { KeyRange::prefix(key) });
            asked.push(address);
        }
        many |= ranges.len() > 1;
        Ok(Self { ranges, many, addresses: asked, beside: BTreeMap::new(), to_newest: false })
    }

    /// The ranges without those that others hold, ascending.
    pub(super) fn apart(&self) -> Vec<KeyRange> {
        let mut ranges = self.ranges.clone();
        ranges.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| b.end.is_none().cmp(&a.end.is_none())).then_with(|| b.end.cmp(&a.end)));
        let mut apart: Vec<KeyRange> = Vec::new();
        for range in ranges {
            match apart.last_mut().filter(|last| last.contains(&range.start)) {
                None => apart.push(range),
                Some(last) => {
                    if last.end.is_some() && range.end.as_ref().is_none_or(|end| Some(end) > last.end.as_ref()) {
                        last.end = range.end;
                    }
                }
            }
        }
        apart
    }

    /// Whether each is one key, not the beginning of many.
    pub(super) fn are_whole(&self) -> bool {
        self.ranges.iter().all(|range| *range == KeyRange::key(&range.start[..]))
    }

    /// Whether a key is among them.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.ranges.iter().any(|range| range.contains(key))
    }
}

/// What a reading of events brings.
pub(super) enum Read<T> {
    /// An event, or the change it made.
    Item(T),
    /// Revisions of which nothing can be read, both ends included.
    Gap {
        /// The first.
        from: Revision,
        /// The last.
        to: Revision,
    },
}

/// Every readable event of `keys` up to `until`, oldest first. Where the source's own history begins after a compaction, the versions
/// that survived it come first, as they are the oldest that can be read; those that survived a later one come with its gap.
pub(super) fn events<'a>(source: &'a dyn Source, keys: Keys, until: Until) -> impl Stream<Item = Result<Read<Event>>> + Send + 'a {
    try_stream! {
        let mut span = source.span().await?;
        let mut items = items(source, &keys, until, span).await?;
        let mut begun = false;
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Event(event) if keys.contains(&event.key_value.key) => {
                    begun = true;
                    yield Read::Item(event);
                }
                WatchItem::Gap { from, mut to } => {
                    let mut last = to;
                    let is_overtaken = keys.to_newest && matches!(until, Until::Revision(end) if to >= end);
                    if (!begun || source.is_shared()) && (is_overtaken || to.after() >= span.oldest) {
                        // A compaction since then has moved the begin of what is readable.
                        span = source.span().await?;
                        let (at, survivors) = alive(source, &keys, span.oldest, Want::Values).await?;
                        if is_overtaken {
                            to = to.max(at.before());
                            last = last.max(at);
                        }
                        for entry in survivors.into_iter().filter(|entry| entry.mod_revision >= from && entry.mod_revision <= last) {
                            yield Read::Item(Event { revision: entry.mod_revision, sub_revision: 0, kind: EventKind::Put, key_value: entry, origin: Origin::Live });
                        }
                    }
                    yield Read::Gap { from, to };
                }
                WatchItem::Event(_) | WatchItem::Progress(_) => {}
            }
        }
    }
}

/// So many keys are read one by one where a watch costs a live etcd its whole history.
const ONE_BY_ONE: usize = 2_000;

/// A watch of `keys`; of a live etcd that would have to read a long history for it, the histories of the keys.
async fn items<'a>(source: &'a dyn Source, keys: &Keys, until: Until, span: RevisionSpan) -> Result<BoxStream<'a, Result<WatchItem>>> {
    let one_by_one = keys.are_whole() && keys.ranges.len() <= ONE_BY_ONE && (source.is_shared() || !keys.beside.is_empty());
    let until = match until {
        Until::Revision(until) if one_by_one => until,
        _ => return Ok(source.watch_ranges(keys.apart(), Revision(1), until).map_err(Error::from).boxed()),
    };
    let mut found = Vec::new();
    let mut gaps: BTreeMap<Revision, Revision> = BTreeMap::new();
    for key in &keys.ranges {
        let lives = match keys.beside.get(&key.start) {
            Some(alive_at) => Lives::Last(alive_at.clone()),
            None if span.newest.0 - span.oldest.0 > FEW => Lives::All(alive_at(source, &key.start, span).await?),
            None => Lives::All(Vec::new()),
        };
        let history = source.key_history(key.start.clone(), until, lives).await?;
        let mut items = history.items;
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Gap { from, to } => {
                    gaps.entry(from).and_modify(|known| *known = to.max(*known)).or_insert(to);
                }
                WatchItem::Event(event) => found.push(event),
                WatchItem::Progress(_) => {}
            }
        }
        if let Some(unsearched) = history.unsearched.filter(|_| !is_generated(&key.start, &found)) {
            note(&unsearched_words(&key.start, unsearched));
        }
    }
    // What a compaction took while other keys were read is not there for any of them.
    found.retain(|event| gaps.range(..=event.revision).all(|(_, to)| event.revision > *to));
    let gaps = gaps.into_iter().map(|(from, to)| (from, WatchItem::Gap { from, to }));
    let mut items: Vec<(Revision, WatchItem)> =
        gaps.chain(found.into_iter().map(|event| (event.revision, WatchItem::Event(event)))).collect();
    items.sort_by_key(|(revision, _)| *revision);
    Ok(futures_util::stream::iter(items.into_iter().map(|(_, item)| Ok(item))).boxed())
}

/// A history of no more revisions needs no hints where a key may have been alive.
const FEW: i64 = 5_000;

/// Revisions at which an object may have been alive: those at which Events about it were written.
async fn alive_at(source: &dyn Source, key: &[u8], span: RevisionSpan) -> Result<Vec<Revision>> {
    let text = String::from_utf8_lossy(key);
    let mut parts = text.rsplitn(3, '/');
    let (Some(name), Some(namespace), Some(kind)) = (parts.next(), parts.next(), parts.next()) else { return Ok(Vec::new()) };
    let Some((prefix, _)) = kind.rsplit_once('/') else { return Ok(Vec::new()) };
    let events = KeyRange::prefix(format!("{prefix}/events/{namespace}/{name}."));
    let mut found = Vec::new();
    for at in [span.newest, span.oldest] {
        let entries = match all(source, events.clone(), at, Want::Keys).await {
            Err(error) if error.is_denied() => return Ok(Vec::new()),
            Err(StoreError::Compacted { .. }) => continue,
            entries => entries?,
        };
        found.extend(entries.iter().flat_map(|entry| [entry.create_revision, entry.mod_revision]));
    }
    Ok(found)
}

/// Whether the API server chose the object's name at random: then no other ever had it.
fn is_generated(key: &[u8], found: &[Event]) -> bool {
    let version = found.iter().rev().find(|event| event.kind == EventKind::Put && event.key_value.key == key);
    version.is_some_and(|Event { key_value: version, .. }| {
        let decoded = Decoder::new().decode(&version.key, &version.value, version.mod_revision.0);
        decoded.object().is_some_and(|object| object["metadata"]["generateName"].is_string())
    })
}

fn unsearched_words(key: &[u8], unsearched: Unsearched) -> String {
    format!(
        "{}: between revisions {} and {} not each was looked at: a life of it that lasted for no more than {} revisions was not seen",
        String::from_utf8_lossy(key),
        unsearched.from,
        unsearched.to,
        unsearched.longest
    )
}

/// The Events about an object of a long history, and revisions at which they were there.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn event_keys(
    session: &Session,
    namespace: &str,
    name: &str,
    newest: Revision,
) -> Result<BTreeMap<Vec<u8>, Vec<Revision>>> {
    let below = KeyRange::prefix(format!("{}/events/{namespace}/{name}.", session.prefix().await?));
    let mut found: BTreeMap<Vec<u8>, Vec<Revision>> = BTreeMap::new();
    for look in looks(session.source.span().await?.oldest, newest) {
        let entries = match all(session.source.as_ref(), below.clone(), look, Want::Keys).await {
            Err(error) if error.is_denied() => {
                session.refused.miss(&below);
                break;
            }
            // A compaction came between.
            Err(StoreError::Compacted { .. }) => continue,
            entries => entries?,
        };
        for entry in entries {
            found.entry(entry.key.to_vec()).or_default().push(look);
        }
    }
    Ok(found)
}

/// Revisions of a long history, the newest first, at which is looked for what is not there any more.
pub(super) fn looks(oldest: Revision, newest: Revision) -> Vec<Revision> {
    const LOOKS: i64 = 5;
    let step = (newest.0 - oldest.0) / (LOOKS - 1);
    (0..LOOKS).map(|look| Revision((newest.0 - look * step).max(oldest.0))).collect()
}

/// All entries of a range at a revision.
///
/// # Errors
/// The source cannot be read, or the revision not any more.
pub(super) async fn all(source: &dyn Source, keys: KeyRange, at: Revision, want: Want) -> Result<Vec<KeyValue>, StoreError> {
    source.range(keys, At::Revision(at), want).await?.entries.try_collect().await
}

/// The entries alive at a revision, in order of their last writes; where compactions come between, at the oldest that is left.
async fn alive(source: &dyn Source, keys: &Keys, at: Revision, want: Want) -> Result<(Revision, Vec<KeyValue>)> {
    let (mut at, ranges) = (at, keys.apart());
    'again: loop {
        let mut entries = Vec::new();
        for range in &ranges {
            match all(source, range.clone(), at, want).await {
                Err(StoreError::Compacted { oldest, .. }) if oldest > at => {
                    at = oldest;
                    continue 'again;
                }
                found => entries.extend(found?),
            }
        }
        entries.sort_by_key(|entry| entry.mod_revision);
        return Ok((at, entries));
    }
}

/// The names of the keys alive at a revision: what is not among them is gone, whether or not its deletion can be read.
pub(super) async fn alive_names(session: &Session, keys: &Keys, at: Revision) -> Result<HashSet<Bytes>> {
    let (_, entries) = alive(session.source.as_ref(), keys, at, Want::Keys).await?;
    Ok(entries.into_iter().map(|entry| entry.key).collect())
}

/// Every readable change of `keys` up to `until`, oldest first.
pub(super) fn changes<'a>(session: &'a Session, keys: Keys, until: Until) -> BoxStream<'a, Result<Read<Change>>> {
    let mut follower = Follower::new(decoding(session));
    let read = events(session.source.as_ref(), keys, until);
    read.map_ok(move |read| follow(&mut follower, read)).boxed()
}

/// Every readable change of `keys` up to `until`, oldest first, with the clock that dates them. Of single objects all is read beforehand, so that a long
/// history is dated where they changed.
pub(super) async fn dated_changes(
    session: &Session,
    keys: Keys,
    until: Revision,
) -> Result<(BoxStream<'_, Result<Read<Change>>>, Arc<Clock>)> {
    let keys = Keys { to_newest: session.at == At::Newest, ..keys };
    if !keys.are_whole() {
        let clock = session.clock_around(&[], &[]).await?;
        return Ok((changes(session, keys, Until::Revision(until)), clock));
    }
    let read: Vec<Read<Event>> = events(session.source.as_ref(), keys, Until::Revision(until)).try_collect().await?;
    let events = || read.iter().filter_map(|read| if let Read::Item(event) = read { Some(event) } else { None });
    let revisions: Vec<Revision> = events().map(|event| event.revision).collect();
    let versions: Vec<KeyValue> = events().filter(|event| event.kind == EventKind::Put).map(|event| event.key_value.clone()).collect();
    let clock = session.clock_around(&revisions, &versions).await?;
    let mut follower = Follower::new(decoding(session));
    let changes = read.into_iter().map(move |read| Ok(follow(&mut follower, read)));
    Ok((futures_util::stream::iter(changes).boxed(), clock))
}

/// Every change of `keys` from revision `from` on; what was alive before it is known, so that the first changes have their patches too.
pub(super) async fn changes_from<'a>(
    session: &'a Session,
    keys: Keys,
    from: Revision,
    until: Until,
) -> Result<BoxStream<'a, Result<Read<Change>>>> {
    let source = session.source.as_ref();
    let mut follower = Follower::new(decoding(session));
    let span = source.span().await?;
    let is_readable = from > span.oldest && from <= span.newest.after();
    if is_readable && !source.is_shared() {
        let (_, before) = alive(source, &keys, from.before(), Want::Values).await?;
        for entry in before.into_iter().filter(|entry| entry.mod_revision < from) {
            follower.seed(entry, Origin::Live);
        }
    }
    Ok(Box::pin(try_stream! {
        let mut items = source.watch_ranges(keys.apart(), from, until);
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Event(event) if keys.contains(&event.key_value.key) => {
                    // Of a live etcd's keys, which may be many, only those that change are read.
                    if is_readable && source.is_shared() && event.key_value.version != 1 && !follower.knows(&event.key_value.key) {
                        version_before(source, &event).await?.into_iter().for_each(|before| drop(follower.seed(before, Origin::Live)));
                    }
                    yield follow(&mut follower, Read::Item(event));
                }
                WatchItem::Gap { from, to } => yield follow(&mut follower, Read::Gap { from, to }),
                WatchItem::Event(_) | WatchItem::Progress(_) => {}
            }
        }
    }))
}

/// The version that a change replaced, if it is readable.
async fn version_before(source: &dyn Source, event: &Event) -> Result<Option<KeyValue>> {
    let key = KeyRange::key(event.key_value.key.to_vec());
    match source.first(key, At::Revision(event.revision.before()), Want::Values, 1).await {
        Err(ketcd_store::Error::Compacted { .. }) => Ok(None),
        found => Ok(found?.pop()),
    }
}

fn follow<D: Fn(&KeyValue) -> Body>(follower: &mut Follower<D>, read: Read<Event>) -> Read<Change> {
    match read {
        Read::Item(event) => Read::Item(follower.change(event)),
        Read::Gap { from, to } => {
            follower.gap(to);
            Read::Gap { from, to }
        }
    }
}

fn decoding(session: &Session) -> impl Fn(&KeyValue) -> Body + Send + '_ {
    |entry| session.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body
}

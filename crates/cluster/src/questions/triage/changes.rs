//! Who changed what before something broke: writes by users and tools to the kinds whose changes break others.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use futures_util::TryStreamExt;
use jiff::{SignedDuration, Timestamp};

use ketcd_history::clock::Moment;
use ketcd_history::{AttributedChange, EventPair, Follower, intervention};
use ketcd_kube::FieldSet;
use ketcd_store::{At, Event, Generations, KeyRange, KeyValue, Origin, Revision, Until, Want, WatchItem};

use super::kinds;
use super::upkeep::{self, Upkeep};
use crate::cluster::Cluster;
use crate::cores::in_order_ahead;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::read::{Depth, Followed, History, Keys, Read, events_from, knows_before, pairs, walk_back};

/// How long before.
pub(super) const CHANGES_LEAD_TIME: SignedDuration = SignedDuration::from_mins(15);

/// How many findings' beginnings are looked before.
const MAX_ONSETS: usize = 6;

/// How many changed objects are read from a live etcd with a long history, and how many versions of each.
const MAX_OBJECTS_READ: usize = 300;
const MAX_VERSIONS_PER_OBJECT: usize = 50;

/// The changes before something broke, and before now.
#[derive(Debug, Default)]
pub struct Changed {
    /// Oldest first.
    pub changes: Vec<AttributedChange>,
    /// The times that they are of, ascending.
    pub windows: Vec<ChangeWindow>,
}

/// A stretch of time whose changes were read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeWindow {
    /// Its begin, where the history is readable that far.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// Whether the history begins within it.
    pub is_cut: bool,
    revisions: (Revision, Revision),
}

/// Reads what somebody changed in the quarter of an hour before each of `onsets` and before `now`, the moment of revision `at`. On a live etcd with a
/// long history, only the first onset counts.
///
/// # Errors
/// The source cannot be read.
pub async fn changed(cluster: &Cluster, at: Revision, now: Option<Timestamp>, onsets: &[Timestamp]) -> Result<Changed> {
    let Some(now) = now.filter(|_| !cluster.source.is_one_moment()) else { return Ok(Changed::default()) };
    let is_costly = cluster.source.is_shared() && cluster.is_long().await?;
    let onsets = &onsets[..onsets.len().min(if is_costly { 1 } else { MAX_ONSETS })];
    let mut found = Changed::default();
    for (from, to) in spans(cluster, onsets, now)? {
        found.windows.extend(window(cluster, from, to, (to == now).then_some(at)).await?);
    }
    let mut read = Vec::new();
    for window in &found.windows {
        let (from, to) = window.revisions;
        let watched = if is_costly { None } else { unless_refused(watched(cluster, from, to).await)? };
        read.push(match watched {
            // Who makes many objects at once changes few of them.
            Some(pairs) => (pairs, Depth::BriefCreation),
            None => (by_key(cluster, from, to).await?, Depth::Whole),
        });
    }
    let revisions: Vec<Revision> = read.iter().flat_map(|(pairs, _)| pairs).map(|pair| pair.event.revision).collect();
    let clock = cluster.clock_of_writers(&revisions, &[], &[]).await?;
    for (pairs, depth) in read {
        let mut changes = History::of_pairs(cluster, pairs, Arc::clone(&clock)).decoded_to(depth).changes();
        while let Some(read) = changes.try_next().await? {
            if let Read::Item(change) = read {
                found.changes.extend(intervention(&change).is_some().then_some(change));
            }
        }
    }
    Ok(found)
}

/// The spans of time whose changes are read: what was asked for with a beginning, else the quarters of an hour before these moments and
/// before `now`, in order; those that meet are one.
fn spans(cluster: &Cluster, onsets: &[Timestamp], now: Timestamp) -> Result<Vec<(Timestamp, Timestamp)>> {
    if let Some(since) = cluster.since {
        return Ok(vec![(since.time.ok_or(Error::Undated)?, now)]);
    }
    let before = |to: Timestamp| Some((to.checked_sub(CHANGES_LEAD_TIME).ok()?, to));
    let mut single: Vec<_> = onsets.iter().map(|onset| (*onset).min(now)).chain([now]).filter_map(before).collect();
    single.sort_unstable();
    let mut spans: Vec<(Timestamp, Timestamp)> = Vec::new();
    for (from, to) in single {
        match spans.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = to,
            None => spans.push((from, to)),
        }
    }
    Ok(spans)
}

/// What was read; `None` where it was refused: a watch of the past takes more rights of releases before 3.6 than the keys themselves.
fn unless_refused<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.refusal().is_some() => Ok(None),
        read => read.map(Some),
    }
}

/// The revisions between two times; `None` where none is readable.
async fn window(cluster: &Cluster, from: Timestamp, to: Timestamp, at: Option<Revision>) -> Result<Option<ChangeWindow>> {
    let span = cluster.source.span().await?;
    let last = match at {
        Some(at) => at,
        None => match cluster.revision_at(Moment::Absolute(to)).await {
            Ok(last) => last,
            Err(_) => return Ok(None),
        },
    };
    let first = cluster.revision_at(Moment::Absolute(from)).await.ok().filter(|first| *first >= span.oldest);
    let is_cut = first.is_none() && span.oldest.0 > 1;
    let first = first.map_or(span.oldest, Revision::after);
    Ok((first <= last).then_some(ChangeWindow { from, to, is_cut, revisions: (first, last) }))
}

/// The keys whose changes count.
async fn ranges(cluster: &Cluster) -> Result<Vec<(&'static kinds::Path, KeyRange)>> {
    let prefix = cluster.prefix().await?;
    let namespace = cluster.options.namespace.as_deref();
    let mut ranges = Vec::new();
    for path in kinds::CHANGE_PATHS {
        let below = namespace.filter(|_| path.namespaced).map_or(String::new(), |namespace| format!("{namespace}/"));
        let range = KeyRange::prefix(format!("{prefix}/{}/{below}", path.path));
        match cluster.may_read(&range).await? {
            true => ranges.push((path, range)),
            false => cluster.refused.miss(&range),
        }
    }
    Ok(ranges)
}

/// The changes between two revisions, both included, as they are stored. All of them are read of a source that cannot read the version before another one.
async fn watched(cluster: &Cluster, from: Revision, to: Revision) -> Result<Vec<EventPair>> {
    let ranges = ranges(cluster).await?.into_iter().map(|(_, range)| range).collect();
    let events = events_from(cluster, Keys::many(ranges), from, Until::Revision(to)).map_ok(|read| {
        let before = if let Read::Item(event) = &read { upkeep::replaced(cluster.source.as_ref(), event) } else { None };
        (read, before)
    });
    let bytes = |(read, before): &(Read<Event>, Option<KeyValue>)| {
        let written = if let Read::Item(event) = read { event.key_value.value.len() } else { 0 };
        written + before.as_ref().map_or(0, |before| before.value.len())
    };
    let upkeep = Upkeep::of(cluster).await?;
    let wanted = in_order_ahead(events, bytes, move |(read, before)| {
        let is_upkeep = match (&read, &before) {
            (Read::Item(event), Some(before)) => upkeep.has(before, &event.key_value),
            _ => false,
        };
        (!is_upkeep).then_some(read)
    });
    let events = wanted.try_filter_map(|read| ready(Ok(read)));
    let pairs = pairs(cluster, events, knows_before(cluster, from).await?, |_| false);
    let pair = |read| if let Read::Item(Followed::Pair(pair)) = read { Some(*pair) } else { None };
    pairs.try_filter_map(|read| ready(Ok(pair(read)))).try_collect().await
}

/// The same of a live etcd that would have to read a long history for a watch: the states at both ends say which keys changed, and those are
/// read version by version.
async fn by_key(cluster: &Cluster, from: Revision, to: Revision) -> Result<Vec<EventPair>> {
    let mut keys = Vec::new();
    for (path, range) in ranges(cluster).await? {
        keys.extend(changed_keys(cluster, path, range, from, to).await?);
    }
    if keys.len() > MAX_OBJECTS_READ {
        cluster.note(Notice::ChangesSampled { changed: keys.len(), read: MAX_OBJECTS_READ });
        keys.truncate(MAX_OBJECTS_READ);
    }
    let decoder = &cluster.reporting_decoder;
    let mut follower = Follower::new(|entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    let mut found = Vec::new();
    for key in keys {
        for event in versions(cluster, key, from, to).await? {
            let is_before = event.revision < from;
            let pair = follower.pair(event);
            found.extend((!is_before).then_some(pair));
        }
    }
    found.sort_by_key(|pair| (pair.event.revision, pair.event.sub_revision));
    Ok(found)
}

/// A key that changed, and its last version where it is still there.
struct ChangedKey {
    key: Vec<u8>,
    last: Option<KeyValue>,
}

async fn changed_keys(cluster: &Cluster, path: &kinds::Path, range: KeyRange, from: Revision, to: Revision) -> Result<Vec<ChangedKey>> {
    // Every heartbeat of a node is a version.
    let is_node = path.path == "minions";
    let want = if is_node { Want::Values } else { Want::Keys };
    let listed = async |at: Revision| -> Result<Vec<KeyValue>> {
        Ok(cluster.source.range(range.clone(), At::Revision(at), want).await?.entries.try_collect().await?)
    };
    let (before, after) = (listed(from.before()).await.unwrap_or_default(), listed(to).await?);
    let known = |key: &[u8]| before.binary_search_by(|entry| entry.key.as_ref().cmp(key)).ok().map(|place| &before[place]);
    let excerpt = is_node.then(|| cluster.decoder.excerpt("v1", "Node", &FieldSet::of(["metadata.labels", "spec"]), &[])).flatten();
    let is_same = |old: &KeyValue, new: &KeyValue| {
        let Some(excerpt) = &excerpt else { return false };
        let of = |entry: &KeyValue| {
            let mut copied = Vec::new();
            excerpt.append(&entry.key, &entry.value, &mut copied, |_| ()).then_some(copied)
        };
        of(old).is_some_and(|old| of(new) == Some(old))
    };
    let newer = after.iter().filter(|entry| entry.mod_revision >= from);
    let mut changed: Vec<ChangedKey> = newer
        .filter(|entry| !known(&entry.key).is_some_and(|old| is_same(old, entry)))
        .map(|entry| ChangedKey { key: entry.key.to_vec(), last: Some(entry.clone()) })
        .collect();
    let there: BTreeSet<&[u8]> = after.iter().map(|entry| entry.key.as_ref()).collect();
    let gone = before.iter().filter(|entry| !there.contains(entry.key.as_ref()));
    changed.extend(gone.map(|entry| ChangedKey { key: entry.key.to_vec(), last: None }));
    Ok(changed)
}

/// The versions of a key from `from` on, with the one before them, oldest first.
async fn versions(cluster: &Cluster, key: ChangedKey, from: Revision, to: Revision) -> Result<Vec<Event>> {
    let Some(last) = key.last else {
        let history = cluster.source.key_history(key.key, to, Generations::Last(vec![from.before()])).await?;
        let items: Vec<WatchItem> = history.items.try_collect().await?;
        return Ok(items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect());
    };
    let mut found: Vec<KeyValue> = Vec::new();
    let newest = cluster.source.first(KeyRange::key(&last.key[..]), At::Revision(to), Want::Values, 1).await?.pop();
    let Some(newest) = newest else { return Ok(Vec::new()) };
    let mut back = walk_back(cluster.source.as_ref(), newest);
    while let Some(version) = back.try_next().await? {
        let is_enough = version.mod_revision < from || found.len() == MAX_VERSIONS_PER_OBJECT;
        found.push(version);
        if is_enough {
            break;
        }
    }
    Ok(found.into_iter().rev().map(|version| Event::put(version, Origin::Live)).collect())
}

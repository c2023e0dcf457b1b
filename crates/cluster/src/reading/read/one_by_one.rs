//! Events of a few keys, each read by itself where a watch would read the history of all.

use std::collections::BTreeMap;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_kube::Decoder;
use ketcd_store::{Error as StoreError, Event, EventKind, Generations, KeyRange, Revision, RevisionSpan, Source, Until, Want, WatchItem};

use super::alive::all;
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::notice::Notice;

/// How many keys are read one by one if a watch would cost a live etcd its whole history.
const ONE_BY_ONE: usize = 2_000;

/// A watch of `keys`; of a live etcd that would have to read a long history for it, the histories of the keys.
pub(super) async fn items<'a>(
    cluster: &'a Cluster,
    keys: &Keys,
    until: Until,
    span: RevisionSpan,
) -> Result<BoxStream<'a, Result<WatchItem>>> {
    let source = cluster.source.as_ref();
    let one_by_one = keys.are_whole() && keys.ranges.len() <= ONE_BY_ONE && (source.is_shared() || !keys.beside.is_empty());
    let until = match until {
        Until::Revision(until) if one_by_one => until,
        _ => {
            if source.is_shared() && span.newest.0 - span.oldest.0 > MAX_LIGHT_REVISIONS {
                cluster.note(Notice::HeavyHistory { revisions: span.newest.0 - span.oldest.0 + 1 });
            }
            return Ok(source.watch_ranges(keys.apart(), Revision(1), until).map_err(Error::from).boxed());
        }
    };
    let mut found = Vec::new();
    let mut gaps: BTreeMap<Revision, Revision> = BTreeMap::new();
    for key in &keys.ranges {
        let generations = match keys.beside.get(&key.start) {
            Some(alive_at) => Generations::Last(alive_at.clone()),
            None if span.newest.0 - span.oldest.0 > MAX_REVISIONS_WITHOUT_HINTS => {
                Generations::All(alive_at(source, &key.start, span).await?)
            }
            None => Generations::All(Vec::new()),
        };
        let history = source.key_history(key.start.clone(), until, generations).await?;
        let mut items = history.items;
        while let Some(item) = items.try_next().await? {
            match item {
                WatchItem::Gap { from, to } => {
                    gaps.entry(from).and_modify(|known| *known = to.max(*known)).or_insert(to);
                }
                WatchItem::Event(event) => found.push(event),
                WatchItem::Progress(_) => {}
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            }
        }
        if let Some(unsearched) = history.unsearched.filter(|_| !is_generated(&key.start, &found)) {
            cluster.note(Notice::Unsearched { key: String::from_utf8_lossy(&key.start).into_owned(), unsearched });
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

/// etcd reads all of a history at once for a watch of its past; above so many revisions that is much.
const MAX_LIGHT_REVISIONS: i64 = 50_000;

/// A history of no more revisions needs no hints where a key may have been alive.
const MAX_REVISIONS_WITHOUT_HINTS: i64 = 5_000;

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
            Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => continue,
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

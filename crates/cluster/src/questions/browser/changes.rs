//! The changes of the objects in sight, and of the Events about them: read key by key, and decoded where they count.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::stream::{self, BoxStream};

use ketcd_history::AttributedChange;
use ketcd_history::clock::Clock;
use ketcd_store::{At, Event, KeyRange, Origin, Revision, Until, Want, WatchItem};

use super::index::{Index, Life};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{History, Read};

/// How many changes of one object are decoded; the others are only counted.
const MAX_DECODED_CHANGES: usize = 300;

/// What changes are needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// Rows: with the last change before the window and the Events about the objects. Of objects that change all the time some are left out.
    Rows,
    /// Themselves: all of the window, and nothing else.
    Changes,
}

impl Index {
    /// Returns the changes of some objects in a window, oldest first.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn changes_of<'c>(
        &self,
        cluster: &'c Cluster,
        lives: &[usize],
        (after, to): (Revision, Revision),
        clock: Arc<Clock>,
        needed: Needed,
    ) -> Result<BoxStream<'c, Result<Read<AttributedChange>>>> {
        let mut wanted: BTreeMap<Bytes, HashSet<i64>> = BTreeMap::new();
        for &place in lives {
            let life = &self.lives[place];
            wanted.entry(life.key.clone()).or_default().extend(counting(life, (after, to), needed));
            if needed != Needed::Rows {
                continue;
            }
            for event in self.events_about(life).iter().map(|&event| &self.lives[event]) {
                wanted.entry(event.key.clone()).or_default().extend(event.within(after, to));
            }
        }
        let mut events = self.stored(cluster, &wanted, to).await?;
        events.sort_by_key(|event| (event.revision, event.sub_revision));
        let leaves_out = move |event: &Event| wanted.get(&event.key_value.key).is_none_or(|wanted| !wanted.contains(&event.revision.0));
        let events = stream::iter(events.into_iter().map(|event| Ok(Read::Item(event))));
        Ok(History::of_events(cluster, events, clock, leaves_out).changes())
    }

    /// The events of some keys up to a revision, and what was there of them before the first that can be read.
    async fn stored(&self, cluster: &Cluster, wanted: &BTreeMap<Bytes, HashSet<i64>>, to: Revision) -> Result<Vec<Event>> {
        let source = &cluster.source;
        let mut events: Vec<Event> = Vec::new();
        let first = |revisions: &HashSet<i64>| revisions.iter().min().copied();
        if source.reads_before() {
            for (key, revisions) in wanted {
                let Some(first) = first(revisions) else { continue };
                take(source.watch(KeyRange::key(&key[..]), Revision(first), Until::Revision(to)), wanted, &mut events).await?;
            }
        } else if !wanted.is_empty() {
            // One watch of all costs a live etcd less than one of each.
            let ranges = wanted.keys().map(|key| KeyRange::key(&key[..])).collect();
            // The whole history begins with what has no known revision.
            let from = if source.is_one_moment() { Revision(1) } else { self.first };
            take(source.watch_ranges(ranges, from, Until::Revision(to)), wanted, &mut events).await?;
        }
        let found: HashSet<(Bytes, i64)> = events.iter().map(|event| (event.key_value.key.clone(), event.revision.0)).collect();
        for (key, revisions) in wanted {
            let Some(first) = first(revisions).filter(|&first| first <= self.first.0 && !found.contains(&(key.clone(), first))) else {
                continue;
            };
            let there = source.first(KeyRange::key(&key[..]), At::Revision(self.first), Want::Values, 1).await?;
            events.extend(there.into_iter().filter(|entry| entry.mod_revision.0 == first).map(|entry| Event::put(entry, Origin::Live)));
        }
        Ok(events)
    }
}

/// Takes the events of wanted keys out of a watch.
async fn take(
    mut items: BoxStream<'_, ketcd_store::Result<WatchItem>>,
    wanted: &BTreeMap<Bytes, HashSet<i64>>,
    events: &mut Vec<Event>,
) -> Result<()> {
    while let Some(item) = items.try_next().await? {
        if let WatchItem::Event(event) = item
            && wanted.contains_key(&event.key_value.key)
        {
            events.push(event);
        }
    }
    Ok(())
}

/// The changes of an object that are decoded: for rows the one before the window too, which shows its state when that begins.
fn counting(life: &Life, (after, to): (Revision, Revision), needed: Needed) -> Vec<i64> {
    let within = life.within(after, to);
    if needed == Needed::Changes {
        return within.to_vec();
    }
    let before = life.changes[..life.changes.partition_point(|&at| at <= after.0)].last().copied();
    let step = within.len().div_ceil(MAX_DECODED_CHANGES).max(1);
    let last = within.last().copied();
    before.into_iter().chain(within.iter().step_by(step).copied()).chain(last).collect()
}

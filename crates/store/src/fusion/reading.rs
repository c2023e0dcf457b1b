//! The changes of several sources: those of files, stretch by stretch, and with them those of a live etcd.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use async_stream::try_stream;
use futures_util::stream::{BoxStream, StreamExt};

use super::lineage::events;
use super::merge::Merge;
use super::part::{Part, PartState};
use super::plan::{self, PlannedSpan};
use super::{Fused, gaps};
use crate::{Event, KeyRange, Result, Revision, Source, Until, WatchItem};

impl Fused {
    /// All changes of the files from a revision to another, both included, and what none of them has.
    pub(super) fn watch_files(&self, keys: KeyRange, from: i64, to: i64) -> BoxStream<'_, Result<WatchItem>> {
        let segments = plan::segments(&self.parts, from, to);
        let is_whole = plan::fits(&self.parts, from);
        futures_util::stream::iter(segments).flat_map(move |segment| self.watch_segment(keys.clone(), segment, is_whole)).boxed()
    }

    fn watch_segment(&self, keys: KeyRange, segment: PlannedSpan, is_whole: bool) -> BoxStream<'_, Result<WatchItem>> {
        try_stream! {
            let PlannedSpan { from, to, ref parts } = segment;
            let parts = self.with_a_sound_one(parts.clone(), to)?;
            let recovered = if is_whole || !self.may_recover(from) { &[][..] } else { self.recovered().await? };
            let recovered = &recovered[recovered.partition_point(|(_, event)| event.revision.0 < from)..];
            let recovered = &recovered[..recovered.partition_point(|(_, event)| event.revision.0 <= to)];
            let mut absent = vec![(from.max(FIRST_CHANGE), to)];
            let mut streams = Vec::new();
            for &number in &parts {
                absent = gaps::common(&absent, &self.absent(number, from, to).await?);
                let source = self.source(number)?;
                streams.push((number, owned_watch(source, keys.clone(), Revision(from), Revision(to))));
            }
            let absent = gaps::without(&absent, recovered.iter().map(|(_, event)| event.revision.0));
            let of_others = recovered.iter().map(|(number, _)| *number).filter(|number| !parts.contains(number));
            for number in of_others.collect::<BTreeSet<_>>() {
                let of_part = recovered.iter().filter(|(part, event)| *part == number && keys.contains(&event.key_value.key));
                let items: Vec<_> = of_part.map(|(_, event)| Ok(WatchItem::Event(event.clone()))).collect();
                streams.push((number, futures_util::stream::iter(items).boxed()));
            }
            let mut merge = Merge::new(&self.parts, streams).await?;
            let mut absent = Absent(absent.into());
            while let Some(next) = merge.next().await? {
                let events = next.map_err(|conflict| self.conflict(&conflict))?;
                let revision = events.first().map_or(to, |event| event.revision.0);
                for (from, to) in absent.before(revision) {
                    yield missing(from, to);
                }
                for event in events {
                    yield WatchItem::Event(event);
                }
            }
            for (from, to) in absent.before(i64::MAX) {
                yield missing(from, to);
            }
        }
        .boxed()
    }

    /// Adds to damaged parts others that may have what those lack, up to one that is sound.
    fn with_a_sound_one(&self, mut chosen: Vec<usize>, to: i64) -> Result<Vec<usize>> {
        for &number in &chosen {
            self.source(number)?;
        }
        let mut others: Vec<usize> = (0..self.parts.len()).filter(|number| !chosen.contains(number)).collect();
        others.retain(|&number| self.parts[number].newest() >= to);
        others.sort_by_key(|&number| (self.parts[number].complete_after(), self.parts[number].newest()));
        for number in others {
            if chosen.iter().any(|&number| !self.parts[number].is_damaged()) {
                break;
            }
            self.source(number)?;
            chosen.push(number);
        }
        chosen.sort_unstable();
        Ok(chosen)
    }

    /// The runs of revisions of which a part has nothing.
    pub(super) async fn absent(&self, number: usize, from: i64, to: i64) -> Result<Vec<(i64, i64)>> {
        let (source, newest) = (self.source(number)?, self.parts[number].newest());
        let nothing = KeyRange { start: vec![0], end: Some(vec![0]) };
        let mut items = source.watch(nothing, Revision(from), Until::Revision(Revision(to.min(newest))));
        let mut absent = Vec::new();
        while let Some(item) = items.next().await.transpose()? {
            if let WatchItem::Gap { from, to } = item {
                absent.push((from.0, to.0));
            }
        }
        if newest < to {
            absent.push((from.max(newest + 1), to));
        }
        Ok(absent)
    }

    /// Whether free pages may hold something of the time from a revision on: what a compaction removed, at its revision or before.
    fn may_recover(&self, from: i64) -> bool {
        self.parts.iter().any(|part| is_compacted_at(part, from.max(FIRST_CHANGE)))
    }

    /// What free pages hold of the time before the compactions of files that are not all open at once.
    async fn recovered(&self) -> Result<&[(usize, Event)]> {
        let read = async || -> Result<Vec<(usize, Event)>> {
            let mut found = Vec::new();
            for (number, part) in self.parts.iter().enumerate().filter(|(_, part)| is_compacted_at(part, FIRST_CHANGE)) {
                let source = self.source(number)?;
                let events = events(&*source, KeyRange::all(), Revision(1), Revision(part.complete_after())).await?;
                found.extend(events.into_iter().filter(|event| event.origin == crate::Origin::FreePage).map(|mut event| {
                    // The key must not keep the index that it was read from.
                    event.key_value.key = bytes::Bytes::copy_from_slice(&event.key_value.key);
                    (number, event)
                }));
            }
            found.sort_by_key(|(_, event)| (event.revision, event.sub_revision));
            Ok(found)
        };
        self.recovered.get_or_try_init(read).await.map(Vec::as_slice)
    }
}

/// Whether a file that is opened when it is needed was compacted at a revision or later.
fn is_compacted_at(part: &Part, revision: i64) -> bool {
    matches!(part.held, PartState::Closed { .. }) && part.complete_after() >= revision
}

/// The first revision that can hold a change: an empty store is at 1.
const FIRST_CHANGE: i64 = 2;

/// Runs of revisions that are missing, in their order.
struct Absent(VecDeque<(i64, i64)>);

impl Absent {
    /// Takes what is missing before a revision, which is there.
    fn before(&mut self, revision: i64) -> Vec<(i64, i64)> {
        let mut found = Vec::new();
        while let Some(&(from, to)) = self.0.front().filter(|run| run.0 <= revision) {
            self.0.pop_front();
            if from < revision {
                found.push((from, to.min(revision - 1)));
            }
            if to > revision {
                self.0.push_front((revision + 1, to));
                break;
            }
        }
        found
    }
}

fn owned_watch(source: Arc<dyn Source>, keys: KeyRange, from: Revision, to: Revision) -> BoxStream<'static, Result<WatchItem>> {
    try_stream! {
        let mut items = source.watch(keys, from, Until::Revision(to));
        while let Some(item) = items.next().await.transpose()? {
            yield item;
        }
    }
    .boxed()
}

pub(super) fn missing(from: i64, to: i64) -> WatchItem {
    WatchItem::Gap { from: Revision(from), to: Revision(to) }
}

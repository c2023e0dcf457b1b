//! Several sources read as one history: each change once with all its sources, what none of them has as a gap, and none that is not of the
//! same cluster.
//!
//! A part says cheaply which revisions it has (`part`): a database file by some of its pages, a recording by its manifest. Many files are
//! opened when a question needs them and closed again (`plan`); so are their damage and what their free pages hold only known then. Neighbours
//! are compared when the sources are opened (`lineage`), and every change that several have when they are read (`merge`).

mod gaps;
mod lineage;
mod live;
mod merge;
mod part;
mod plan;
#[cfg(test)]
#[path = "../../../../tests/support/snapshot.rs"]
mod snapshot;
mod state;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_stream::try_stream;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{BoxStream, StreamExt};
use tokio::sync::OnceCell;

use crate::{
    At, Error, Event, KeyRange, KeyValue, Listing, PartGap, Result, Revision, RevisionSpan, Source, SourceStatus, Until, Want, WatchItem,
};
use lineage::{Verdict, Witness, compare, events};
use live::Live;
use merge::Merge;
use part::Pool;
use plan::Segment;

pub(crate) use live::Beside;
pub(crate) use part::{Held, Open, Part};

/// Several sources.
pub(crate) struct Fused {
    /// Files, in the order in which they were given.
    parts: Vec<Part>,
    live: Option<Live>,
    pool: Pool,
    damage: Vec<String>,
    left_out: Vec<String>,
    /// Between files.
    gaps: Vec<PartGap>,
    /// Those of the gaps, by their places, that a reading came past.
    passed: Mutex<BTreeSet<usize>>,
    /// What free pages hold of files that cannot all be open at once, with the part.
    recovered: OnceCell<Vec<(usize, Event)>>,
}

impl Fused {
    /// Makes one history of files and, where there is one, a live etcd.
    ///
    /// # Errors
    ///
    /// They are not of one cluster.
    pub(crate) fn new(mut parts: Vec<Part>, beside: Option<Beside>) -> Result<Self> {
        check_cluster_ids(&parts)?;
        // Nothing of a file has to be waited for.
        let checked = check_neighbours(&parts).now_or_never();
        let unproven = checked.ok_or_else(|| not_readable(&names(&parts, None)))??;
        for part in &mut parts {
            if let Held::Closed { peek, .. } = &mut part.held {
                *peek = None;
            }
        }
        let gaps = gaps::between(&parts);
        let (mut damage, mut left_out) = (Vec::new(), unproven);
        for part in &parts {
            let Held::Open(source) = &part.held else { continue };
            left_out.extend_from_slice(source.left_out());
            match covering(&parts, part) {
                _ if !part.is_damaged() => {}
                Some(whole) => left_out.extend(source.damage().iter().map(|problem| replaced(problem, whole))),
                None => damage.extend_from_slice(source.damage()),
            }
        }
        left_out.extend(gaps::sentences(&gaps));
        let live = beside.map(Live::new);
        let (pool, passed, recovered) = (Pool::default(), Mutex::default(), OnceCell::new());
        Ok(Self { parts, live, pool, damage, left_out, gaps, passed, recovered })
    }

    fn source(&self, number: usize) -> Result<Arc<dyn Source>> {
        self.pool.get(&self.parts, number)
    }

    /// The revisions of the files.
    fn span_of_files(&self) -> RevisionSpan {
        let oldest = self.parts.iter().filter(|part| !part.is_empty()).map(|part| part.span).min_by_key(|span| span.oldest);
        let (oldest, compacted) = oldest.map_or((Revision(1), None), |span| (span.oldest, span.compacted));
        let newest = self.parts.iter().map(|part| part.span.newest).max().unwrap_or(Revision(1));
        RevisionSpan { oldest, newest, compacted }
    }

    /// All changes of the files from a revision to another, both included, and what none of them has.
    fn watch_files(&self, keys: KeyRange, from: i64, to: i64) -> BoxStream<'_, Result<WatchItem>> {
        let segments = plan::segments(&self.parts, from, to);
        let is_whole = plan::fits(&self.parts, from);
        futures_util::stream::iter(segments).flat_map(move |segment| self.watch_segment(keys.clone(), segment, is_whole)).boxed()
    }

    fn watch_segment(&self, keys: KeyRange, segment: Segment, is_whole: bool) -> BoxStream<'_, Result<WatchItem>> {
        try_stream! {
            let Segment { from, to, ref parts } = segment;
            let parts = self.with_a_sound_one(parts.clone(), to)?;
            let recovered = if is_whole { &[][..] } else { self.recovered().await? };
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
                    yield self.gap(from, to);
                }
                for event in events {
                    yield WatchItem::Event(event);
                }
            }
            for (from, to) in absent.before(i64::MAX) {
                yield self.gap(from, to);
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
    async fn absent(&self, number: usize, from: i64, to: i64) -> Result<Vec<(i64, i64)>> {
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

    /// What free pages hold of the time before the compactions of files that are not all open at once.
    async fn recovered(&self) -> Result<&[(usize, Event)]> {
        let read = async || -> Result<Vec<(usize, Event)>> {
            let mut found = Vec::new();
            for (number, part) in self.parts.iter().enumerate().filter(|(_, part)| matches!(part.held, Held::Closed { .. })) {
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

    /// Missing revisions; those that no file covers are said to be missing at the end too.
    fn gap(&self, from: i64, to: i64) -> WatchItem {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_touched = |gap: &PartGap| gap.from.0 <= to && from <= gap.to.0;
        let first = self.gaps.partition_point(|gap| gap.to.0 < from);
        passed.extend((first..self.gaps.len()).take_while(|&place| is_touched(&self.gaps[place])));
        WatchItem::Gap { from: Revision(from), to: Revision(to) }
    }

    fn conflict(&self, conflict: &str) -> Error {
        not_of_one_cluster(&self.name(), conflict)
    }

    /// The names of all sources, or how many there are.
    fn name(&self) -> String {
        names(&self.parts, self.live.as_ref())
    }
}

/// The first revision that can hold a change: an empty store is at 1.
const FIRST_CHANGE: i64 = 2;

/// Runs of revisions that are missing, in their order.
struct Absent(std::collections::VecDeque<(i64, i64)>);

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

/// A watch that keeps its source.
fn owned_watch(source: Arc<dyn Source>, keys: KeyRange, from: Revision, to: Revision) -> BoxStream<'static, Result<WatchItem>> {
    try_stream! {
        let mut items = source.watch(keys, from, Until::Revision(to));
        while let Some(item) = items.next().await.transpose()? {
            yield item;
        }
    }
    .boxed()
}

fn names(parts: &[Part], live: Option<&Live>) -> String {
    /// More are counted.
    const NAMED: usize = 8;
    let names: Vec<&str> = parts.iter().map(|part| &*part.name).chain(live.map(|live| &*live.name)).collect();
    match &names[..] {
        [first, .., last] if names.len() > NAMED => format!("{first} … {last} ({} sources)", names.len()),
        _ => names.join(", "),
    }
}

fn not_of_one_cluster(path: &str, conflict: &str) -> Error {
    let problem = format!("these are not of one etcd cluster: {conflict}; give the files of one cluster only");
    Error::Format { path: path.to_owned(), problem }
}

fn not_readable(path: &str) -> Error {
    Error::Format { path: path.to_owned(), problem: "cannot be compared with each other; name fewer files".to_owned() }
}

fn replaced(problem: &str, whole: &Part) -> String {
    format!("{problem} ({} has every revision of it)", whole.name)
}

/// A sound part that has every revision of another.
fn covering<'a>(parts: &'a [Part], part: &Part) -> Option<&'a Part> {
    parts.iter().find(|whole| {
        let (ours, theirs) = (whole.span, part.span);
        let is_sound = whole.has_all_keys() && whole.damage.get().is_some_and(Vec::is_empty);
        is_sound && ours.oldest <= theirs.oldest && theirs.newest <= ours.newest
    })
}

/// Compares the cluster ids that are known.
fn check_cluster_ids(parts: &[Part]) -> Result<()> {
    let mut known = parts.iter().filter_map(|part| Some((part, part.cluster_id.as_ref()?)));
    let Some((first, id)) = known.next() else { return Ok(()) };
    match known.find(|(_, other)| *other != id) {
        None => Ok(()),
        Some((other, other_id)) => {
            let conflict = format!("{} is of cluster {id}, {} of cluster {other_id}", first.name, other.name);
            Err(not_of_one_cluster(&names(parts, None), &conflict))
        }
    }
}

/// Compares each file with the one before it in time. Returns what nothing shows.
async fn check_neighbours(parts: &[Part]) -> Result<Vec<String>> {
    let mut in_time: Vec<&Part> = parts.iter().filter(|part| !part.is_empty()).collect();
    in_time.sort_by_key(|part| (part.span.newest, part.span.oldest));
    let (mut unproven, mut uncompared) = (Vec::new(), 0);
    for (place, part) in in_time.iter().enumerate().skip(1) {
        let Some(ours) = Witness::of(part) else {
            uncompared += 1;
            continue;
        };
        let before = &in_time[..place];
        let whole = before.iter().rev().find(|part| part.has_all_keys());
        let neighbours = before.last().into_iter().chain(whole.filter(|_| !before[place - 1].has_all_keys()));
        for neighbour in neighbours {
            let Some(theirs) = Witness::of(neighbour) else { continue };
            match compare(&theirs, &ours).await? {
                Verdict::Agree => {}
                Verdict::Conflict(conflict) => return Err(not_of_one_cluster(&format!("{}, {}", neighbour.name, part.name), &conflict)),
                Verdict::Unknown => unproven.push(format!(
                    "nothing shows that {} and {} are of one cluster: they have no change in common",
                    neighbour.name, part.name
                )),
            }
        }
    }
    if uncompared > 0 {
        unproven.push(format!(
            "{uncompared} compressed files are not compared with the others before they are read: unpacked they are too large"
        ));
    }
    Ok(unproven)
}

impl Source for Fused {
    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        Box::pin(self.status_of_all())
    }

    fn damage(&self) -> &[String] {
        &self.damage
    }

    fn late_damage(&self) -> Vec<String> {
        let mut late: Vec<String> = Vec::new();
        for part in &self.parts {
            late.extend(part.late().iter().cloned());
            // Of a file that was opened at once it was reported at once.
            let is_late = matches!(part.held, Held::Closed { .. }) && part.is_damaged() && covering(&self.parts, part).is_none();
            late.extend(part.damage.get().filter(|_| is_late).into_iter().flatten().cloned());
            if let Held::Open(source) = &part.held {
                late.extend(source.late_damage());
            }
        }
        late.extend(self.pool.opened().iter().flat_map(|(_, source)| source.late_damage()));
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let of_live = self.live.as_ref().and_then(Live::passed_gap);
        late.extend(gaps::passed_over(passed.iter().map(|&place| &self.gaps[place]).chain(of_live.as_ref())));
        late
    }

    fn left_out(&self) -> &[String] {
        &self.left_out
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        Box::pin(async move {
            let files = self.span_of_files();
            let Some(live) = &self.live else { return Ok(files) };
            let span = live.checked(self).await?.span().await?;
            let older = if span.oldest < files.oldest { span } else { files };
            Ok(RevisionSpan { newest: files.newest.max(span.newest), ..older })
        })
    }

    fn member(&self) -> Option<String> {
        self.live.as_ref().and_then(|live| live.source.member())
    }

    fn latest_delay(&self, revision: Revision) -> Option<Duration> {
        self.live.as_ref().and_then(|live| live.source.latest_delay(revision))
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        Box::pin(self.state(keys, at, want))
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.watch_ranges(vec![keys], from, until)
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        try_stream! {
            if let Some(live) = &self.live {
                live.checked(self).await?;
            }
            let newest = self.span_of_files().newest.0;
            let end = match until {
                Until::Revision(to) => to.0,
                Until::Forever => i64::MAX,
            };
            if from.0 <= newest.min(end) {
                let mut items = self.watch_files(KeyRange::hull(&ranges), from.0, newest.min(end));
                while let Some(item) = items.next().await.transpose()? {
                    yield item;
                }
            }
            match &self.live {
                Some(live) if end > newest => {
                    let mut items = live.watch(ranges, from.0.max(newest + 1), until);
                    while let Some(item) = items.next().await.transpose()? {
                        yield item;
                    }
                }
                _ => yield WatchItem::Progress(Revision(newest.min(end))),
            }
        }
        .boxed()
    }

    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        Box::pin(self.first_of_state(keys, at, want, most))
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.count_of_state(keys, at))
    }

    fn will_read(&self, keys: &KeyRange) {
        self.live.iter().for_each(|live| live.source.will_read(keys));
    }
}

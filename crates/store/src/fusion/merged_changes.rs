//! The changes in files and those that a live etcd still has of the same revisions, as one stream.
//!
//! A live etcd is asked for what is shown only, and not for a long history that files have whole: it would read all of it for one question.

use std::collections::{HashMap, VecDeque};

use async_stream::try_stream;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::live::{LivePart, are_keys};
use super::merge::with_live;
use super::reading::missing;
use super::{Fused, gaps};
use crate::{Error, Event, EventKind, KeyRange, Result, Revision, Until, WatchItem};

/// A live etcd is watched over so many revisions for the sake of a few keys; over more each key is searched.
const MAX_WATCHED_REVISIONS: i64 = 5_000;
/// A live etcd is watched over so many revisions that files have too.
const MAX_LIGHT_REVISIONS: i64 = 50_000;
const MAX_KEYS_SEARCHED: usize = 2_000;

/// How a live etcd is asked for revisions of the files.
enum LiveReading {
    Not,
    Watched,
    /// Key by key.
    Searched,
}

impl Fused {
    /// The changes of some ranges from a revision on. Where they `are_shown`, each names the live etcd too if that has it.
    pub(super) fn read(&self, ranges: Vec<KeyRange>, from: i64, until: Until, are_shown: bool) -> BoxStream<'_, Result<WatchItem>> {
        try_stream! {
            let newest = self.span_of_files().newest.0;
            let end = match until {
                Until::Revision(to) => to.0,
                Until::Forever => i64::MAX,
            };
            let of_files = newest.min(end);
            // Revisions at which single keys were alive.
            let mut alive_at: HashMap<Bytes, Vec<Revision>> = HashMap::new();
            let is_searchable = matches!(until, Until::Revision(_)) && ranges.len() <= MAX_KEYS_SEARCHED && are_keys(&ranges);
            if from <= of_files {
                let mut items = self.read_files(&ranges, from, of_files, are_shown).await?;
                while let Some(item) = items.next().await.transpose()? {
                    if let WatchItem::Event(event) = &item && is_searchable && event.kind == EventKind::Put {
                        alive_at.entry(event.key_value.key.clone()).or_default().push(event.revision);
                    }
                    yield self.passing(item);
                }
            }
            match &self.live {
                Some(live) if end > newest => {
                    live.checked(self).await?;
                    let from = from.max(newest + 1);
                    let mut items = if !is_searchable || live.may_watch(&ranges).await? {
                        live.watch(ranges, from, until)
                    } else {
                        let alive_at = |key: &[u8]| alive_at.get(key).cloned().unwrap_or_default();
                        let found = live.search(&ranges, from, end, alive_at).await?;
                        stream::iter(found.into_iter().chain([WatchItem::Progress(Revision(end))]).map(Ok)).boxed()
                    };
                    while let Some(item) = items.next().await.transpose()? {
                        yield self.passing(item);
                    }
                }
                _ => yield WatchItem::Progress(Revision(of_files)),
            }
        }
        .boxed()
    }

    /// The same of revisions that files have.
    async fn read_files(&self, ranges: &[KeyRange], from: i64, to: i64, are_shown: bool) -> Result<BoxStream<'_, Result<WatchItem>>> {
        let files = self.watch_files(KeyRange::hull(ranges), from, to);
        let Some(live) = &self.live else { return Ok(files) };
        let asked = self.asked(live, ranges, from, to, are_shown).await?;
        let is_denied = matches!(asked, LiveReading::Watched) && !live.may_watch(ranges).await?;
        match asked {
            LiveReading::Not => Ok(files),
            LiveReading::Watched if !is_denied => self.beside_watched(live, files, ranges, from, to).await,
            LiveReading::Watched if !(ranges.len() <= MAX_KEYS_SEARCHED && are_keys(ranges)) => {
                live.tell(&format!("{} is not compared with the files: its history of these keys may not be read by this user", live.name));
                Ok(files)
            }
            LiveReading::Watched | LiveReading::Searched => {
                let told: Vec<WatchItem> = files.try_collect().await?;
                let found = live.search(ranges, from, to, |key| alive_at(&told, key)).await;
                let told = stream::iter(told.into_iter().map(Ok)).boxed();
                match found {
                    Err(error) if error.is_denied() => {
                        live.tell(&not_compared(live, &error));
                        Ok(told)
                    }
                    found => Ok(self.joined(told, stream::iter(found?.into_iter().map(Ok)).boxed())),
                }
            }
        }
    }

    /// What files have, joined with a watch of the live etcd, if that may be read.
    async fn beside_watched<'a>(
        &'a self,
        live: &'a LivePart,
        files: BoxStream<'a, Result<WatchItem>>,
        ranges: &[KeyRange],
        from: i64,
        to: i64,
    ) -> Result<BoxStream<'a, Result<WatchItem>>> {
        let mut beside = live.watch(ranges.to_vec(), from, Until::Revision(Revision(to))).peekable();
        if let Some(Err(error)) = std::pin::Pin::new(&mut beside).peek().await
            && error.is_denied()
        {
            live.tell(&not_compared(live, error));
            return Ok(files);
        }
        Ok(self.joined(files, beside.boxed()))
    }

    async fn asked(&self, live: &LivePart, ranges: &[KeyRange], from: i64, to: i64, are_shown: bool) -> Result<LiveReading> {
        let source = live.checked(self).await?;
        if !source.serves_watches().await {
            return Ok(LiveReading::Not);
        }
        let first = from.max(source.span().await?.oldest.0 + 1);
        if !self.have_all(from, first, to) {
            return Ok(LiveReading::Watched);
        }
        let are_keys = ranges.len() <= MAX_KEYS_SEARCHED && are_keys(ranges);
        let length = to - first;
        if !are_shown {
            return Ok(LiveReading::Not);
        }
        if length > MAX_WATCHED_REVISIONS && are_keys {
            return Ok(LiveReading::Searched);
        }
        if length <= MAX_LIGHT_REVISIONS {
            return Ok(LiveReading::Watched);
        }
        live.tell(&format!(
            "{} also has revisions {first} to {to} of the files; ketcd does not read so long a history again to compare them, and their \
             changes do not name it",
            live.name
        ));
        Ok(LiveReading::Not)
    }

    /// Whether files have all that a live etcd could tell of a time: its changes from `first` on, and what is left of those before.
    fn have_all(&self, from: i64, first: i64, to: i64) -> bool {
        if self.gaps.iter().any(|gap| gap.to.0 >= from && gap.from.0 <= to) {
            return false;
        }
        let mut whole: Vec<(i64, i64)> = self
            .parts
            .iter()
            .filter(|part| part.has_all_keys() && !part.is_damaged())
            .map(|part| (part.complete_after(), part.newest()))
            .collect();
        whole.sort_unstable();
        let reached =
            whole.into_iter().fold(first - 1, |reached, (after, newest)| if after <= reached { reached.max(newest) } else { reached });
        reached >= to
    }

    /// The changes of both, and what neither has.
    fn joined<'a>(
        &'a self,
        files: BoxStream<'a, Result<WatchItem>>,
        live: BoxStream<'a, Result<WatchItem>>,
    ) -> BoxStream<'a, Result<WatchItem>> {
        try_stream! {
            let (mut files, mut live, mut told) = (Side::new(files).await?, Side::new(live).await?, 0);
            loop {
                let next = files.next_revision().min(live.next_revision());
                for (from, to) in gaps::common(&files.absent(told, next), &live.absent(told, next)) {
                    yield missing(from, to);
                }
                if next == i64::MAX {
                    break;
                }
                let (ours, theirs) = (files.take(next).await?, live.take(next).await?);
                for event in with_live(ours, theirs).map_err(|conflict| self.conflict(&conflict))? {
                    yield WatchItem::Event(event);
                }
                told = next;
            }
        }
        .boxed()
    }
}

fn not_compared(live: &LivePart, error: &Error) -> String {
    format!("{} is not compared with the files: {error}", live.name)
}

fn alive_at(told: &[WatchItem], key: &[u8]) -> Vec<Revision> {
    let puts = told.iter().filter_map(|item| match item {
        WatchItem::Event(event) if event.kind == EventKind::Put && event.key_value.key == key => Some(event.revision),
        _ => None,
    });
    puts.collect()
}

/// One of two streams, with what it lacks before its next change.
struct Side<'a> {
    items: BoxStream<'a, Result<WatchItem>>,
    head: Option<Event>,
    absent: VecDeque<(i64, i64)>,
}

impl<'a> Side<'a> {
    async fn new(items: BoxStream<'a, Result<WatchItem>>) -> Result<Self> {
        let mut side = Self { items, head: None, absent: VecDeque::new() };
        side.advance().await?;
        Ok(side)
    }

    async fn advance(&mut self) -> Result<()> {
        while let Some(item) = self.items.next().await.transpose()? {
            match item {
                WatchItem::Event(event) => {
                    self.head = Some(event);
                    break;
                }
                WatchItem::Gap { from, to } => self.absent.push_back((from.0, to.0)),
                WatchItem::Progress(_) => {}
            }
        }
        Ok(())
    }

    fn next_revision(&self) -> i64 {
        self.head.as_ref().map_or(i64::MAX, |event| event.revision.0)
    }

    /// Its changes of the next revision, if that is this one.
    async fn take(&mut self, revision: i64) -> Result<Vec<Event>> {
        let mut taken = Vec::new();
        while let Some(event) = self.head.take_if(|event| event.revision.0 == revision) {
            taken.push(event);
            self.advance().await?;
        }
        Ok(taken)
    }

    /// What it lacks between two revisions.
    fn absent(&mut self, after: i64, before: i64) -> Vec<(i64, i64)> {
        while self.absent.front().is_some_and(|run| run.1 <= after) {
            self.absent.pop_front();
        }
        let within = self.absent.iter().map(|run| (run.0.max(after + 1), run.1.min(before - 1)));
        within.filter(|run| run.0 <= run.1).collect()
    }
}

//! The history of one key at the cost of its own versions: read backwards, from each version to the one before it.
//!
//! etcd answers a watch that begins in the past by reading every revision since, of all keys (server/storage/mvcc/watchable_store.go,
//! `syncWatchers`, 3.4 to 3.7), however few it is asked for. A read of the key at the revision before a version costs that version alone. What reads cannot
//! find by themselves is a deletion: between a revision at which the key was there and one at which it was not, its revision is found by
//! bisection; an earlier generation of the key is looked for at sample revisions.

use std::pin::Pin;
use std::sync::Arc;

use async_stream::try_stream;
use futures_util::StreamExt;

use super::answer::Untrue;
use super::client::Cluster;
use super::range::{get, is_alive};
use super::span::span;
use super::watch::watch;
use crate::{
    EarlierRevisions, Error, Event, EventKind, Generations, KeyHistory, KeyRange, KeyValue, Origin, Result, Revision, Sources, Unsearched,
    Until, Want, WatchItem,
};

/// A history of no more revisions than this is watched: then no change of the key can be missed, and etcd reads little.
const MAX_WATCHED_REVISIONS: i64 = 5_000;
/// How many revisions of a long absence are looked at for an earlier generation of the key.
const MAX_ABSENCE_SAMPLES: i64 = 512;
/// How often a compaction may overtake a search.
const MOST_OVERTAKEN: usize = 1_000;
/// Bytes many values kept while the history is read backwards; the others are read again on the way forward.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// Returns the changes of `key` up to `until`.
pub(super) async fn key_history(
    cluster: &Arc<Cluster>,
    key: Vec<u8>,
    until: Revision,
    generations: Generations,
) -> Result<KeyHistory<'static>> {
    let span = span(cluster).await?;
    let is_short = span.newest.0 - span.oldest.0 <= MAX_WATCHED_REVISIONS;
    if is_short && cluster.serves_watches().await {
        let mut items = watch(Arc::clone(cluster), KeyRange::key(&key[..]), Revision(1), Until::Revision(until)).peekable();
        // In some releases of etcd a watch needs more keys than the one that the user may read.
        let is_beyond_rights = matches!(Pin::new(&mut items).peek().await, Some(Err(error)) if error.is_denied());
        if !is_beyond_rights {
            return Ok(KeyHistory::of(items));
        }
    }
    let last = until.min(span.newest);
    // A short history is examined revision by revision.
    let samples = if is_short { MAX_WATCHED_REVISIONS } else { MAX_ABSENCE_SAMPLES };
    let mut search =
        GenerationSearch { cluster, key: &key, oldest: span.oldest, last, found: Vec::new(), kept: 0, samples, unsearched: None };
    search.run(&generations).await?;
    let GenerationSearch { oldest, mut found, unsearched, .. } = search;
    found.reverse();
    let (cluster, to) = (Arc::clone(cluster), until);
    let items = try_stream! {
        if oldest > Revision(1) {
            yield WatchItem::Gap { from: Revision(1), to: oldest.before().min(to) };
        }
        let mut lost = None;
        for change in found {
            let revision = change.revision();
            match change.read(&cluster, &key).await {
                Err(Error::Compacted { .. }) => lost = Some((lost.map_or(revision, |(from, _)| from), revision)),
                event => {
                    if let Some((from, to)) = lost.take() {
                        yield WatchItem::Gap { from, to };
                    }
                    yield WatchItem::Event(event?);
                }
            }
        }
        if let Some((from, to)) = lost {
            yield WatchItem::Gap { from, to };
        }
        yield WatchItem::Progress(to);
    };
    Ok(KeyHistory { items: Box::pin(items), unsearched })
}

enum FoundVersion {
    /// A put, with its value.
    Kept(KeyValue),
    /// A put whose value was not kept.
    Put(Revision),
    Deleted(Revision),
}

impl FoundVersion {
    fn revision(&self) -> Revision {
        match self {
            Self::Kept(version) => version.mod_revision,
            Self::Put(revision) | Self::Deleted(revision) => *revision,
        }
    }

    /// Reads the change; a compaction may have taken it since it was found.
    async fn read(self, cluster: &Cluster, key: &[u8]) -> Result<Event> {
        let (revision, kind, key_value) = match self {
            Self::Kept(version) => (version.mod_revision, EventKind::Put, version),
            Self::Put(revision) => {
                let version = get(cluster, key, revision, Want::Values).await?;
                let (oldest, earlier) = (revision.after(), EarlierRevisions::Compacted);
                let version = version.ok_or(Error::Compacted { asked: revision, oldest, earlier })?;
                (revision, EventKind::Put, version)
            }
            Self::Deleted(revision) => (revision, EventKind::Delete, deleted(key, revision)),
        };
        Ok(Event { revision, sub_revision: 0, kind, key_value, origin: Origin::Live, sources: Sources::default() })
    }
}

fn deleted(key: &[u8], revision: Revision) -> KeyValue {
    KeyValue {
        key: key.to_vec().into(),
        value: bytes::Bytes::new(),
        create_revision: Revision(0),
        mod_revision: revision,
        version: 0,
        replaced: Revision(0),
        lease: 0,
    }
}

/// A search under way, from the newest revision to the oldest.
struct GenerationSearch<'a> {
    cluster: &'a Cluster,
    key: &'a [u8],
    /// The oldest readable revision; a compaction meanwhile moves it.
    oldest: Revision,
    last: Revision,
    /// The newest first.
    found: Vec<FoundVersion>,
    kept: usize,
    /// How many revisions of an absence are looked at for an earlier generation.
    samples: i64,
    unsearched: Option<Unsearched>,
}

impl GenerationSearch<'_> {
    /// A compaction during the search shortens the history; the search goes on in what is left.
    async fn run(&mut self, generations: &Generations) -> Result<()> {
        let mut tries = 0..MOST_OVERTAKEN;
        loop {
            match self.generations(generations).await {
                Err(Error::Compacted { oldest, .. }) if oldest > self.oldest && tries.next().is_some() => self.oldest = oldest,
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        let oldest = self.oldest;
        self.found.retain(|found| found.revision() >= oldest);
        Ok(())
    }

    async fn generations(&mut self, generations: &Generations) -> Result<()> {
        // Where the key was counted last: there it must be.
        let mut counted = None;
        while self.last >= self.oldest {
            let Some(version) = get(self.cluster, self.key, self.last, Want::Values).await? else {
                if counted == Some(self.last) {
                    return Err(self.cluster.untrue(&Untrue::new("counts a key at a revision at which it does not send it")));
                }
                let Some(alive) = self.earlier_generation(self.last, generations).await? else { return Ok(()) };
                let last = self.last_alive(alive, self.last).await?;
                self.found.push(FoundVersion::Deleted(last.after()));
                (self.last, counted) = (last, Some(last));
                continue;
            };
            self.generation(version).await?;
            if matches!(generations, Generations::Last(_)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads a generation from its last version backwards, to its first revision or to the first that is readable.
    async fn generation(&mut self, last: KeyValue) -> Result<()> {
        let mut version = last;
        loop {
            let (revision, is_first) = (version.mod_revision, version.version == 1);
            // Before this version there is nothing but older ones of this generation; where it begins, another may have ended.
            self.last = revision.before();
            if revision < self.oldest {
                return Ok(());
            }
            let newer = KeyValue { value: bytes::Bytes::new(), ..version.clone() };
            self.keep(version);
            if is_first || revision == self.oldest {
                return Ok(());
            }
            match get(self.cluster, self.key, self.last, Want::Values).await? {
                Some(before) if newer.follows(&before) => version = before,
                Some(_) => return Err(self.cluster.untrue(&Untrue::new("sent versions of a key that do not follow one another"))),
                None => return Ok(()),
            }
        }
    }

    fn keep(&mut self, version: KeyValue) {
        self.kept += version.value.len();
        self.found.push(if self.kept <= MAX_KEPT_BYTES {
            // A copy, so that the message's buffer can go.
            FoundVersion::Kept(KeyValue { value: bytes::Bytes::copy_from_slice(&version.value), ..version })
        } else {
            FoundVersion::Put(version.mod_revision)
        });
    }

    /// A revision before `gone`, at which the key is not there, at which it is: the newest of those looked at.
    async fn earlier_generation(&mut self, gone: Revision, generations: &Generations) -> Result<Option<Revision>> {
        let length = gone.0 - self.oldest.0;
        let step = (length / self.samples).max(1);
        let mut samples: Vec<i64> = match generations {
            Generations::All(_) => (1..=length / step).map(|place| gone.0 - place * step).chain([self.oldest.0]).collect(),
            Generations::Last(_) => Vec::new(),
        };
        let (Generations::All(hints) | Generations::Last(hints)) = generations;
        samples.extend(hints.iter().map(|revision| revision.0));
        samples.retain(|&sample| sample < gone.0 && sample >= self.oldest.0);
        samples.sort_unstable();
        samples.dedup();
        let mut found = None;
        for &sample in samples.iter().rev() {
            if is_alive(self.cluster, self.key, Revision(sample)).await? {
                found = Some(Revision(sample));
                break;
            }
        }
        if step > 1 && matches!(generations, Generations::All(_)) {
            self.note_unsearched(found.unwrap_or(self.oldest), gone, step);
        }
        Ok(found)
    }

    fn note_unsearched(&mut self, from: Revision, gone: Revision, step: i64) {
        let before = self.unsearched.unwrap_or(Unsearched { from, to: gone.before(), longest: 0 });
        self.unsearched = Some(Unsearched { from, to: before.to, longest: before.longest.max(step - 1) });
    }

    /// The last revision at which the key is there, between one at which it is and one at which it is not.
    async fn last_alive(&self, alive: Revision, gone: Revision) -> Result<Revision> {
        let (mut low, mut high) = (alive.0, gone.0);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_alive(self.cluster, self.key, Revision(middle)).await? { low = middle } else { high = middle }
        }
        Ok(Revision(low))
    }
}

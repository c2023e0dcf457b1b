//! The state at one revision and every change from there to another, out of one listing at the later one. A live etcd gives all changes
//! since a revision only up to its newest; where that is far away, what was written since is more than the whole state.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_scheduler::Replay;
use ketcd_scheduler::cluster::WatchedKind;
use ketcd_store::{At, Error as StoreError, Event, Generations, KeyRange, KeyValue, Origin, Revision, Want, WatchItem};

use super::feed::{CHUNK_ENTRIES, Feed, take_all};
use crate::error::Result;
use crate::read::walk_back;

impl Feed<'_> {
    /// Takes in the state at `begun` and returns what changed of it up to `shown`. What was both created and deleted between the two is
    /// not among it.
    pub(super) async fn seed_and_changes(&self, replay: &mut Replay, begun: Revision, shown: Revision) -> Result<Vec<Event>> {
        let mut changes = Vec::new();
        for &kind in WatchedKind::ALL {
            let below = KeyRange::prefix(format!("{}{}/", self.prefix, kind.storage_path()));
            let (mut moved, mut before) = (Vec::new(), Vec::new());
            let mut settled = |entries: Vec<KeyValue>| match kind {
                WatchedKind::Node => before.extend(entries),
                _ => take_all(&entries, |entry| self.read(entry), |version| version.seed(replay)),
            };
            let survivors = self.listed(below.clone(), (begun, shown), &mut settled, &mut moved).await?;
            for version in moved {
                self.read_back(version, begun, &mut before, &mut changes).await?;
            }
            for key in self.deleted(below, &survivors, begun).await? {
                self.read_deleted(key, (begun, shown), &mut before, &mut changes).await?;
            }
            // Schedulers know nodes in the order in which they were created.
            before.sort_by_key(|entry| entry.create_revision);
            take_all(&before, |entry| self.read(entry), |version| version.seed(replay));
        }
        changes.sort_by_key(|event| event.revision);
        Ok(changes)
    }

    /// Hands on what was last written up to `begun`; the others are `moved`. Returns the keys that were there at `begun`.
    async fn listed(
        &self,
        below: KeyRange,
        (begun, shown): (Revision, Revision),
        settled: &mut dyn FnMut(Vec<KeyValue>),
        moved: &mut Vec<KeyValue>,
    ) -> Result<Vec<Bytes>> {
        let mut survivors = Vec::new();
        let mut chunks = self.cluster.source.range(below, At::Revision(shown), Want::Values).await?.entries.ready_chunks(CHUNK_ENTRIES);
        while let Some(chunk) = chunks.next().await {
            let entries = chunk.into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
            survivors.extend(entries.iter().filter(|entry| entry.create_revision <= begun).map(|entry| entry.key.clone()));
            let (unmoved, later): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.mod_revision <= begun);
            moved.extend(later);
            settled(unmoved);
        }
        Ok(survivors)
    }

    /// Reads an object's versions back to the one at `begun`.
    async fn read_back(&self, last: KeyValue, begun: Revision, before: &mut Vec<KeyValue>, changes: &mut Vec<Event>) -> Result<()> {
        let source = self.cluster.source.as_ref();
        let mut versions = walk_back(source, last);
        let mut first = None;
        while let Some(entry) = versions.try_next().await? {
            if entry.mod_revision <= begun {
                before.push(entry);
                return Ok(());
            }
            first = Some((entry.version, entry.mod_revision));
            changes.push(Event::put(entry, Origin::Live));
        }
        if let Some((_, revision)) = first.filter(|(version, _)| *version > 1) {
            let (oldest, earlier) = (source.span().await?.oldest, source.facts().earlier);
            return Err(StoreError::Compacted { asked: revision.before(), oldest, earlier }.into());
        }
        Ok(())
    }

    /// The keys of a range at `begun` that are not among the `survivors`: where etcd counts more than them, that part is looked at more closely.
    async fn deleted(&self, below: KeyRange, survivors: &[Bytes], begun: Revision) -> Result<Vec<Bytes>> {
        /// So few keys are listed rather than counted.
        const MAX_LISTED_KEYS: usize = 16;
        let mut found = Vec::new();
        let mut parts = vec![(below, survivors)];
        while let Some((range, survivors)) = parts.pop() {
            let there = self.cluster.source.count(range.clone(), At::Revision(begun)).await?;
            if there == survivors.len() as u64 {
                continue;
            }
            if survivors.len() <= MAX_LISTED_KEYS {
                let listing = self.cluster.source.range(range, At::Revision(begun), Want::Keys).await?;
                let keys: Vec<Bytes> = listing.entries.map_ok(|entry| entry.key).try_collect().await?;
                found.extend(keys.into_iter().filter(|key| !survivors.contains(key)));
                continue;
            }
            let (first, second) = survivors.split_at(survivors.len() / 2);
            let middle = second[0].to_vec();
            parts.push((KeyRange { start: range.start, end: Some(middle.clone()) }, first));
            parts.push((KeyRange { start: middle, end: range.end }, second));
        }
        Ok(found)
    }

    /// What became of a key that was there at `begun` and is not at `shown`.
    async fn read_deleted(
        &self,
        key: Bytes,
        (begun, shown): (Revision, Revision),
        before: &mut Vec<KeyValue>,
        changes: &mut Vec<Event>,
    ) -> Result<()> {
        let mut history = self.cluster.source.key_history(key.to_vec(), shown, Generations::Last(vec![begun])).await?.items;
        let mut last = None;
        while let Some(item) = history.try_next().await? {
            match item {
                WatchItem::Event(event) if event.revision > begun => changes.push(event),
                WatchItem::Event(event) => last = Some(event.key_value),
                WatchItem::Gap { .. } | WatchItem::Progress(_) => {}
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            }
        }
        if last.is_none() {
            last = self.cluster.source.first(KeyRange::key(&key[..]), At::Revision(begun), Want::Values, 1).await?.pop();
        }
        before.extend(last);
        Ok(())
    }
}

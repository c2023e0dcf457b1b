//! Feeds the scheduler's replay: the state at some revision, then every change up to another.

use std::collections::VecDeque;

use futures_util::{StreamExt, TryStreamExt};

use ketcd_scheduler::cluster::{ClusterState, ObjectKey, WatchedKind, prefetch};
use ketcd_scheduler::{Attempt, Gates, NEWEST_SCHEDULER, OpenAttempts, Replay, Rules, Scheduler, VersionEvidence, VersionFrom, detect};
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Revision, Until, Want, WatchItem};

use super::feed::{CHUNK_ENTRIES, Feed, WatchedVersion, take_all};
use super::restarts::{Restarts, Takeover};
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::read::{Keys, Read, event_keys, events};
use crate::rights::scheduling;

impl Feed<'_> {
    /// Finds the scheduler's release in the state at `at`: in the nodes and the pods of the control plane, else in all pods.
    pub async fn version(&mut self, at: Revision) -> Result<VersionFrom> {
        let rules = Rules::new(NEWEST_SCHEDULER, &Gates::new(NEWEST_SCHEDULER));
        let mut state = ClusterState::new(rules.requests);
        // A long history has a large state: the control plane's pods are found by their names.
        let schedulers = if self.cluster.is_long().await? { "pods/kube-system/kube-scheduler" } else { "pods/kube-system/" };
        for below in ["minions/", schedulers] {
            self.load(below, at, &mut |version| version.put(&mut state)).await?;
        }
        let found = detect(&state);
        if found.evidence != VersionEvidence::Assumed {
            return Ok(found);
        }
        self.load("pods/", at, &mut |version| version.put(&mut state)).await?;
        Ok(detect(&state))
    }

    /// Returns the state at `at`, with the sums of a scheduler's rules.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn state(&self, at: Revision, scheduler: &Scheduler) -> Result<ClusterState> {
        let mut state = ClusterState::new(scheduler.profiles[0].rules.requests);
        for &kind in WatchedKind::ALL {
            let range = KeyRange::prefix(format!("{}{}/", self.prefix, kind.storage_path()));
            let mut entries: Vec<KeyValue> =
                self.cluster.source.range(range, At::Revision(at), Want::Values).await?.entries.try_collect().await?;
            // Schedulers know nodes in the order in which they were created.
            entries.sort_by_key(|entry| entry.create_revision);
            take_all(&entries, |entry| self.read(entry), |version| version.put(&mut state));
        }
        Ok(state)
    }

    /// Takes in the state at `at` as it is, without what led to it.
    pub async fn seed_state(&mut self, replay: &mut Replay, at: Revision) -> Result<()> {
        self.seed_and_changes(replay, at, at).await.map(drop)
    }

    /// Takes in the state at `begun`, then what changed of it up to `shown`, and hands each attempt to `each` once it is settled.
    ///
    /// # Errors
    /// The source cannot be read, or those of `each`.
    pub async fn walk_between<E: From<Error>>(
        &mut self,
        replay: &mut Replay,
        (begun, shown): (Revision, Revision),
        each: impl FnMut(&mut Replay, Attempt) -> Result<(), E>,
    ) -> Result<(), E> {
        let restarts = self.restarts(begun, shown).await?;
        let changes = self.seed_and_changes(replay, begun, shown).await?;
        let mut walker = Walker::new(replay, restarts, each);
        prefetch(&changes, |event| self.read_event(event), &mut |version: WatchedVersion<'_>| walker.take(version))?;
        walker.end()
    }

    /// Takes in the state at `at`: nodes by their history from `oldest` on, so that what the cache keeps of it is right, then the rest.
    pub async fn seed(&mut self, replay: &mut Replay, oldest: Revision, at: Revision) -> Result<()> {
        self.seed_nodes(replay, oldest, at).await?;
        for &kind in WatchedKind::ALL {
            if kind != WatchedKind::Node {
                self.load(&format!("{}/", kind.storage_path()), at, &mut |version| version.seed(replay)).await?;
            }
        }
        Ok(())
    }

    async fn seed_nodes(&mut self, replay: &mut Replay, oldest: Revision, at: Revision) -> Result<()> {
        let mut first: Vec<KeyValue> = Vec::new();
        let range = KeyRange::prefix(format!("{}minions/", self.prefix));
        let mut listing = self.cluster.source.range(range.clone(), At::Revision(oldest), Want::Values).await?;
        while let Some(entry) = listing.entries.next().await.transpose()? {
            first.push(entry);
        }
        first.sort_by_key(|entry| entry.mod_revision);
        take_all(&first, |entry| self.read(entry), |version| version.seed(replay));
        if at > oldest {
            self.follow::<Error>(vec![range], oldest.after(), at, &mut |version| {
                version.advance(replay);
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Takes in every change from `from` to `until` and hands each attempt to `each` once it is settled.
    ///
    /// # Errors
    /// The source cannot be read, or those of `each`.
    pub async fn walk<E: From<Error>>(
        &mut self,
        replay: &mut Replay,
        from: Revision,
        until: Revision,
        each: impl FnMut(&mut Replay, Attempt) -> Result<(), E>,
    ) -> Result<(), E> {
        if from > until {
            return Ok(());
        }
        let watched = scheduling(self.prefix.trim_end_matches('/'));
        let restarts = self.restarts(from.before(), until).await?;
        let mut walker = Walker::new(replay, restarts, each);
        self.follow(watched, from, until, &mut |version| walker.take(version)).await?;
        walker.end()
    }

    /// Hands on every change of some keys that concerns a scheduler; the next ones are read meanwhile.
    pub(super) async fn follow<E: From<Error>>(
        &self,
        ranges: Vec<KeyRange>,
        from: Revision,
        until: Revision,
        take: &mut dyn FnMut(WatchedVersion) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunks = self.cluster.source.watch_ranges(ranges.clone(), from, Until::Revision(until)).ready_chunks(CHUNK_ENTRIES);
        // Missing revisions before this one are reported already, in one piece though some of their changes are left.
        let mut reported = Revision(0);
        let mut missing = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let mut events = Vec::with_capacity(chunk.len());
            for item in chunk {
                match item.map_err(Error::from)? {
                    WatchItem::Event(event) => events.push(event),
                    WatchItem::Gap { from, .. } if from < reported => {}
                    WatchItem::Gap { from, mut to } => {
                        if let Some(between) = self.between(&ranges, from).await? {
                            (to, reported) = (between.next.before(), between.next);
                            events.extend(between.deletions);
                        }
                        // What a log does not hold was said once, by its policy: revisions that are not in it are of what it leaves out.
                        if !self.cluster.has_logs_alone() {
                            missing.push((from, to));
                        }
                    }
                    WatchItem::Progress(_) => {}
                    #[cfg(not(ketcd_exhaustive))]
                    _ => unreachable!("of another version"),
                }
            }
            prefetch(&events, |event| self.read_event(event), &mut *take)?;
        }
        if !missing.is_empty() {
            self.cluster.note(Notice::AttemptsMissing(missing));
        }
        Ok(())
    }

    /// The attempts of one pod between two revisions, each with the revision since when it was under way and the one that shows it.
    pub async fn attempts(
        &mut self,
        key: &ObjectKey,
        scheduler: &Scheduler,
        oldest: Revision,
        until: Revision,
    ) -> Result<Vec<(Revision, Attempt, Revision)>> {
        let events = KeyRange::prefix(format!("{}events/{}/{}.", self.prefix, key.namespace, key.name));
        let range = KeyRange::key(format!("{}pods/{}/{}", self.prefix, key.namespace, key.name));
        let mut replay = Replay::new(scheduler.clone(), false);
        let mut begun = None;
        let mut found = Vec::new();
        for entry in self.cluster.source.first(range.clone(), At::Revision(oldest), Want::Values, 1).await? {
            begun = Some(oldest);
            self.read(&entry).into_iter().for_each(|version| version.seed(&mut replay));
        }
        let mut changes = if self.cluster.is_long().await? {
            let mut beside = event_keys(self.cluster, &key.namespace, &key.name, until).await?;
            let ranges = std::iter::once(range.clone()).chain(beside.keys().map(|key| KeyRange::key(&key[..]))).collect();
            // For a pod that exists, no earlier pod of the name is looked for.
            if self.cluster.source.count(range.clone(), At::Revision(until)).await? > 0 {
                beside.insert(range.start, vec![until]);
            }
            self.read_events(Keys { beside, ..Keys::many(ranges) }, oldest, until).await?
        } else {
            let mut changes = self.read_events(Keys::many(vec![range]), oldest, until).await?;
            changes.extend(self.read_events(Keys::many(vec![events]), oldest, until).await?);
            changes
        };
        changes.sort_by_key(|event| event.revision);
        for event in &changes {
            let of_pod = !self.is_event(&event.key_value.key);
            if of_pod && event.kind == EventKind::Put && begun.is_none() {
                // A namesake made later is another pod; what became of this one stays the answer until then.
                begun = Some(event.revision);
                found.clear();
            }
            for attempt in self.read_event(event).map(|version| version.advance(&mut replay)).unwrap_or_default() {
                let since = if attempt.event_only { Revision(attempt.pod.mod_revision) } else { begun.unwrap_or(event.revision) };
                found.push((since, attempt, event.revision));
                begun = begun.map(|_| event.revision);
            }
            if of_pod && event.kind == EventKind::Delete {
                begun = None;
            }
        }
        Ok(found)
    }

    async fn read_events(&self, keys: Keys, oldest: Revision, until: Revision) -> Result<Vec<Event>> {
        let read: Vec<Read<Event>> = events(self.cluster, keys, Until::Revision(until)).try_collect().await?;
        let events = read.into_iter().filter_map(|read| if let Read::Item(event) = read { Some(event) } else { None });
        Ok(events.filter(|event| event.revision > oldest).collect())
    }
}

/// A walk through the history: the attempts found, and what they are handed to.
struct Walker<'r, F> {
    replay: &'r mut Replay,
    open: OpenAttempts,
    /// When other scheduler processes took over.
    restarts: VecDeque<Takeover>,
    each: F,
}

impl<'r, F> Walker<'r, F> {
    fn new(replay: &'r mut Replay, restarts: Restarts, each: F) -> Self {
        if let Some(locked) = restarts.locked {
            replay.trace_restarts(locked);
        }
        Self { replay, open: OpenAttempts::default(), restarts: restarts.takeovers, each }
    }

    /// Takes in a change; hands on the attempts that are settled by it.
    fn take<E>(&mut self, version: WatchedVersion<'_>) -> Result<(), E>
    where
        F: FnMut(&mut Replay, Attempt) -> Result<(), E>,
    {
        let revision = version.revision();
        while self.restarts.front().is_some_and(|takeover| takeover.revision <= revision) {
            self.restarts.pop_front().into_iter().for_each(|takeover| self.replay.restart(takeover.revision, takeover.schedulers));
        }
        self.open.add(version.advance(self.replay));
        while let Some(attempt) = self.open.next(self.replay, revision) {
            (self.each)(self.replay, attempt)?;
        }
        Ok(())
    }

    /// Hands on the attempts that are left at the end.
    fn end<E>(mut self) -> Result<(), E>
    where
        F: FnMut(&mut Replay, Attempt) -> Result<(), E>,
    {
        while let Some(attempt) = self.open.next_at_end() {
            (self.each)(self.replay, attempt)?;
        }
        Ok(())
    }
}

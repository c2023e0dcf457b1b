//! Feeds the scheduler's replay from a source: the state at some revision, then every change up to another.

use futures_util::StreamExt;

use crate::cluster::{ClusterState, Encoded, ObjectKey, Watched};
use crate::kube::Decoder;
use crate::scheduler::{Attempt, Gates, NEWEST_SCHEDULER, Replay, Rules, Scheduler, VersionFrom, detect};
use crate::store::{At, Event, EventKind, KeyRange, KeyValue, Revision, Until, Want, WatchItem};

use super::Result;
use super::output::note;
use super::session::Session;

/// Reads what a scheduler watches.
pub struct Feed<'s> {
    session: &'s Session,
    prefix: String,
    decoder: &'s Decoder,
}

impl<'s> Feed<'s> {
    /// A feed from a session's source.
    pub async fn new(session: &'s Session) -> Result<Self> {
        let prefix = format!("{}/", session.prefix().await?);
        Ok(Self { session, prefix, decoder: &session.telling })
    }

    /// Finds the scheduler's release in the state at `at`: in the nodes and the pods of the control plane, else in all pods.
    pub async fn version(&mut self, at: Revision) -> Result<VersionFrom> {
        let rules = Rules::new(NEWEST_SCHEDULER, &Gates::new(NEWEST_SCHEDULER));
        let mut state = ClusterState::new(rules.requests);
        for below in ["minions/", "pods/kube-system/"] {
            self.load(below, at, &mut |key, object, revision| {
                state.apply(key, Some(object), revision);
            })
            .await?;
        }
        let found = detect(&state);
        if !found.evidence.starts_with("assumed") {
            return Ok(found);
        }
        self.load("pods/", at, &mut |key, object, revision| {
            state.apply(key, Some(object), revision);
        })
        .await?;
        Ok(detect(&state))
    }

    /// Takes in the state at `at`: nodes by their history from `oldest` on, so that what the cache keeps of it is right, then the rest.
    pub async fn seed(&mut self, replay: &mut Replay, oldest: Revision, at: Revision) -> Result<()> {
        self.seed_nodes(replay, oldest, at).await?;
        for (below, kind) in Watched::KEYS {
            if kind != Watched::Node {
                self.load(below, at, &mut |key, object, revision| replay.seed(key, object, revision)).await?;
            }
        }
        Ok(())
    }

    async fn seed_nodes(&mut self, replay: &mut Replay, oldest: Revision, at: Revision) -> Result<()> {
        let mut first: Vec<KeyValue> = Vec::new();
        let range = KeyRange::prefix(format!("{}minions/", self.prefix));
        let mut listing = self.session.source.range(range.clone(), At::Revision(oldest), Want::Values).await?;
        while let Some(entry) = listing.entries.next().await.transpose()? {
            first.push(entry);
        }
        first.sort_by_key(|entry| entry.mod_revision);
        for entry in &first {
            self.decoded(entry, &mut |key, object, revision| replay.seed(key, object, revision));
        }
        if at > oldest {
            let mut changes = self.session.source.watch(range, oldest.after(), Until::Revision(at));
            while let Some(item) = changes.next().await.transpose()? {
                if let WatchItem::Event(event) = item {
                    self.change(replay, &event.key_value, event.kind, event.revision);
                }
            }
        }
        Ok(())
    }

    /// Takes in every change from `from` to `until` and hands each attempt to `each` as it comes.
    pub async fn walk(
        &mut self,
        replay: &mut Replay,
        from: Revision,
        until: Revision,
        mut each: impl FnMut(&mut Replay, Attempt) -> Result<()>,
    ) -> Result<()> {
        if from > until {
            return Ok(());
        }
        let mut changes = self.session.source.watch(KeyRange::prefix(self.prefix.clone()), from, Until::Revision(until));
        while let Some(item) = changes.next().await.transpose()? {
            match item {
                WatchItem::Event(event) => {
                    for attempt in self.change(replay, &event.key_value, event.kind, event.revision) {
                        each(replay, attempt)?;
                    }
                }
                WatchItem::Gap { from, to } => note(&format!("revisions {from} to {to} cannot be read; attempts within them are missing")),
                WatchItem::Progress(_) => {}
            }
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
        let mut listing = self.session.source.range(range.clone(), At::Revision(oldest), Want::Values).await?;
        while let Some(entry) = listing.entries.next().await.transpose()? {
            begun = Some(oldest);
            self.decoded(&entry, &mut |key, object, revision| replay.seed(key, object, revision));
        }
        let mut changes = self.events(range, oldest, until).await?;
        changes.extend(self.events(events, oldest, until).await?);
        changes.sort_by_key(|event| event.revision);
        for event in &changes {
            let of_pod = !self.is_event(&event.key_value.key);
            if of_pod && event.kind == EventKind::Put && begun.is_none() {
                // A namesake made later is another pod; what became of this one stays the answer until then.
                begun = Some(event.revision);
                found.clear();
            }
            for attempt in self.change(&mut replay, &event.key_value, event.kind, event.revision) {
                let since = if attempt.told { Revision(attempt.pod.mod_revision) } else { begun.unwrap_or(event.revision) };
                found.push((since, attempt, event.revision));
                begun = begun.map(|_| event.revision);
            }
            if of_pod && event.kind == EventKind::Delete {
                begun = None;
            }
        }
        Ok(found)
    }

    async fn events(&self, range: KeyRange, oldest: Revision, until: Revision) -> Result<Vec<Event>> {
        let mut found = Vec::new();
        let mut changes = self.session.source.watch(range, oldest.after(), Until::Revision(until));
        while let Some(item) = changes.next().await.transpose()? {
            if let WatchItem::Event(event) = item {
                found.push(event);
            }
        }
        Ok(found)
    }

    fn change(&mut self, replay: &mut Replay, entry: &KeyValue, kind: EventKind, revision: Revision) -> Vec<Attempt> {
        let stored = Encoded::Stored { decoder: self.decoder, key: &entry.key, value: &entry.value, mod_revision: revision.0 };
        match self.key(&entry.key) {
            Some(key) => replay.advance(&key, (kind == EventKind::Put).then_some(stored), revision.0),
            None if kind == EventKind::Put && self.is_event(&entry.key) => replay.hear(stored, revision.0).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Whether a key is an Event's.
    fn is_event(&self, key: &[u8]) -> bool {
        key.strip_prefix(self.prefix.as_bytes()).is_some_and(|path| path.starts_with(b"events/"))
    }

    async fn load(&mut self, below: &str, at: Revision, put: &mut (dyn FnMut(&ObjectKey, Encoded, i64) + Send)) -> Result<()> {
        let range = KeyRange::prefix(format!("{}{below}", self.prefix));
        let mut listing = self.session.source.range(range, At::Revision(at), Want::Values).await?;
        while let Some(entry) = listing.entries.next().await.transpose()? {
            self.decoded(&entry, put);
        }
        Ok(())
    }

    /// Hands an entry on, if a scheduler watches its kind.
    fn decoded(&mut self, entry: &KeyValue, put: &mut (dyn FnMut(&ObjectKey, Encoded, i64) + Send)) {
        if let Some(key) = self.key(&entry.key) {
            let mod_revision = entry.mod_revision.0;
            put(&key, Encoded::Stored { decoder: self.decoder, key: &entry.key, value: &entry.value, mod_revision }, mod_revision);
        }
    }

    fn key(&self, key: &[u8]) -> Option<ObjectKey> {
        ObjectKey::parse(std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?)
    }
}

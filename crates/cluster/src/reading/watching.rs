//! Changes as they come, and what is there before the first.

use std::sync::Arc;
use std::time::Instant;

use ketcd_kube::{Body, Kind, RegistryKey};
use ketcd_store::{At, Error as StoreError, KeyRange, Revision, Until, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;
use crate::read::{Arrivals, History, Keys, all};

/// A watch of some keys.
pub struct Watching<'c> {
    cluster: &'c Cluster,
    keys: Keys,
    from: Revision,
    /// The oldest and the newest revision when it began.
    oldest: Revision,
    newest: Revision,
    /// Where it ends.
    until: Until,
    /// Whether leases are read, which show who wrote what was there when it began.
    names_writers: bool,
    begun: Instant,
}

/// What an address names before the changes.
pub struct Initial {
    /// The object's key, or the prefix of many.
    pub key: String,
    /// What a person would type for the key.
    pub name: String,
    /// What is there.
    pub state: InitialState,
}

/// What is there before the changes.
pub enum InitialState {
    /// Nothing.
    Absent,
    /// One object.
    Present {
        /// The object.
        body: Body,
        /// Its kind, where it is known.
        kind: Option<Arc<Kind>>,
    },
    /// Many objects, which are not read.
    Many,
}

impl Cluster {
    /// Begins to watch keys from a revision on: the one given, else the one looked at, else the next of a live etcd and the first of a file,
    /// which has no next one.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn watching(&self, keys: Keys, from: Option<Revision>) -> Result<Watching<'_>> {
        let begun = Instant::now();
        let span = self.source.span().await?;
        let from = match (from, self.at) {
            (Some(revision), _) | (None, At::Revision(revision)) => revision,
            (None, At::Newest) if self.source.is_shared() => span.newest.after(),
            (None, At::Newest) => {
                self.note(Notice::DoesNotChange { oldest: span.oldest });
                Revision(1)
            }
        };
        let (oldest, newest) = (span.oldest, span.newest);
        Ok(Watching { cluster: self, keys, from, oldest, newest, until: Until::Forever, names_writers: true, begun })
    }

    /// Begins to watch keys after a revision that was shown, when `newest` was the newest. It does not say who changed them.
    pub fn watching_after(&self, keys: Keys, shown: Revision, newest: Revision) -> Watching<'_> {
        let (from, until, begun) = (shown.after(), Until::Forever, Instant::now());
        Watching { cluster: self, keys, from, oldest: shown, newest, until, names_writers: false, begun }
    }
}

impl<'c> Watching<'c> {
    /// Ends it with a revision.
    #[must_use]
    pub fn until(self, last: Revision) -> Self {
        Self { until: Until::Revision(last), ..self }
    }

    /// Returns the revision of the first change.
    pub fn from(&self) -> Revision {
        self.from
    }

    /// Returns what the addresses name before the first change, and at which revision. Nothing is known of what was there behind a compaction:
    /// the changes begin with a gap then.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn initial(&mut self) -> Result<Option<(Revision, Vec<Initial>)>> {
        if !self.cluster.source.is_shared() {
            return Ok(None);
        }
        while self.from > self.oldest && self.from <= self.newest.after() {
            if let Some(initial) = self.at(self.from.before()).await? {
                return Ok(Some((self.from.before(), initial)));
            }
            // A compaction took that revision meanwhile.
            let is_next = self.from == self.newest.after();
            let span = self.cluster.source.span().await?;
            (self.oldest, self.newest) = (span.oldest, span.newest);
            if is_next {
                self.from = span.newest.after();
            }
        }
        Ok(None)
    }

    /// What the addresses name at a revision; `None` where that was compacted.
    async fn at(&self, revision: Revision) -> Result<Option<Vec<Initial>>> {
        let (prefix, kinds) = (self.cluster.prefix().await?, self.cluster.kinds().await?);
        let mut found = Vec::new();
        for (key, is_whole) in self.keys.addresses.iter().map(|address| address.key(prefix)) {
            if !is_whole {
                found.push((key, None));
                continue;
            }
            match all(self.cluster.source.as_ref(), KeyRange::key(key.as_str()), revision, Want::Values).await {
                Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => return Ok(None),
                entries => found.push((key, Some(entries?.pop()))),
            }
        }
        let mut initial = Vec::new();
        for (key, entry) in found {
            let Some(entry) = entry else {
                initial.push(Initial { name: key.clone(), key, state: InitialState::Many });
                continue;
            };
            let name = self.cluster.name_of(key.as_bytes()).await?;
            let kind = RegistryKey::parse(prefix, key.as_bytes(), kinds).object().and_then(|path| path.kind().cloned());
            let body = entry.map(|entry| self.cluster.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
            let state = body.map_or(InitialState::Absent, |body| InitialState::Present { body, kind });
            initial.push(Initial { key, name, state });
        }
        Ok(Some(initial))
    }

    /// Returns the changes: without an end on a live etcd, up to the newest revision in a file. A change that arrives was made just now.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn history(&self) -> Result<History<'c>> {
        let (cluster, newest) = (self.cluster, self.newest);
        let clock = match self.from <= newest {
            false => Arc::default(),
            true if self.names_writers => cluster.clock_of_writers(&[], &[], &[]).await?,
            true => cluster.clock_around(&[], &[]).await?,
        };
        History::arriving(cluster, self.keys.clone(), (self.from, self.until), clock, Arrivals::after(newest, self.begun)).await
    }
}

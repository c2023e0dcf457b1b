//! What all requests share: the data, the catalogs of the moments looked at, and counts that continued lists need.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use ketcd_cluster::api::{self, Definitions};
use ketcd_kube::api::Catalog;
use ketcd_kube::rbac::Policy;
use ketcd_store::{At, Error as StoreError, KeyRange, Revision};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::limits::Limits;
use super::moment::{After, Moment};
use super::page::Page;
use super::replay::Replay;
use super::served_cluster::Served;
use crate::request::MomentPath;
use crate::wire::{Result, Status, Turns};

/// How many catalogs, times and counts are kept.
const MAX_ANSWERS_KEPT: usize = 64;

/// How many policies are kept: those of large clusters have some megabytes.
const KEPT_POLICIES: usize = 4;

/// The server's state.
pub(crate) struct App {
    /// The data.
    pub data: Arc<Served>,
    /// What clients may take.
    pub limits: Limits,
    /// The turns in which answers are written.
    pub turns: Turns,
    /// What is replayed; else the moment asked for stays.
    pub replay: Option<Arc<Replay>>,
    /// The page in a browser, where it is served.
    pub page: Option<Arc<Page>>,
    catalogs: Mutex<BTreeMap<Revision, Known>>,
    newest: Mutex<Option<(Instant, Known)>>,
    policies: Mutex<BTreeMap<Revision, Arc<Policy>>>,
    times: Mutex<BTreeMap<Revision, Timestamp>>,
    /// How many keys of a range are left from a start key on, at a revision.
    counts: Mutex<HashMap<(Revision, Vec<u8>), u64>>,
}

/// A catalog, which moments with the same definitions share.
#[derive(Clone)]
struct Known {
    /// A hash of the definitions' keys and revisions.
    definitions: [u8; 32],
    catalog: Arc<Catalog>,
}

impl App {
    /// The state of a server that has answered nothing yet.
    pub(crate) fn new(data: Arc<Served>, replay: Option<Arc<Replay>>, page: Option<Arc<Page>>, limits: Limits) -> Self {
        let (catalogs, newest, policies, times, counts) =
            (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        Self { data, limits, turns: Turns::new(), replay, page, catalogs, newest, policies, times, counts }
    }

    /// Returns the moment that a path asks for.
    pub(crate) async fn moment(&self, path: &MomentPath) -> Result<Moment> {
        let at = match path {
            MomentPath::Asked => match &self.replay {
                Some(replay) => {
                    let revision = replay.revision().await;
                    return Ok(Moment { revision, time: Some(replay.now()), after: After::Replay });
                }
                None => self.data.at(),
            },
            MomentPath::Newest => At::Newest,
            MomentPath::Revision(number) => At::Revision(Revision(*number)),
            MomentPath::Time(text) => {
                let (revision, time) = self.data.revision_at(text).await?;
                return Ok(Moment { revision, time: Some(time), after: After::Nothing });
            }
        };
        let span = self.data.source().span().await?;
        match at {
            At::Newest => {
                let after = if self.data.is_live() { After::Live } else { After::Nothing };
                Ok(Moment { revision: span.newest, time: None, after })
            }
            At::Revision(revision) if revision > span.newest => {
                Err(Status::bad_request(format!("revision {revision} is in the future; the newest is {}", span.newest)))
            }
            At::Revision(revision) if revision < span.oldest => {
                let earlier = self.data.source().facts().earlier;
                Err(StoreError::Compacted { asked: revision, oldest: span.oldest, earlier }.into())
            }
            At::Revision(revision) => Ok(Moment { revision, time: None, after: After::Nothing }),
        }
    }

    /// Returns the time that ages are counted to; none where nothing shows it.
    pub(crate) async fn time_of(&self, moment: Moment) -> Result<Option<Timestamp>> {
        if let Some(time) = moment.time {
            return Ok(Some(time));
        }
        if moment.after == After::Live {
            return Ok(self.data.time_of(At::Newest).await?);
        }
        if let Some(time) = lock(&self.times).get(&moment.revision) {
            return Ok(Some(*time));
        }
        let newest = self.data.source().span().await?.newest;
        let is_asked = self.data.at() == At::Newest && moment.revision == newest;
        let at = if is_asked { At::Newest } else { At::Revision(moment.revision) };
        let time = self.data.time_of(at).await?;
        time.into_iter().for_each(|time| keep(&mut lock(&self.times), MAX_ANSWERS_KEPT, moment.revision, time));
        Ok(time)
    }

    /// Returns what is served at a moment.
    pub(crate) async fn catalog(&self, moment: Moment) -> Result<Arc<Catalog>> {
        if moment.after != After::Nothing {
            let newest = lock(&self.newest).clone();
            if let Some((_, known)) = newest.filter(|(read, _)| read.elapsed() < self.limits.fresh) {
                return Ok(known.catalog);
            }
        } else if let Some(known) = lock(&self.catalogs).get(&moment.revision) {
            return Ok(Arc::clone(&known.catalog));
        }
        let known = self.read_catalog(moment.revision).await?;
        let catalog = Arc::clone(&known.catalog);
        if moment.after != After::Nothing {
            *lock(&self.newest) = Some((Instant::now(), known));
        } else {
            keep(&mut lock(&self.catalogs), MAX_ANSWERS_KEPT, moment.revision, known);
        }
        Ok(catalog)
    }

    async fn read_catalog(&self, revision: Revision) -> Result<Known> {
        let cluster = self.data.cluster();
        let definitions = Definitions::read(cluster, revision).await?;
        let mut hash = Sha256::new();
        for (key, revision) in definitions.versions() {
            hash.update(key.len().to_le_bytes());
            hash.update(key);
            hash.update(revision.0.to_le_bytes());
        }
        Ok(self.known(hash.finalize().into(), || definitions.catalog(cluster)))
    }

    /// The catalog of these definitions, made only if no other moment's is the same.
    fn known(&self, definitions: [u8; 32], make: impl FnOnce() -> Catalog) -> Known {
        let newest = lock(&self.newest).as_ref().map(|(_, known)| known.clone());
        let is_same = |known: &Known| known.definitions == definitions;
        let found = newest.filter(is_same).or_else(|| lock(&self.catalogs).values().find(|known| is_same(known)).cloned());
        found.unwrap_or_else(|| Known { definitions, catalog: Arc::new(make()) })
    }

    /// Returns the roles and bindings of a moment.
    pub(crate) async fn policy(&self, moment: Moment) -> Result<Arc<Policy>> {
        if let Some(policy) = lock(&self.policies).get(&moment.revision) {
            return Ok(Arc::clone(policy));
        }
        let policy = Arc::new(api::policy(self.data.cluster(), moment.revision).await?);
        keep(&mut lock(&self.policies), KEPT_POLICIES, moment.revision, Arc::clone(&policy));
        Ok(policy)
    }

    /// Returns how many keys there are in a range, of which a list reads some: counted once for all its pages.
    pub(crate) async fn count(&self, keys: KeyRange, revision: Revision) -> Result<u64> {
        if let Some(count) = lock(&self.counts).remove(&(revision, keys.start.clone())) {
            return Ok(count);
        }
        Ok(self.data.source().count(keys, At::Revision(revision)).await?)
    }

    /// Remembers how many keys are left from `start` on.
    pub(crate) fn set_count(&self, start: Vec<u8>, revision: Revision, count: u64) {
        let mut counts = lock(&self.counts);
        if counts.len() >= MAX_ANSWERS_KEPT {
            counts.clear();
        }
        counts.insert((revision, start), count);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an entry; the oldest revision makes room for it.
fn keep<T>(kept: &mut BTreeMap<Revision, T>, most: usize, revision: Revision, value: T) {
    if kept.len() >= most {
        kept.pop_first();
    }
    kept.insert(revision, value);
}

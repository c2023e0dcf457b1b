//! What the page is answered from: the cluster as its newest revision stands, the index of its objects, and the moments that are looked at.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use ketcd_cluster::browser::{Families, Index, Needed};
use ketcd_cluster::read::Read;
use ketcd_cluster::{AttributedChange, Cluster, Error, Result, TryStreamExt};
use ketcd_history::clock::Clock;
use ketcd_history::diff::ManagedFields;
use ketcd_render::browser::{FullRow, RowSet, finding_ids};
use ketcd_render::command_line::Invocation;
use ketcd_store::{At, Revision};
use tokio::sync::{Mutex as AsyncMutex, OnceCell, OwnedMutexGuard, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::served_cluster::Served;
use super::waiting::waited;

/// How long the newest revision of a growing source counts as the newest.
const FRESH: Duration = Duration::from_secs(2);
/// How many moments are kept.
const KEPT_MOMENTS: usize = 8;
/// Bytes of answers that are kept.
const KEPT_ANSWER_BYTES: usize = 16 << 20;
/// A cluster with no more objects and changes than these has every row read once and kept.
const MAX_KEPT_ROWS: usize = 5_000;
const MAX_KEPT_CHANGES: usize = 40_000;
/// How many questions are answered at once that take much of the machine: each may hold some hundred megabytes of a large cluster.
const HEAVY_QUESTIONS: usize = 1;
/// How many others.
const LIGHT_QUESTIONS: usize = 4;

/// Before everything that was written: objects without a history are of revision 0.
pub(crate) const BEFORE_ALL: Revision = Revision(-1);

/// What the page is answered from.
pub(crate) struct Page {
    served: Arc<Served>,
    /// How ketcd was called: suggested commands begin so.
    pub invocation: Invocation,
    /// The turns of questions that take much, and of others.
    heavy: Semaphore,
    light: Semaphore,
    state: AsyncMutex<Option<(Instant, Arc<Stand>)>>,
}

/// A cluster as it stands at its newest revision.
pub(crate) struct Stand {
    /// The cluster at its newest revision.
    pub cluster: Arc<Cluster>,
    /// That revision.
    pub newest: Revision,
    index: OnceCell<Index>,
    families: OnceCell<Families>,
    /// The families of the namespace that was asked about last.
    namespace_families: AsyncMutex<Option<(Arc<str>, Families)>>,
    rows: OnceCell<Option<Vec<(usize, FullRow)>>>,
    later: OnceCell<HashSet<String>>,
    moments: Mutex<VecDeque<(Revision, Arc<Cluster>)>>,
    answers: Mutex<VecDeque<(String, Bytes)>>,
    /// The questions that are being answered.
    asked: Mutex<HashMap<String, Weak<AsyncMutex<()>>>>,
}

impl Page {
    /// A page of a served cluster; nothing is read yet.
    pub(crate) fn new(served: Arc<Served>, invocation: Invocation) -> Self {
        Self {
            served,
            invocation,
            heavy: Semaphore::new(HEAVY_QUESTIONS),
            light: Semaphore::new(LIGHT_QUESTIONS),
            state: AsyncMutex::default(),
        }
    }

    /// Waits for the turn of a question, which may take much of the machine.
    pub(crate) async fn turn(&self, is_heavy: bool) -> Option<SemaphorePermit<'_>> {
        if is_heavy { &self.heavy } else { &self.light }.acquire().await.ok()
    }

    /// Reads what the first question needs, before it is asked. What goes wrong is said to who asks.
    pub(crate) async fn prepare(&self) {
        if let Ok(stand) = self.stand().await {
            let _ = stand.index().await;
        }
    }

    /// Returns what is served.
    pub(crate) fn served(&self) -> &Served {
        &self.served
    }

    /// Returns the cluster as it stands now.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn stand(&self) -> Result<Arc<Stand>> {
        let mut state = self.state.lock().await;
        if let Some((read, stand)) = state.as_ref()
            && (!self.served.is_live() || read.elapsed() < FRESH)
        {
            return Ok(Arc::clone(stand));
        }
        let newest = self.served.source().span().await?.newest;
        if let Some((read, stand)) = state.as_mut()
            && stand.newest == newest
        {
            *read = Instant::now();
            return Ok(Arc::clone(stand));
        }
        let cluster = self.served.shared();
        let cluster = if self.served.is_live() { cluster.anew(At::Newest) } else { cluster.at_moment(At::Newest) };
        let stand = Arc::new(Stand::new(Arc::new(cluster), newest));
        *state = Some((Instant::now(), Arc::clone(&stand)));
        Ok(stand)
    }
}

impl Stand {
    fn new(cluster: Arc<Cluster>, newest: Revision) -> Self {
        let (index, families, rows, later) = (OnceCell::new(), OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self {
            cluster,
            newest,
            index,
            families,
            namespace_families: AsyncMutex::default(),
            rows,
            later,
            moments: Mutex::default(),
            answers: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Returns the cluster at a revision.
    pub(crate) fn at(&self, revision: Revision) -> Arc<Cluster> {
        if revision >= self.newest {
            return Arc::clone(&self.cluster);
        }
        let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = moments.iter().find(|(known, _)| *known == revision) {
            return Arc::clone(known);
        }
        let cluster = Arc::new(self.cluster.at_moment(At::Revision(revision)));
        if moments.len() >= KEPT_MOMENTS {
            moments.pop_front();
        }
        moments.push_back((revision, Arc::clone(&cluster)));
        cluster
    }

    /// Returns all objects.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn index(&self) -> Result<&Index> {
        self.index.get_or_try_init(|| Index::read(&self.cluster)).await
    }

    /// Returns who owns whom.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn families(&self) -> Result<&Families> {
        let index = self.index().await?;
        self.families.get_or_try_init(|| Families::read(&self.cluster, index, None)).await
    }

    /// Returns what an object owns, each with its uid. Of a large cluster the namespace alone is read.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn owned(&self, place: usize) -> Result<Vec<(usize, String)>> {
        let index = self.index().await?;
        let owned = |families: &Families| families.owned(place).map(|life| (life, families.of(life).uid.to_string())).collect();
        let namespace = &index.lives[place].namespace;
        if namespace.is_empty() || self.families.initialized() || self.is_small().await? {
            return Ok(owned(self.families().await?));
        }
        let mut kept = self.namespace_families.lock().await;
        match kept.as_ref().filter(|(of, _)| of == namespace) {
            Some((_, families)) => Ok(owned(families)),
            None => {
                let families = Families::read(&self.cluster, index, Some(namespace)).await?;
                let owned = owned(&families);
                *kept = Some((Arc::clone(namespace), families));
                Ok(owned)
            }
        }
    }

    /// Whether the cluster is so small that everything about its objects is read at once.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn is_small(&self) -> Result<bool> {
        let index = self.index().await?;
        Ok(index.objects() <= MAX_KEPT_ROWS && index.changes_within(BEFORE_ALL, self.newest) <= MAX_KEPT_CHANGES)
    }

    /// Returns the rows of all objects by their places in the index, where the cluster is small; else `None`.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn all_rows(&self) -> Result<Option<&[(usize, FullRow)]>> {
        let rows = self.rows.get_or_try_init(|| async {
            if !self.is_small().await? {
                return Ok(None);
            }
            let lives: Vec<usize> = self.index().await?.shown(true).map(|(life, _)| life).collect();
            self.rows_of(&lives, (BEFORE_ALL, self.newest)).await.map(Some)
        });
        Ok(rows.await?.as_deref())
    }

    /// Reads the rows of some objects in a window.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn rows_of(&self, lives: &[usize], window: (Revision, Revision)) -> Result<Vec<(usize, FullRow)>> {
        let (index, clock) = (self.index().await?, self.clock().await?);
        let mut rows = RowSet::new(ManagedFields::Hidden);
        let mut changes = index.changes_of(&self.cluster, lives, window, Arc::clone(&clock), Needed::Rows).await?;
        while let Some(read) = changes.try_next().await? {
            if let Read::Item(change) = read {
                rows.observe(&change, clock.leases()).map_err(|error| Error::invalid(error.to_string()))?;
            }
        }
        let wanted: HashSet<usize> = lives.iter().copied().collect();
        let gone_by = clock.date(index.first).map(|dated| dated.time.as_millisecond());
        let mut found: Vec<(usize, FullRow)> = Vec::new();
        for mut row in rows.finish() {
            let Some(life) = index.life_at(row.key(), row.first()).filter(|life| wanted.contains(life)) else { continue };
            if index.lives[life].is_vanished {
                row.vanish(gone_by);
            }
            found.push((life, row));
        }
        found.sort_by_key(|(life, _)| *life);
        Ok(found)
    }

    /// Returns all changes of some objects in a window, oldest first.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn changes(&self, lives: &[usize], window: (Revision, Revision)) -> Result<Vec<AttributedChange>> {
        let changes = self.index().await?.changes_of(&self.cluster, lives, window, self.clock().await?, Needed::Changes).await?;
        let change = |read| std::future::ready(Ok(if let Read::Item(change) = read { Some(change) } else { None }));
        changes.try_filter_map(change).try_collect().await
    }

    /// Returns when revisions were written, and who was alive.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn clock(&self) -> Result<Arc<Clock>> {
        self.cluster.clock_of_writers(&[], &[], &[]).await
    }

    /// Returns the ids of what is wrong at the newest revision.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn later(&self) -> Result<&HashSet<String>> {
        self.later.get_or_try_init(|| async { Ok(finding_ids(&waited(self.cluster.still_wrong())?)) }).await
    }

    /// Waits until nobody else is being answered the same question.
    pub(crate) async fn alone(&self, question: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.retain(|_, lock| lock.strong_count() > 0);
            match asked.get(question).and_then(Weak::upgrade) {
                Some(lock) => lock,
                None => {
                    let lock = Arc::new(AsyncMutex::new(()));
                    asked.insert(question.to_owned(), Arc::downgrade(&lock));
                    lock
                }
            }
        };
        lock.lock_owned().await
    }

    /// Returns an answer that was given before.
    pub(crate) fn known(&self, question: &str) -> Option<Bytes> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().find(|(known, _)| known == question).map(|(_, answer)| answer.clone())
    }

    /// Keeps an answer; the oldest ones make room for it.
    pub(crate) fn keep(&self, question: String, answer: Bytes) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push_back((question, answer));
        while answers.iter().map(|(question, answer)| question.len() + answer.len()).sum::<usize>() > KEPT_ANSWER_BYTES {
            answers.pop_front();
        }
    }
}

//! Every object that there was, and the revisions that changed it: one pass over the history that decodes nothing.

use std::collections::BTreeSet;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use futures_util::TryStreamExt;

use ketcd_store::{Event, EventKind, KeyRange, KeyValue, Revision, Until, Want};

use crate::clock::READ_WHOLE_LIVE;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{Keys, Read, alive_names, all, events, events_from};

/// One object from its creation to its deletion. What is created under its name afterwards is another one.
#[derive(Clone, Debug)]
pub struct Life {
    /// Its key.
    pub key: Bytes,
    /// Its kind, such as `Pod`.
    pub kind: Arc<str>,
    /// Its namespace; empty where its kind has none.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Box<str>,
    /// The revisions that changed it, ascending, its creation and its deletion among them.
    pub changes: Vec<i64>,
    /// Whether the first of them created it.
    pub is_created: bool,
    /// The revision that deleted it.
    pub deleted: Option<i64>,
    /// Whether it is gone though no readable revision deleted it.
    pub is_vanished: bool,
}

impl Life {
    /// The first readable revision of it.
    pub fn first(&self) -> i64 {
        self.changes.first().copied().unwrap_or_default()
    }

    /// The changes after one revision, up to another.
    pub fn within(&self, after: Revision, to: Revision) -> &[i64] {
        let (begin, end) = (self.changes.partition_point(|&at| at <= after.0), self.changes.partition_point(|&at| at <= to.0));
        &self.changes[begin.min(end)..end]
    }

    /// Whether it was there at some time after one revision, up to another.
    pub fn is_within(&self, after: Revision, to: Revision) -> bool {
        let is_before_end = !self.is_created || self.first() <= to.0;
        is_before_end && self.deleted.is_none_or(|deleted| deleted > after.0) && !(self.is_vanished && self.within(after, to).is_empty())
    }

    /// Whether it is an Event, which is shown as a mark on what it is about, or a lease, which shows only that somebody is alive.
    fn is_quiet(&self) -> bool {
        self.is_event() || &*self.kind == "Lease"
    }

    /// What is called so, of an Event, which is called `<object>.<digits>`.
    fn about(&self) -> Option<&str> {
        self.name.rsplit_once('.').map(|(about, _)| about)
    }

    /// Where an Event stands among others.
    fn place_of_event(&self) -> (&str, Option<&str>) {
        (&*self.namespace, self.about())
    }

    /// By what an object is found.
    fn full_name(&self) -> (&str, &str, &str) {
        (&*self.kind, &*self.namespace, &*self.name)
    }

    /// Whether it is an Event.
    pub fn is_event(&self) -> bool {
        &*self.kind == "Event"
    }
}

/// All objects of a history.
#[derive(Debug)]
pub struct Index {
    /// The objects by key, those of one key from the oldest on.
    pub lives: Vec<Life>,
    /// Stretches of revisions that cannot be read, both ends included.
    pub gaps: Vec<(Revision, Revision)>,
    /// The first revision that is looked at.
    pub first: Revision,
    /// The newest.
    pub last: Revision,
    /// The revisions that changed something, one for each change, ascending: without Events and leases.
    counted: Vec<i64>,
    /// The places of the Events, by the namespace and the name of what they are about.
    events: Vec<usize>,
    /// The places of all others by kind, namespace and name, those of one name from the oldest on.
    by_name: Vec<usize>,
    /// How many objects may have rows.
    objects: usize,
}

impl Index {
    /// Reads all objects up to the revision looked at. Of a long live history only the newest revisions are read.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn read(cluster: &Cluster) -> Result<Self> {
        let (last, span) = (cluster.revision().await?, cluster.source.span().await?);
        let mut gathered =
            GatheredLives { cluster, current: HashMap::default(), lives: Vec::new(), gaps: Vec::new(), words: BTreeSet::new() };
        let first = match cluster.source.is_shared() && cluster.is_long().await? {
            true => gathered.newest(span.oldest, last).await?,
            false => gathered.everything(last).await?,
        };
        let GatheredLives { mut lives, gaps, .. } = gathered;
        let alive = alive_names(cluster, &Keys::all(), last, |_| true).await?;
        lives.iter_mut().for_each(|life| life.is_vanished = life.deleted.is_none() && !alive.contains(&life.key));
        lives.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| a.first().cmp(&b.first())));
        let mut counted: Vec<i64> = lives.iter().filter(|life| !life.is_quiet()).flat_map(|life| life.changes.iter().copied()).collect();
        counted.sort_unstable();
        lives.iter_mut().for_each(|life| life.changes.shrink_to_fit());
        let (mut events, mut by_name): (Vec<usize>, Vec<usize>) = (0..lives.len()).partition(|&place| lives[place].is_event());
        events.retain(|&place| lives[place].about().is_some());
        events.sort_by(|&a, &b| lives[a].place_of_event().cmp(&lives[b].place_of_event()));
        by_name.sort_by(|&a, &b| lives[a].full_name().cmp(&lives[b].full_name()));
        let mut index = Self { lives, gaps, first, last, counted, events, by_name, objects: 0 };
        index.objects = index.shown(false).count();
        Ok(index)
    }

    /// How many changes there were after one revision, up to another: without Events and leases.
    pub fn changes_within(&self, after: Revision, to: Revision) -> usize {
        let before = |revision: Revision| self.counted.partition_point(|&at| at <= revision.0);
        before(to).saturating_sub(before(after))
    }

    /// The objects that a key ever held, by their places, from the oldest on.
    pub fn lives_of(&self, key: &[u8]) -> Range<usize> {
        let begin = self.lives.partition_point(|life| *life.key < *key);
        begin..begin + self.lives[begin..].iter().take_while(|life| life.key == key).count()
    }

    /// The object that a key held at a revision: the last one that had begun by then, or else the first.
    pub fn life_at(&self, key: &[u8], revision: Revision) -> Option<usize> {
        let of_key = self.lives_of(key);
        let begun = self.lives[of_key.clone()].iter().filter(|life| life.first() <= revision.0).count();
        (!of_key.is_empty()).then(|| of_key.start + begun.max(1) - 1)
    }

    /// The keys of a namespace, Events and leases left out: a range for each kind.
    pub fn ranges_in(&self, namespace: &str) -> Vec<KeyRange> {
        let is_in = |life: &Life| &*life.namespace == namespace && !life.is_quiet();
        let runs = self.lives.chunk_by(|one, next| is_in(one) == is_in(next)).filter(|run| is_in(&run[0]));
        // The next key behind the last one.
        let behind = |run: &[Life]| run.last().map(|life| [&life.key[..], &[0]].concat());
        runs.map(|run| KeyRange { start: run[0].key.to_vec(), end: behind(run) }).collect()
    }

    /// Whether one object may own another: what has a namespace owns nothing outside of it.
    /// Source: `pkg/controller/garbagecollector/garbagecollector.go` (1.36), `isDangling`, which looks for an owner in the namespace of what it owns.
    pub(super) fn may_own(&self, owner: usize, owned: usize) -> bool {
        let (owner, owned) = (&self.lives[owner].namespace, &self.lives[owned].namespace);
        owner.is_empty() || owner == owned
    }

    /// The Events about an object, as their names say.
    pub fn events_about(&self, life: &Life) -> &[usize] {
        // What has no namespace is told of in this one (client-go tools/record/event.go).
        let namespace = if life.namespace.is_empty() { "default" } else { &*life.namespace };
        let about = (namespace, Some(&*life.name));
        let begin = self.events.partition_point(|&place| self.lives[place].place_of_event() < about);
        let end = self.events.partition_point(|&place| self.lives[place].place_of_event() <= about);
        &self.events[begin..end]
    }

    /// The last object of a kind that had this name.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<usize> {
        let wanted = (kind, namespace, name);
        let end = self.by_name.partition_point(|&place| self.lives[place].full_name() <= wanted);
        let place = self.by_name[..end].last().copied()?;
        (self.lives[place].full_name() == wanted).then_some(place)
    }

    /// The objects that may have rows: neither Events nor, unless they are asked for, leases.
    pub fn shown(&self, with_leases: bool) -> impl Iterator<Item = (usize, &Life)> {
        self.lives
            .iter()
            .enumerate()
            .filter(move |(_, life)| !life.is_event() && (with_leases || !life.is_quiet()) && !life.name.is_empty())
    }

    /// How many objects may have rows.
    pub fn objects(&self) -> usize {
        self.objects
    }
}

/// What a pass has found so far.
struct GatheredLives<'c> {
    cluster: &'c Cluster,
    /// The object that a key holds now.
    current: HashMap<Bytes, usize>,
    lives: Vec<Life>,
    gaps: Vec<(Revision, Revision)>,
    words: BTreeSet<Arc<str>>,
}

impl GatheredLives<'_> {
    async fn everything(&mut self, last: Revision) -> Result<Revision> {
        let cluster = self.cluster;
        let mut events = pin!(events(cluster, Keys::all(), Until::Revision(last)));
        while let Some(read) = events.try_next().await? {
            self.take(read).await?;
        }
        Ok(cluster.source.span().await?.oldest)
    }

    /// Reads what is there, and the changes before it, of a live etcd that has other work to do.
    async fn newest(&mut self, oldest: Revision, last: Revision) -> Result<Revision> {
        let from = Revision(last.0 - READ_WHOLE_LIVE).max(oldest);
        let cluster = self.cluster;
        for entry in all(cluster.source.as_ref(), KeyRange::all(), from, Want::Keys).await? {
            let (revision, is_created) = (entry.mod_revision, entry.version == 1);
            self.put(&entry, revision, is_created).await?;
        }
        let mut events = events_from(cluster, Keys::all(), from.after(), Until::Revision(last));
        while let Some(read) = events.try_next().await? {
            self.take(read).await?;
        }
        Ok(from)
    }

    async fn take(&mut self, read: Read<Event>) -> Result<()> {
        match read {
            Read::Gap { from, to } => self.gaps.push((from, to)),
            Read::Item(Event { revision, kind: EventKind::Delete, key_value, .. }) => {
                if let Some(life) = self.current.remove(&key_value.key) {
                    self.lives[life].changes.push(revision.0);
                    self.lives[life].deleted = Some(revision.0);
                }
            }
            Read::Item(Event { revision, key_value, .. }) => self.put(&key_value, revision, key_value.version == 1).await?,
        }
        Ok(())
    }

    async fn put(&mut self, entry: &KeyValue, revision: Revision, is_created: bool) -> Result<()> {
        if let Some(&life) = self.current.get(&entry.key).filter(|_| !is_created) {
            self.lives[life].changes.push(revision.0);
            return Ok(());
        }
        let subject = self.cluster.subject_of(&entry.key).await?;
        let (kind, namespace) = (self.word(&subject.kind), self.word(&subject.namespace));
        self.current.insert(entry.key.clone(), self.lives.len());
        self.lives.push(Life {
            key: entry.key.clone(),
            kind,
            namespace,
            name: subject.name.into(),
            changes: vec![revision.0],
            is_created,
            deleted: None,
            is_vanished: false,
        });
        Ok(())
    }

    /// The same word once.
    fn word(&mut self, word: &str) -> Arc<str> {
        if let Some(known) = self.words.get(word) {
            return Arc::clone(known);
        }
        let word: Arc<str> = word.into();
        self.words.insert(Arc::clone(&word));
        word
    }
}

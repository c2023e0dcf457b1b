//! The trait that live clusters, database files and files of API objects implement.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};

use super::{Alarm, At, Error, Event, KeyRange, KeyValue, Result, Revision, RevisionSpan};

/// A read-only view of etcd's key space over a span of revisions.
pub trait Source: Send + Sync {
    /// Returns what this source is and how healthy it looks.
    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>>;

    /// Returns what could not be read when the source was opened, one message per item. Results may be incomplete because of it.
    fn damage(&self) -> &[String] {
        &[]
    }

    /// Returns problems that only a pass over every byte finds, such as a wrong checksum, one message per item. It may wait for that pass,
    /// so call it last.
    fn late_damage(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns content of the files that is not etcd data, one message per item.
    fn left_out(&self) -> &[String] {
        &[]
    }

    /// Returns whether the source holds the state of one moment, as printed objects do, and no history. Its changes are then versions that do
    /// not show what they changed, and revision 0 stands for an unknown one.
    fn is_one_moment(&self) -> bool {
        false
    }

    /// Returns the hashes of the data that several members of a live etcd hold at one revision, given what `status` returned; `None` where there
    /// are not several.
    fn hashes<'s>(&'s self, status: &'s SourceStatus) -> BoxFuture<'s, Option<MemberHashes>> {
        let _ = status;
        Box::pin(std::future::ready(None))
    }

    /// Returns the revisions that can be read.
    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>>;

    /// Returns the member of a live cluster that answered last.
    fn member(&self) -> Option<String> {
        None
    }

    /// Returns how long before now a change of `revision` that arrives now was committed at most: a round trip, or longer after a lost
    /// connection. `None` where the source cannot tell.
    fn latest_delay(&self, _revision: Revision) -> Option<Duration> {
        None
    }

    /// Returns the keys alive at `at`, ascending. All entries are of one revision, the listing's.
    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>>;

    /// Returns every change from revision `from` (included) on, ascending by revision and sub-revision, each once.
    /// Ends after `until`; `Until::Forever` follows a live cluster (on a file it ends at the newest revision).
    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>>;

    /// Returns every change of some ranges, as [`Source::watch`] does of one. Changes of keys between them may come with them.
    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.watch(KeyRange::hull(&ranges), from, until)
    }

    /// Returns the keys that a bounded watch of `keys` reads: more than these of an etcd whose release says too early that a watch has ended.
    fn bounded_watch_reads(&self, keys: KeyRange) -> BoxFuture<'_, Result<KeyRange>> {
        Box::pin(std::future::ready(Ok(keys)))
    }

    /// Returns whether the member that answered last serves watches: a learner of a live cluster does not.
    fn serves_watches(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    /// Returns the first keys of `keys` alive at `at`, no more than `most`.
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        Box::pin(async move { self.range(keys, at, want).await?.entries.take(most).try_collect().await })
    }

    /// Returns the version that another one, or a deletion, replaced; `None` where there was none, and where a compaction took it.
    fn version_before(&self, version: &KeyValue) -> BoxFuture<'_, Result<Option<KeyValue>>> {
        let (key, before, is_first) = (KeyRange::key(&version.key[..]), version.mod_revision.before(), version.version == 1);
        Box::pin(async move {
            if is_first || self.is_one_moment() {
                return Ok(None);
            }
            match self.first(key, At::Revision(before), Want::Values, 1).await {
                Err(Error::Compacted { .. } | Error::Between { .. }) => Ok(None),
                found => Ok(found?.pop()),
            }
        })
    }

    /// Whether [`Self::read_before`] gives versions again, so that none has to be kept.
    fn reads_before(&self) -> bool {
        false
    }

    /// Returns the newest version of a key before this one or this deletion, at the cost of a look into an index.
    fn read_before(&self, _version: &KeyValue) -> Option<KeyValue> {
        None
    }

    /// Returns how many keys are alive at `at`.
    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            let listing = self.range(keys, at, Want::Keys).await?;
            listing.entries.try_fold(0, |count, _| std::future::ready(Ok(count + 1))).await
        })
    }

    /// Returns what became of one key up to revision `until`, at the cost of its own versions. A source that cannot search every revision for its
    /// lives looks where `lives` says.
    fn key_history(&self, key: Vec<u8>, until: Revision, lives: Lives) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        let _ = lives;
        let items = self.watch(KeyRange::key(key), Revision(1), Until::Revision(until));
        Box::pin(std::future::ready(Ok(KeyHistory { items, unsearched: None })))
    }

    /// Whether the past costs another than the reader: a live etcd reads its history for whoever asks, beside its own work.
    fn is_shared(&self) -> bool {
        false
    }

    /// Says which keys will be read: a user of few rights may ask for these where not for others.
    fn will_read(&self, keys: &KeyRange) {
        let _ = keys;
    }
}

/// Which lives of a key to look for: from a creation to the deletion after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lives {
    /// All of them; it may have been alive at these revisions.
    All(Vec<Revision>),
    /// The last one; it was alive at these revisions.
    Last(Vec<Revision>),
}

/// What became of one key.
pub struct KeyHistory<'a> {
    /// Its changes, ascending, as a watch brings them.
    pub items: BoxStream<'a, Result<WatchItem>>,
    /// Where earlier lives of the key may have been missed.
    pub unsearched: Option<Unsearched>,
}

impl<'a> KeyHistory<'a> {
    /// A history without a doubt.
    pub fn of(items: impl futures_util::Stream<Item = Result<WatchItem>> + Send + 'a) -> Self {
        Self { items: items.boxed(), unsearched: None }
    }
}

/// Revisions of which not each was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsearched {
    /// The first of them.
    pub from: Revision,
    /// The last of them.
    pub to: Revision,
    /// The longest run that was not looked at: a life that fits into it was not seen.
    pub longest: i64,
}

/// How much of each key a range should bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Keys and revisions; values are left empty.
    Keys,
    /// Values too.
    Values,
}

/// Where a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this revision.
    Revision(Revision),
    /// Never.
    Forever,
}

/// The answer to a range: one revision, many keys.
pub struct Listing<'a> {
    /// The revision all entries are of.
    pub revision: Revision,
    /// The keys, ascending.
    pub entries: BoxStream<'a, Result<KeyValue>>,
}

/// What a watch brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchItem {
    /// A change.
    Event(Event),
    /// Revisions `from` to `to`, both included, cannot be read any more (compacted away): a gap, not a guess.
    Gap {
        /// The first revision that is missing.
        from: Revision,
        /// The last revision that is missing.
        to: Revision,
    },
    /// Nothing else happened up to this revision.
    Progress(Revision),
}

/// What kind of source stands behind the trait, for `status` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A running etcd.
    Live,
    /// A database file: a snapshot or a member's `db`.
    Db,
    /// A member's data dir: database and write-ahead log.
    DataDir,
    /// A kine database, in which k3s keeps what other clusters keep in etcd.
    Kine,
    /// A recording of a running etcd.
    Recording,
    /// API objects as kubectl prints them: one revision.
    Objects,
}

/// A member of a live cluster, as its own status RPC answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// The endpoint asked.
    pub endpoint: String,
    /// The member's id, hexadecimal; empty if it did not answer.
    pub id: String,
    /// The id of the cluster that it says it belongs to, hexadecimal; empty if it did not answer or is known from a file.
    pub cluster_id: String,
    /// The id of the member that it follows, hexadecimal; `None` where it knows no leader, did not answer or is known from a file.
    pub leader_id: Option<String>,
    /// etcd's version.
    pub version: String,
    /// Size of the database file in bytes.
    pub db_size: i64,
    /// Bytes of it in use.
    pub db_size_in_use: i64,
    /// The largest size that the database may grow to; `None` where etcd does not tell (before 3.6).
    pub db_size_quota: Option<i64>,
    /// Whether this member leads.
    pub is_leader: bool,
    /// Whether it is a learner, which does not vote.
    pub is_learner: bool,
    /// Where it is in the raft log; `None` where it did not answer or is known from a file.
    pub raft: Option<RaftStatus>,
    /// Why it did not answer.
    pub error: Option<String>,
}

/// Hashes of what members hold at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberHashes {
    /// The revision.
    pub revision: Revision,
    /// The members that answered.
    pub members: Vec<MemberHash>,
    /// Why members were not compared, a clause each.
    pub left_out: Vec<String>,
}

/// The hash of all that one member holds, as etcd's HashKV computes it. Two are comparable where they are of the same compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberHash {
    /// The endpoint asked.
    pub endpoint: String,
    /// The hash.
    pub hash: u32,
    /// The revision to which the member has compacted.
    pub compacted: Revision,
}

/// Where a member is in the raft log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaftStatus {
    /// The term of the leader it follows.
    pub term: u64,
    /// The index of the last entry it knows to be committed.
    pub index: u64,
    /// The index of the last entry it applied.
    pub applied_index: u64,
    /// How many entries it has still to apply, counted from the leader's index; `None` where the leader did not answer.
    pub behind_leader: Option<u64>,
}

/// One of several sources that are read as one history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartStatus {
    /// The path or the endpoints, as the user gave them.
    pub name: String,
    /// Live, file, …
    pub kind: SourceKind,
    /// etcd's cluster id, hexadecimal, where known.
    pub cluster_id: Option<String>,
    /// The revisions that can be read.
    pub span: RevisionSpan,
    /// Whether all of it was read, so that its damage is known.
    pub is_read: bool,
}

/// Revisions at which none of several sources can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartGap {
    /// The first.
    pub from: Revision,
    /// The last.
    pub to: Revision,
    /// The source that ends before them.
    pub after: String,
    /// The source that begins behind them.
    pub before: String,
}

/// What a source reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceStatus {
    /// Live, file, …
    pub kind: SourceKind,
    /// The endpoints or the path, as the user gave them.
    pub name: String,
    /// etcd's cluster id, hexadecimal, where known.
    pub cluster_id: Option<String>,
    /// The members asked (live) or recorded in the file.
    pub members: Vec<Member>,
    /// The newest revision that a member says it has, which it says to users without rights too; `None` for files.
    pub newest: Option<Revision>,
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of it in use.
    pub in_use_bytes: u64,
    /// Bytes of it free.
    pub free_bytes: u64,
    /// Changes that only unreachable pages still hold.
    pub recoverable_freepage: u64,
    /// Changes that only the write-ahead log still holds.
    pub recoverable_wal: u64,
    /// Changes of a kine database that only the rows which replaced them still hold.
    pub recoverable_old_value: u64,
    /// What it is made of, where several sources were given.
    pub parts: Vec<PartStatus>,
    /// The revisions between the first and the last at which none of several sources can be read, ascending.
    pub gaps: Vec<PartGap>,
    /// The alarms that are raised.
    pub alarms: Vec<Alarm>,
    /// Each a sentence: damage met, members that do not answer.
    pub problems: Vec<String>,
}

impl SourceStatus {
    /// The status of a source of which nothing is known yet.
    pub fn new(kind: SourceKind, name: String) -> Self {
        Self {
            kind,
            name,
            cluster_id: None,
            members: Vec::new(),
            newest: None,
            file_bytes: 0,
            in_use_bytes: 0,
            free_bytes: 0,
            recoverable_freepage: 0,
            recoverable_wal: 0,
            recoverable_old_value: 0,
            parts: Vec::new(),
            gaps: Vec::new(),
            alarms: Vec::new(),
            problems: Vec::new(),
        }
    }
}

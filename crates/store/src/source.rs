//! The trait that live clusters, database files, recordings and files of API objects implement.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::{
    Arrival, Arrivals, At, Companion, CompanionChoice, CompanionKind, EarlierRevisions, Error, KeyRange, KeyValue, Listing, MemberHashes,
    MemberLog, Result, Revision, RevisionSpan, Shortcuts, SourceStatus, Until, Want, WatchItem,
};

/// A read-only view of etcd's key space over a span of revisions.
///
/// No method has a default, so that a source which wraps another one must answer for it. What follows from these are methods of
/// `dyn Source`.
pub trait Source: Shortcuts + Send + Sync {
    /// Returns what the source is and what it can tell beyond its reads. One that wraps another hands its facts on.
    fn facts(&self) -> Facts<'_>;

    /// Returns what this source is and how healthy it looks.
    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>>;

    /// Returns the revisions that can be read.
    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>>;

    /// Returns the keys alive at `at`, ascending. All entries are of one revision, the listing's.
    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>>;

    /// Returns every change from revision `from` (included) on, ascending by revision and sub-revision, each once.
    /// Ends after `until`; `Until::Forever` follows a live cluster (on a file it ends at the newest revision).
    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>>;
}

/// What a source is and what it can tell beyond its reads.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// How much of the past it holds.
    pub history: HistoryKind,
    /// What became of the revisions before its oldest.
    pub earlier: EarlierRevisions,
    /// Which values are not as they were stored: those of a bundle.
    pub withheld: Withheld<'a>,
    /// Whether it has every key of etcd. A recording may have been made of some.
    pub has_all_keys: bool,
    /// What could not be read when the source was opened, one message per item. Results may be incomplete because of it.
    pub damage: &'a [String],
    /// Content of the files that is not etcd data, one message per item.
    pub left_out: &'a [String],
    /// Configuration of the cluster's programs that lies with the files.
    pub companions: &'a [Companion],
    /// Finds problems that reading alone does not show; `None` if there are none to find.
    pub late_damage: Option<&'a dyn LateDamage>,
    /// The index in which a version before another one is found; `None` where such a version costs a read.
    pub before: Option<&'a dyn VersionIndex>,
    /// What recorders noted of when changes arrived; `None` where none was there.
    pub arrivals: Option<&'a dyn Arrivals>,
    /// The log of the member whose data dir is read; `None` for anything else.
    pub log: Option<&'a dyn MemberLog>,
    /// The running etcd that answers, alone or together with files; `None` if only files do, which nobody else waits for.
    pub live: Option<&'a dyn LiveEtcd>,
}

/// Values that a bundle does not hold as they were stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withheld<'a> {
    /// Whether masks or pseudonyms stand in for the values of Secrets.
    pub secret_values: bool,
    /// The classes of values that pseudonyms stand in for, as `bundle --redact` names them.
    pub classes: &'a [String],
}

/// How much of the past a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum HistoryKind {
    /// The changes of its span.
    Changes,
    /// The state of one moment, as printed objects do, and no history. Its changes are versions that do not show what they changed, and
    /// revision 0 stands for an unknown one.
    OneMoment,
}

/// Problems that only a pass over every byte finds.
pub trait LateDamage: Sync {
    /// Returns problems such as a wrong checksum, one message per item. It may wait for that pass, so call it last.
    fn late_damage(&self) -> Vec<String>;

    /// Reads what no question has needed so far, so that [`LateDamage::late_damage`] has the problems of every byte.
    fn read_all(&self) {}
}

/// An index of all versions.
pub trait VersionIndex: Sync {
    /// Returns the newest version of a key before this one or this deletion.
    fn before(&self, version: &KeyValue) -> Option<KeyValue>;

    /// Returns the stretches of revisions that nothing ever had, both ends included, ascending. In a database of etcd each ends with the record without
    /// a value that a restore with `--bump-revision` left.
    fn skipped(&self) -> Vec<(Revision, Revision)>;
}

/// A running etcd, which other clients depend on: reading its history slows its own work.
pub trait LiveEtcd: Sync {
    /// Returns the member that answered last.
    fn member(&self) -> Option<String>;

    /// Returns how long before now a change of `revision` that arrives now was committed at most: a round trip and 10 ms, or longer after
    /// a lost connection. `None` where that is not known.
    fn latest_delay(&self, revision: Revision) -> Option<Duration>;

    /// Returns the hashes of the data that several members hold at one revision, given what `status` returned; `None` where there
    /// are not several.
    fn hashes<'s>(&'s self, status: &'s SourceStatus) -> BoxFuture<'s, Option<MemberHashes>>;

    /// Returns the keys that a bounded watch of `keys` reads: more than these of an etcd whose release says too early that a watch has ended.
    fn bounded_watch_reads(&self, keys: KeyRange) -> BoxFuture<'_, Result<KeyRange>>;

    /// Returns whether the member that answered last serves watches: a learner does not.
    fn serves_watches(&self) -> BoxFuture<'_, bool>;

    /// Says which keys will be read: a user of few rights may ask for these where not for others.
    fn will_read(&self, keys: &KeyRange);
}

impl dyn Source + '_ {
    /// Returns [`Facts::damage`].
    pub fn damage(&self) -> &[String] {
        self.facts().damage
    }

    /// Returns [`Facts::left_out`].
    pub fn left_out(&self) -> &[String] {
        self.facts().left_out
    }

    /// Returns the configuration of one program that lies with the files.
    pub fn companion(&self, kind: CompanionKind) -> CompanionChoice<'_> {
        CompanionChoice::of(kind, self.facts().companions)
    }

    /// Returns what [`LateDamage::late_damage`] finds.
    pub fn late_damage(&self) -> Vec<String> {
        self.facts().late_damage.map(LateDamage::late_damage).unwrap_or_default()
    }

    /// Whether the source holds the state of one moment and no history: [`HistoryKind::OneMoment`].
    pub fn is_one_moment(&self) -> bool {
        self.facts().history == HistoryKind::OneMoment
    }

    /// Whether a running etcd answers, for which others wait too: [`Facts::live`].
    pub fn is_shared(&self) -> bool {
        self.facts().live.is_some()
    }

    /// Returns [`LiveEtcd::member`]; `None` for files.
    pub fn member(&self) -> Option<String> {
        self.facts().live?.member()
    }

    /// Returns [`LiveEtcd::latest_delay`]; `None` for files.
    pub fn latest_delay(&self, revision: Revision) -> Option<Duration> {
        self.facts().live?.latest_delay(revision)
    }

    /// Returns [`LiveEtcd::hashes`]; `None` for files.
    pub async fn hashes(&self, status: &SourceStatus) -> Option<MemberHashes> {
        self.facts().live?.hashes(status).await
    }

    /// Returns [`LiveEtcd::bounded_watch_reads`]; `keys` for files.
    ///
    /// # Errors
    ///
    /// etcd does not say which release it is.
    pub async fn bounded_watch_reads(&self, keys: KeyRange) -> Result<KeyRange> {
        match self.facts().live {
            Some(live) => live.bounded_watch_reads(keys).await,
            None => Ok(keys),
        }
    }

    /// Returns [`LiveEtcd::serves_watches`]; true for files.
    pub async fn serves_watches(&self) -> bool {
        match self.facts().live {
            Some(live) => live.serves_watches().await,
            None => true,
        }
    }

    /// Says which keys will be read: [`LiveEtcd::will_read`].
    pub fn will_read(&self, keys: &KeyRange) {
        if let Some(live) = self.facts().live {
            live.will_read(keys);
        }
    }

    /// Returns when the revisions from one to another arrived at a recorder; none where none noted it.
    pub fn arrivals(&self, from: Revision, to: Revision) -> Vec<Arrival> {
        self.facts().arrivals.map(|arrivals| arrivals.arrivals(from, to)).unwrap_or_default()
    }

    /// Returns whether the arrivals are times that a bundle's source dated revisions by: [`Arrivals::are_dates`].
    pub fn arrivals_are_dates(&self) -> bool {
        self.facts().arrivals.is_some_and(Arrivals::are_dates)
    }

    /// Whether `read_before` gives versions again, so that none has to be kept.
    pub fn reads_before(&self) -> bool {
        self.facts().before.is_some()
    }

    /// Returns the newest version of a key before this one or this deletion, at the cost of a look into an index; `None` without one.
    pub fn read_before(&self, version: &KeyValue) -> Option<KeyValue> {
        self.facts().before?.before(version)
    }

    /// Returns the version that another one, or a deletion, replaced; `None` where there was none, and where a compaction took it.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub async fn version_before(&self, version: &KeyValue) -> Result<Option<KeyValue>> {
        if version.version == 1 || self.is_one_moment() {
            return Ok(None);
        }
        let (key, before) = (KeyRange::key(&version.key[..]), version.mod_revision.before());
        match self.first(key, At::Revision(before), Want::Values, 1).await {
            Err(Error::Compacted { .. } | Error::Between { .. }) => Ok(None),
            found => Ok(found?.pop()),
        }
    }
}

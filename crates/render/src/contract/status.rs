//! The JSON of `status`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::common::Time;
use crate::duration;
use crate::page::StatusPage;

/// What a source holds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status<'a> {
    /// Sizes of the database.
    pub bytes: Bytes,
    /// What the SHA-256 at the end of database files says, by how many files that were read.
    pub checksums: Checksums,
    /// Resources with at least one value encrypted at rest, by provider and key; their values in plain text have a row too.
    pub encryption: Vec<Sealed<'a>>,
    /// The revisions between the oldest and the newest at which none of several sources can be read, ascending; empty for one source.
    pub gaps: Vec<SourceGap<'a>>,
    /// Keys alive at the revision looked at.
    pub keys: u64,
    /// Versions of Kubernetes found in the data.
    pub kubernetes: Kubernetes<'a>,
    /// What a recording or a bundle does not hold because it was not to, such as Secrets; one phrase per item. For people: the words are not part of
    /// the contract.
    pub not_recorded: &'a [String],
    /// What else is to be known of the source, and not a problem of it: which files of a folder are read, what is not etcd's data, what is odd about
    /// the times in it. For people: the words
    /// are not part of the contract.
    pub notes: Vec<&'a str>,
    /// What is wrong or odd about the source, alarms of etcd among it. One message per item; the exit code is 2 where there is any.
    pub problems: Vec<Cow<'a, str>>,
    /// Changes that the database's current pages no longer hold, but that can be recovered.
    pub recoverable: Recoverable,
    /// The readable revisions.
    pub revisions: Revisions,
    /// Whether only some values were read: `kubernetes.kubelets` and `encryption` then count those, not all. `--full` reads all.
    pub sampled: bool,
    /// The source itself.
    pub source: Source<'a>,
    /// Where several sources are read as one, each of them, a live etcd last; empty for one source.
    pub sources: Vec<Part<'a>>,
}

/// Revisions at which none of several sources can be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceGap<'a> {
    /// The source that ends before them.
    pub after: &'a str,
    /// The source that begins behind them.
    pub before: &'a str,
    /// The first.
    pub from: i64,
    /// The last.
    pub to: i64,
}

/// One of several sources that are read as one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part<'a> {
    /// etcd's cluster id in hexadecimal; null where it is not known.
    pub cluster_id: Option<&'a str>,
    /// What it is.
    pub kind: SourceKind,
    /// The path or the endpoints, as they were given.
    pub name: &'a str,
    /// Its newest revision.
    pub newest: i64,
    /// The oldest revision whose whole state it can give.
    pub oldest_readable: i64,
    /// Whether all of it was read. If not, its damage is not known.
    pub read: bool,
}

/// Sizes in bytes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bytes {
    /// The database file.
    pub file: u64,
    /// Free pages of it.
    pub free: u64,
    /// Pages of it in use.
    pub in_use: u64,
}

/// Numbers of database files by what the SHA-256 says that `etcdctl snapshot save` puts at their end.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checksums {
    /// The file has none: changed values would go unnoticed.
    pub absent: usize,
    /// It does not hold.
    pub fails: usize,
    /// It holds: the file is as it was taken.
    pub holds: usize,
    /// It was not computed again: the file was found whole when its index was made, and was not changed since.
    pub kept: usize,
}

/// Values of one resource that are sealed alike.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sealed<'a> {
    /// The key's name; null for values in plain text.
    pub key: Option<&'a str>,
    /// The provider: `identity` (plain text), `aescbc`, `aesgcm`, `secretbox`, `kms v1`, `kms v2` or `unknown provider`.
    pub provider: String,
    /// The resource with its group, such as `secrets` or `deployments.apps`.
    pub resource: &'a str,
    /// How many values.
    pub values: u64,
}

/// Versions of Kubernetes found in the data.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kubernetes<'a> {
    /// The API server's most likely release, such as `1.36`; null where nothing in the data shows it.
    pub apiserver: Option<String>,
    /// The oldest and the newest release that fit the data; null where nothing in the data shows them.
    pub apiserver_bounds: Option<[String; 2]>,
    /// The number of nodes by their kubelet's version.
    pub kubelets: &'a BTreeMap<String, u64>,
    /// Holders of schedulers' leases.
    pub schedulers: &'a [String],
}

/// Numbers of recoverable changes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recoverable {
    /// Changes found only in free pages of the database file.
    pub freepage: u64,
    /// Changes of a kine database found only in the rows that replaced them.
    pub old_value: u64,
    /// Changes found only in the write-ahead log.
    pub wal: u64,
}

/// The readable revisions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revisions {
    /// The revision at which etcd compacted; null where it never did, and where the source does not say: an audit log, or a recording or bundle, which
    /// begin with `oldestReadable`.
    pub compacted: Option<i64>,
    /// The newest revision.
    pub newest: i64,
    /// When the newest revision that can be dated was written; null where nothing dates it.
    pub newest_time: Option<Time>,
    /// The newest time in the objects of a source that holds one moment only; null elsewhere.
    pub newest_time_in_objects: Option<Time>,
    /// The oldest revision whose whole state is readable.
    pub oldest_readable: i64,
    /// When the oldest readable revision that can be dated was written; null where nothing dates it.
    pub oldest_time: Option<Time>,
    /// Whether the source holds one moment only, without history.
    pub one_moment: bool,
    /// Seconds from `oldestTime` to `newestTime`; null where either is unknown.
    pub span_seconds: Option<f64>,
}

/// The source.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source<'a> {
    /// etcd's cluster id in hexadecimal; null where it is not known.
    pub cluster_id: Option<&'a str>,
    /// What it is.
    pub kind: SourceKind,
    /// etcd's members.
    pub members: Vec<Member<'a>>,
    /// The endpoints or the path, as they were given.
    pub name: &'a str,
}

/// What a source is.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SourceKind {
    /// A running etcd.
    Live,
    /// An etcd database file or snapshot.
    Db,
    /// An etcd member's data dir.
    DataDir,
    /// A kine database, in which k3s keeps what other clusters keep in etcd.
    Kine,
    /// A recording of a running etcd, as `ketcd record` makes it.
    Recording,
    /// A slice of another source, as `ketcd bundle` makes it.
    Bundle,
    /// API objects as kubectl prints them.
    Objects,
    /// The audit log of API servers, without their etcd.
    AuditLog,
}

/// A member of the etcd cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member<'a> {
    /// The size of its database file in bytes.
    pub db_size: i64,
    /// The bytes of it in use.
    pub db_size_in_use: i64,
    /// The largest size in bytes that the file may grow to; null where etcd does not tell (before 3.6).
    pub db_size_quota: Option<i64>,
    /// The endpoint asked; empty where the member is known from a file.
    pub endpoint: &'a str,
    /// Why it did not answer; null where it did.
    pub error: Option<&'a str>,
    /// Its id in hexadecimal; empty if it did not answer.
    pub id: &'a str,
    /// Whether it is the leader.
    pub is_leader: bool,
    /// Whether it is a learner, which does not vote.
    pub is_learner: bool,
    /// Where it is in the raft log; null where it did not answer or is known from a file.
    pub raft: Option<Raft>,
    /// Its etcd version; empty if it did not answer.
    pub version: &'a str,
}

/// Where a member is in the raft log.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Raft {
    /// The index of the last entry it applied.
    pub applied_index: u64,
    /// How many entries it has still to apply, counted from the leader's index; null where the leader did not answer.
    pub behind_leader: Option<u64>,
    /// The index of the last entry it knows to be committed.
    pub index: u64,
    /// The term of the leader it follows.
    pub term: u64,
}

impl<'a> From<&'a StatusPage> for Status<'a> {
    fn from(report: &'a StatusPage) -> Self {
        let StatusPage { source, census, .. } = report;
        Self {
            bytes: Bytes { file: source.file_bytes, free: source.free_bytes, in_use: source.in_use_bytes },
            checksums: checksums(&source.checksums),
            encryption: sealed(report),
            gaps: source.gaps.iter().map(SourceGap::from).collect(),
            keys: census.keys,
            kubernetes: Kubernetes {
                apiserver: report.release.map(|release| release.to_string()),
                apiserver_bounds: report.release_bounds.map(|(oldest, newest)| [oldest.to_string(), newest.to_string()]),
                kubelets: &census.kubelets,
                schedulers: &census.schedulers,
            },
            not_recorded: &source.not_recorded,
            notes: source.notes.iter().chain(&report.notes).map(String::as_str).collect(),
            problems: problems(report),
            recoverable: Recoverable {
                freepage: source.recoverable_freepage,
                old_value: source.recoverable_old_value,
                wal: source.recoverable_wal,
            },
            revisions: revisions(report),
            sampled: report.is_sampled,
            source: Source {
                cluster_id: source.cluster_id.as_deref(),
                kind: source.kind.into(),
                members: source.members.iter().map(Member::from).collect(),
                name: &source.name,
            },
            sources: source.parts.iter().map(Part::from).collect(),
        }
    }
}

impl<'a> From<&'a ketcd_store::PartGap> for SourceGap<'a> {
    fn from(gap: &'a ketcd_store::PartGap) -> Self {
        Self { after: &gap.after, before: &gap.before, from: gap.from.0, to: gap.to.0 }
    }
}

impl<'a> From<&'a ketcd_store::PartStatus> for Part<'a> {
    fn from(part: &'a ketcd_store::PartStatus) -> Self {
        Self {
            cluster_id: part.cluster_id.as_deref(),
            kind: part.kind.into(),
            name: &part.name,
            newest: part.span.newest.0,
            oldest_readable: part.span.oldest.0,
            read: part.is_read,
        }
    }
}

fn checksums(checksums: &[ketcd_store::Checksum]) -> Checksums {
    use ketcd_store::Checksum::{Absent, Fails, Holds, Kept};
    let count = |wanted| checksums.iter().filter(|checksum| **checksum == wanted).count();
    Checksums { absent: count(Absent), fails: count(Fails), holds: count(Holds), kept: count(Kept) }
}

fn sealed(report: &StatusPage) -> Vec<Sealed<'_>> {
    let rows = report.census.encrypted();
    rows.map(|(resource, scheme, key, values)| Sealed {
        key: (!key.is_empty()).then_some(key),
        provider: scheme.to_string(),
        resource,
        values,
    })
    .collect()
}

fn problems(report: &StatusPage) -> Vec<Cow<'_, str>> {
    let alarms = report.source.alarms.iter().map(|alarm| Cow::Owned(alarm.to_string()));
    let others = report.source.problems.iter();
    alarms.chain(others.map(|problem| Cow::Borrowed(problem.as_str()))).collect()
}

fn revisions(report: &StatusPage) -> Revisions {
    let StatusPage { span, dated, .. } = report;
    let is_compacted =
        report.earlier == ketcd_store::EarlierRevisions::Compacted && report.source.kind != ketcd_store::SourceKind::AuditLog;
    Revisions {
        compacted: span.compacted.filter(|_| is_compacted).map(|revision| revision.0),
        newest: span.newest.0,
        newest_time: Time::of(dated.map(|(_, newest)| newest)),
        newest_time_in_objects: report.one_moment.flatten().map(Time),
        oldest_readable: span.oldest.0,
        oldest_time: Time::of(dated.map(|(oldest, _)| oldest)),
        one_moment: report.one_moment.is_some(),
        span_seconds: dated.map(|(oldest, newest)| duration::seconds_between(oldest, newest)),
    }
}

mirrored!(ketcd_store::SourceKind => SourceKind: Live, Db, DataDir, Kine, Recording, Bundle, Objects, AuditLog; _);

impl<'a> From<&'a ketcd_store::Member> for Member<'a> {
    fn from(member: &'a ketcd_store::Member) -> Self {
        Self {
            db_size: member.db_size,
            db_size_in_use: member.db_size_in_use,
            db_size_quota: member.db_size_quota,
            endpoint: &member.endpoint,
            error: member.error.as_deref(),
            id: &member.id,
            is_leader: member.is_leader,
            is_learner: member.is_learner,
            raft: member.raft.map(Raft::from),
            version: &member.version,
        }
    }
}

impl From<ketcd_store::RaftStatus> for Raft {
    fn from(raft: ketcd_store::RaftStatus) -> Self {
        let ketcd_store::RaftStatus { term, index, applied_index, behind_leader } = raft;
        Self { applied_index, behind_leader, index, term }
    }
}

//! What a source reports about itself.

use super::{Alarm, Revision, RevisionSpan};

/// Which kind of source is behind the trait, for `status` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
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
    /// A bundle: a slice of another source.
    Bundle,
    /// API objects as kubectl prints them: one revision.
    Objects,
    /// The audit log of API servers, without their etcd.
    AuditLog,
}

/// A member of a live cluster, as its own status RPC answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The endpoint asked.
    pub endpoint: String,
    /// The member's id, hexadecimal; empty if it did not answer.
    pub id: String,
    /// Its name, as a file records it; empty where a member answers itself, or none records it.
    pub name: String,
    /// The URLs that the other members reach it at, as a file records them; none where a member answers itself.
    pub peer_urls: Vec<String>,
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
    /// Where the database lies, as `-f` takes it, if the path is a folder or an archive that holds one: `FOLDER/NAME`, `ARCHIVE::NAME`. If
    /// deltas follow it, the full snapshot.
    pub database: Option<String>,
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
    /// What a recording or a bundle does not hold because it was not to, each a phrase: `Secrets`.
    pub not_recorded: Vec<String>,
    /// What the SHA-256 at the end of each database file that was read says.
    pub checksums: Vec<Checksum>,
    /// Each a sentence: damage met, parts that are missing, members that do not answer.
    pub problems: Vec<String>,
    /// Those of `problems` that name files which are not read, because the programs writing them were stopped, or still write.
    pub unfinished: Vec<String>,
    /// What else is to be known, each a sentence: which files of a folder are read, what is not etcd's data.
    pub notes: Vec<String>,
}

/// What the SHA-256 that `etcdctl snapshot save` appends to a database says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Checksum {
    /// It holds: the file is as it was taken.
    Holds,
    /// It does not hold.
    Fails,
    /// There is none: a value that was changed since cannot be noticed.
    Absent,
    /// It was not computed again: the file was found whole when its index was made, and was not changed since.
    Kept,
}

impl SourceStatus {
    /// Whether all of it is bundles, which hold a slice of a cluster.
    pub fn is_bundle(&self) -> bool {
        match &self.parts[..] {
            [] => self.kind == SourceKind::Bundle,
            parts => parts.iter().all(|part| part.kind == SourceKind::Bundle),
        }
    }

    /// The status of a source of which nothing is known yet.
    pub fn new(kind: SourceKind, name: String) -> Self {
        Self {
            kind,
            name,
            database: None,
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
            not_recorded: Vec::new(),
            checksums: Vec::new(),
            problems: Vec::new(),
            unfinished: Vec::new(),
            notes: Vec::new(),
        }
    }
}

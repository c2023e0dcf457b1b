//! A member's write-ahead log as what its clients asked for: the calls that etcd applied one after the other.

use bytes::Bytes;

use super::{KeyRange, Revision};

/// A member's write-ahead log.
pub trait MemberLog: Send + Sync {
    /// Returns how far the log and the database next to it reach.
    fn state(&self) -> LogState;

    /// Returns the calls of all entries that can be read, by ascending index. Each is decoded when it is asked for.
    fn calls(&self) -> Box<dyn Iterator<Item = LoggedCall> + Send + '_>;

    /// Returns how many entries write keys of etcd's old API, version 2, which etcd 3.6 and later do not have.
    fn old_api_writes(&self) -> usize;

    /// Returns where the log contradicts the database or itself, one sentence per item. Each is among the source's damage too.
    fn contradictions(&self) -> &[String] {
        &[]
    }
}

/// How far a member's log and its database reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogState {
    /// The index of the first entry that the log has.
    pub first: u64,
    /// The index of its last entry.
    pub last: u64,
    /// Raft's term when the log ends.
    pub term: u64,
    /// The last entry that the log knows to be committed.
    pub commit: u64,
    /// The last entry that a raft snapshot stands for; 0 if there is none.
    pub snapshot: u64,
    /// The last entry that was applied to the database; `None` without a database.
    pub applied: Option<u64>,
    /// How many pieces the log is in: more than one where entries are missing between them.
    pub pieces: usize,
    /// Whether it begins with a cluster that was restored from a snapshot.
    pub is_restored: bool,
}

/// What one entry of the log asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoggedCall {
    /// The entry's index in the raft log.
    pub index: u64,
    /// The revision that it made; `None` where it made none, or where that is not known.
    pub revision: Option<Revision>,
    /// Whether the entry is known to be committed.
    pub is_committed: bool,
    /// What it asked for.
    pub call: Call,
}

/// A call that a raft entry holds.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Call {
    /// A put by itself.
    Put(CalledPut),
    /// A deletion by itself.
    Delete(KeyRange),
    /// A transaction.
    Txn(CalledTxn),
    /// A lease was granted.
    LeaseGrant(i64),
    /// A lease was revoked, with all keys that are attached to it.
    LeaseRevoke(i64),
    /// Revisions up to this one were compacted.
    Compaction(Revision),
    /// An alarm was raised or cleared.
    Alarm,
    /// Users, roles or their rights were changed.
    Auth,
    /// Members were added, removed or changed.
    Membership,
    /// A read, a lease's checkpoint, or an entry without a request: it changes nothing.
    Nothing,
    /// The entry cannot be read.
    Unreadable,
}

/// A transaction: what it does if all its compares hold, and what if not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalledTxn {
    /// What must hold.
    pub compares: Vec<CalledCompare>,
    /// What is done if it does.
    pub success: Vec<CalledOperation>,
    /// What is done if not.
    pub failure: Vec<CalledOperation>,
}

/// One compare of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledCompare {
    /// The keys that it is about.
    pub keys: KeyRange,
    /// Which of their properties it compares with what.
    pub target: CompareTarget,
    /// How it compares them.
    pub relation: CompareRelation,
}

/// What a compare holds a key against.
#[derive(Clone, Debug, PartialEq)]
pub enum CompareTarget {
    /// Its version.
    Version(i64),
    /// Its create revision.
    CreateRevision(i64),
    /// Its mod revision.
    ModRevision(i64),
    /// Its value.
    Value(Bytes),
    /// Its lease.
    Lease(i64),
}

/// How a compare relates what a key has to what it holds it against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareRelation {
    /// They are equal.
    Equal,
    /// The key's is greater.
    Greater,
    /// The key's is less.
    Less,
    /// They differ.
    NotEqual,
}

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum CalledOperation {
    /// A read.
    Range(KeyRange),
    /// A put.
    Put(CalledPut),
    /// A deletion.
    Delete(KeyRange),
    /// A transaction within it.
    Txn(Box<CalledTxn>),
}

/// A put.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledPut {
    /// The key.
    pub key: Bytes,
    /// Its value; empty where the version before is to be kept.
    pub value: Bytes,
    /// The lease that the key is attached to; 0 for none.
    pub lease: i64,
    /// Whether the value of the version before is kept.
    pub keeps_value: bool,
    /// Whether the lease of the version before is kept.
    pub keeps_lease: bool,
}

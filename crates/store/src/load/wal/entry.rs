//! An entry of the raft log.

use bytes::Bytes;

#[derive(Clone)]
pub(crate) struct RaftEntry {
    /// Which of the log's files holds it.
    pub file: usize,
    /// What the data are: an [`EntryType`](crate::proto::raftpb::EntryType).
    pub kind: i32,
    /// A slice of that file; empty where a new leader only confirms its term.
    pub data: Bytes,
}

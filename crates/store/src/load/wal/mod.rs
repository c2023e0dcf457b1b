//! etcd's write-ahead log: the raft entries that a member keeps beside its database, and the changes they made.
//!
//! Source of the format: etcd v3.6, `server/storage/wal` and `api/etcdserverpb/raft_internal.proto`.

mod administration;
mod align;
mod candidate;
mod log;
mod record;
mod recover;
mod replay;
mod request;
#[cfg(test)]
mod tests;

pub(super) use log::{Log, Run};
pub(super) use recover::{KnownPut, Logged, changes as recover};
pub(super) use replay::{KeyState, LogChange, Store};
pub(super) use request::Request;

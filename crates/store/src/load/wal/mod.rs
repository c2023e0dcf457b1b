//! etcd's write-ahead log: the raft entries that a member keeps next to its database, and the changes they made.
//!
//! Source of the format: etcd v3.6, `server/storage/wal` and `api/etcdserverpb/raft_internal.proto`.

mod administration;
mod align;
mod auth;
mod calls;
mod candidate;
mod entry;
mod key_state;
mod log;
mod record;
mod recover;
mod replay;
mod request;
mod server_state;
#[cfg(test)]
mod tests;

pub(super) use auth::Auth;
pub(super) use calls::KeptLog;
pub(super) use log::{EntryRun, RaftLog, is_name, looks_like_log};
pub(super) use recover::{KnownPut, LogBounds, Logged, Recovered, UndecidedChange, changes as recover};
pub(super) use replay::{KeyState, LogChange, Store};
pub(super) use request::WalRequest;
pub(super) use server_state::ServerState;

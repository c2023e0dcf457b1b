//! Tests against a real etcd, started on loopback with certificates of their own. Without one they fail and say how to get it.

mod ago;
mod bad_input;
mod compaction;
mod complete;
mod equality;
mod faults;
mod fusion;
mod gentle;
mod help;
mod hostile;
mod ketcd;
mod kill_load;
mod killed;
mod killed_members;
mod long_history;
mod members;
mod quorum;
mod read_only;
mod record;
mod rehearsed;
mod replay;
mod restored;
mod rights;
mod secrets;
mod serve;
mod source;
mod streamed;
mod triage;
mod usage;
mod verify;
mod watching;
mod written;

use ketcd_testing::{cluster, data_dir, etcd, load, pki, pty, random, wal, watcher};

//! Tests against a real etcd, started on loopback with certificates of their own. Without one they fail and say how to get it.

mod ago;
mod bad_input;
mod cluster;
mod compaction;
mod complete;
#[path = "../support/data_dir.rs"]
mod data_dir;
mod equality;
mod etcd;
#[path = "../support/examples.rs"]
mod examples;
mod faults;
mod fusion;
mod gentle;
mod help;
mod hostile;
mod ketcd;
mod kill_load;
mod killed;
mod killed_members;
mod load;
mod long_history;
mod members;
mod pki;
#[path = "../support/pty.rs"]
mod pty;
mod quorum;
#[path = "../support/random.rs"]
mod random;
mod read_only;
mod record;
mod replay;
mod restored;
mod rights;
mod secrets;
mod serve;
#[path = "../support/snapshot.rs"]
mod snapshot;
mod source;
mod streamed;
mod triage;
mod usage;
#[path = "../support/wal.rs"]
mod wal;
mod watcher;
mod watching;
mod written;

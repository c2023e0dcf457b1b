//! What a node of dqlite keeps (MicroK8s, Canonical Kubernetes): snapshots of a SQLite database, and the segments of the log of pages after them. The
//! database is that of kine.
//!
//! Source of the formats: canonical/dqlite 4ac95cd, `src/fsm.c`, `src/command.c` and `src/raft/uv_*.c`.

mod assembly;
mod checksum;
mod command;
mod name;
mod node;
mod segment;
mod signature;
mod snapshot;
mod words;

pub(super) use node::{Node, load, load_snapshot};
pub(super) use signature::{is_name, is_of_node, is_segment, segment_alone};
pub(super) use snapshot::begins_so as is_snapshot;

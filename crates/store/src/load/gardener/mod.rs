//! What Gardener's etcd-backup-restore writes: full snapshots and the changes after them (debd95b, `pkg/types/snapstore.go`, `pkg/snapshot/snapshotter`).
//!
//! A full snapshot may hold some revisions beyond the one in its name; then it and the first delta have these in common.

mod chain;
mod delta;
mod lzw;
mod name;
mod snapshot_choice;

pub(super) use chain::{Chain, is_whole, load, of_lzw_file};
pub(super) use delta::{begins_so, load_alone};
pub(super) use name::{SnapshotName, cluster_of};
pub(super) use snapshot_choice::superfluous;

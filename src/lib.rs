//! The `ketcd` command: flags, connections, output, exit codes.
//!
//! What it knows is in the crates below it: `ketcd-store` (bytes in time), `ketcd-kube` (bytes to objects), `ketcd-history` (objects through
//! revisions), `ketcd-scheduler` (why a pod runs where it runs), `ketcd-restore` (manifests again), `ketcd-render` (results as text, JSON and
//! HTML) and `ketcd-serve` (a Kubernetes API).

mod cli;

pub use cli::{command, main, run};

//! The `ketcd` command: reads Kubernetes out of etcd.
//!
//! What it knows is in the crates below it: `ketcd-store` (bytes in time), `ketcd-kube` (bytes to objects), `ketcd-history` (objects through
//! revisions) and `ketcd-scheduler` (why a pod runs where it runs). Here are the two parts that know a user:
//!
//! - `cli`: flags, sessions, commands, exit codes.
//! - [`render`]: results to text, JSON and HTML.

mod cli;
pub mod render;
mod serve;

pub use cli::{command, main};
#[doc(hidden)]
pub use serve::read_request;

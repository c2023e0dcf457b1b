//! ketcd reads Kubernetes out of etcd.
//!
//! # Layout
//!
//! Eight rooms; each may use only rooms above it (`tests/layers.rs` holds the table):
//!
//! - [`proto`]: generated code, never edited: etcd's messages and the tables of Kubernetes' fields.
//! - [`store`]: bytes in time, what etcd holds; live, in files, in recordings; read-only.
//! - [`kube`]: bytes to objects, what Kubernetes means by them.
//! - [`cluster`]: all objects at one revision, as a scheduler sees them.
//! - [`history`]: objects through many revisions: changes, clocks, timelines.
//! - [`scheduler`]: why a pod may, may not, or should run on a node.
//! - [`render`]: results to text, JSON, HTML.
//! - [`cli`]: the only room that knows there is a user.

pub mod cli;
pub mod cluster;
pub mod history;
pub mod kube;
pub mod proto;
pub mod render;
pub mod scheduler;
pub mod store;

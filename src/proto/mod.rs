//! Generated code, never edited: etcd's messages and the tables of Kubernetes' fields. `tests/codegen.rs` makes it from `proto/`.

#[rustfmt::skip]
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
pub mod etcd;
#[rustfmt::skip]
pub mod kinds;

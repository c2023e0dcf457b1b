//! Generated code, never edited: etcd's messages, the tables of Kubernetes' fields and kinds. `tests/codegen` makes it from `proto/`.

#[rustfmt::skip]
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
pub mod etcd;
#[rustfmt::skip]
pub mod kinds;
#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, reason = "generated")]
pub mod kubernetes;
pub mod table;

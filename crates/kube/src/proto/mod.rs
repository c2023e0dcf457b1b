//! The tables of Kubernetes' messages and kinds: generated, never edited. `tests/codegen` makes them from `proto/`.

#[rustfmt::skip]
pub mod kinds;
#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, reason = "generated")]
pub mod kubernetes;
pub mod table;
#[rustfmt::skip]
pub mod versions;

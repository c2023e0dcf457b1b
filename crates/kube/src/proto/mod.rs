//! The tables of Kubernetes' messages, kinds, versions and selectable fields: generated, never edited. `tests/contracts/codegen` makes them from `proto/`.

#[rustfmt::skip]
pub mod fields;
#[rustfmt::skip]
pub mod kinds;
#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, reason = "generated")]
pub mod kubernetes;
pub mod table;
#[rustfmt::skip]
pub mod versions;

//! The questions that are asked of a cluster, each answered with data.

pub(crate) mod asked_keys;
pub mod blame;
pub mod browser;
pub mod bundle;
pub mod census;
pub mod configuration;
pub mod describe;
pub mod diff;
pub mod explain;
pub mod export;
pub mod extract;
pub mod grep;
pub(crate) mod reduced;
pub mod rehearse;
pub mod report;
mod seals;
pub mod survey;
pub mod traces;
pub mod triage;
pub mod usage;
pub mod verify;
pub(crate) mod writers;

//! The JSON that scripts rely on: one type for each document, from which both the output and its schema are made.
//!
//! Doc comments of these types are the descriptions in `docs/schema`. Fields stand in the order in which they are written.

pub mod blame;
pub mod browser;
pub mod bundle;
pub mod change;
pub mod common;
pub mod decode;
pub mod describe;
pub mod diff;
pub mod encryption;
pub mod export;
pub mod extract;
pub mod grep;
pub mod listing;
pub mod plugins;
mod registry;
pub mod rehearse;
pub mod request;
pub mod spec_diff;
pub mod status;
pub mod timeline;
pub mod tree;
pub mod triage;
pub mod usage;
pub mod verify;
pub mod watch;
pub mod what_if;
pub mod window;
pub mod with_config;

pub use registry::{Contract, JSON_CONTRACTS, find};

#![doc = include_str!("../README.md")]

pub mod api;
pub mod blame;
pub mod census;
pub mod clock;
mod cluster;
pub mod configuration;
pub mod cores;
pub mod describe;
pub mod diff;
mod error;
pub mod explain;
pub mod export;
pub mod extract;
pub mod files;
pub mod kinds;
pub mod not_found;
mod notice;
mod open;
mod options;
mod problems;
pub mod read;
pub mod related;
mod release;
pub mod replay;
pub mod report;
pub mod rights;
mod seals;
pub mod survey;
pub mod triage;
pub mod usage;
pub mod watching;

pub use cluster::{Cluster, DEFAULT_PREFIX, DEFINITIONS, built_in};
pub use error::{DeniedKeys, Error, Nothing, Result};
pub use notice::{Incomplete, Notice, Notices};
pub use options::{Options, ReleaseChoice};
pub use problems::Problems;

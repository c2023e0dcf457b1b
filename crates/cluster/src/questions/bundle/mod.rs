//! A slice of a source: the chosen objects and what their stories need, through a stretch of the history.
//!
//! [`bundle`](crate::Cluster::bundle) finds which keys those are. What a scheduler counted of other objects comes with pods that were decided about: these objects are
//! reduced to what it reads, so that [`explain`](crate::explain) gives the same verdicts. [`Bundle::write`] hands on each version, as it is stored,
//! masked or redacted; nothing is held but the keys. [`leaks`] searches what was written for what was to go.

mod batch;
mod few;
mod kept_keys;
mod needs;
mod parts;
mod plan;
mod search;
mod selector;
mod stream;
mod value;

pub use parts::{BundlePart, BundleSummary, MissingPart};
pub use plan::Bundle;
pub use search::{LeakPlace, leaks};

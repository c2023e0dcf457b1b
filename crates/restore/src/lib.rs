#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod apply;
pub mod cautions;
pub mod exclusions;
mod identity;
pub mod immutable;
mod manifest;
pub mod obstacles;
pub mod order;
pub mod pod_template;
pub mod references;
pub mod rules;

pub use identity::ObjectId;
pub use manifest::{Switches, has_status_subresource, strip};

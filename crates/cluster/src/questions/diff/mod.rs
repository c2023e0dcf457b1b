//! What differs: between two states of some objects, and between the members of a cluster.

mod incomparable;
mod members;
mod objects;
pub mod spec;
mod state;

pub use incomparable::Incomparable;
pub use members::{Comparison, DifferingKey, Holders, KeyVersion, MemberProblem, MemberSpan, Members};
pub use objects::{Diff, NamedDifference, diff};
pub use state::ComparedState;

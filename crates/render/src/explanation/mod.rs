//! Explanations of scheduling decisions: as JSON for scripts, as text for people.

mod amounts;
mod caveats;
mod facts;
mod fixes;
mod group;
mod group_caveats;
mod help;
pub mod json;
mod node;
mod pod_now;
mod refusals;
mod scores;
mod since;
pub mod table;
pub mod text;
mod unverifiable;
mod words;

pub use caveats::version_evidence;
pub use pod_now::PodNow;
pub use since::{Awaited, SinceRefusal};

//! Explanations of scheduling decisions: as JSON for scripts, as text for people.

pub mod json;
mod refusals;
mod scores;
pub mod text;

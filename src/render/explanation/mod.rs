//! Explanations of scheduling decisions: as JSON for scripts, as text for people.

mod fixes;
mod group;
mod help;
pub mod json;
mod node;
mod refusals;
mod scores;
pub mod table;
pub mod text;
mod words;

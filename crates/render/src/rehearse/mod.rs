//! What `rehearse` answers, for people: the decision on the first line, then what is lost, what runs on, what does not fit and what is stale.

#[cfg(test)]
pub(crate) mod made_up;
mod markdown;
mod scores;
mod screen;
mod text;

pub use markdown::write_markdown;
pub use scores::write_scores;
pub use text::{RehearsalAmount, write_text};

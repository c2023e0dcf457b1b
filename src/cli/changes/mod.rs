//! What changed: the answers of `history`, `watch`, `events`, `report` and `diff`.

pub(in crate::cli) mod compared_states;
pub(in crate::cli) mod events;
pub(in crate::cli) mod members;
pub(in crate::cli) mod printing;
pub(in crate::cli) mod report;

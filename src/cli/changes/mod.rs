//! What changed: the answers of `history`, `timeline`, `watch`, `events`, `report`, `diff` and `triage`.

pub(in crate::cli) mod compared_states;
pub(in crate::cli) mod earlier_triage;
pub(in crate::cli) mod events;
pub(in crate::cli) mod members;
pub(in crate::cli) mod printing;
pub(in crate::cli) mod report;
pub(in crate::cli) mod spec_comparison;
pub(in crate::cli) mod timeline;

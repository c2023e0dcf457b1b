//! What the user types: flags, and what their values mean.

pub(in crate::cli) mod actions;
pub(in crate::cli) mod connection;
pub(in crate::cli) mod flag_file;
pub(in crate::cli) mod global_flags;
pub(in crate::cli) mod history_window;
pub(in crate::cli) mod opened;
pub(in crate::cli) mod placed_revision;
pub(in crate::cli) mod request_filter;
pub(in crate::cli) mod scheduler;
pub(in crate::cli) mod selectors;
pub(in crate::cli) mod size;
pub(in crate::cli) mod source_names;
pub(in crate::cli) mod time_span;

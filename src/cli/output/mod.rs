//! What the user sees: standard output, the messages beside it, and files that are written in their place.

pub(in crate::cli) mod destination;
pub(in crate::cli) mod notices;
pub(in crate::cli) mod pager;
pub(in crate::cli) mod panics;
pub(in crate::cli) mod progress;
mod standard_output;

pub(super) use standard_output::{Color, Format, Output, are_on_terminal, emit, note, report_error, report_panic, report_usage};

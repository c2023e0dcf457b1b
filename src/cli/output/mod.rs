//! What the user sees: answers on standard output or in files, and messages and progress on standard error.

pub(in crate::cli) mod destination;
mod format;
pub(in crate::cli) mod messages;
pub(in crate::cli) mod notices;
mod pager;
pub(in crate::cli) mod panics;
pub(in crate::cli) mod progress;
mod standard_output;
mod terminal;

pub(super) use format::{Color, Format};
pub(super) use messages::{note, report_error, report_usage};
pub(super) use standard_output::Output;
pub(super) use terminal::are_on_terminal;

//! A panic, which is a defect of ours: its place is reported. Its message may quote data, so it is not.

use std::panic;

use super::messages;

/// Reports panics from now on.
pub(in crate::cli) fn install() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        messages::report_panic(&place);
    }));
}

//! Who ends a command, and who listens for Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether another part of the command answers Ctrl-C.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Ctrl-C where nothing else answers it.
pub(in crate::cli) mod interrupts {
    use super::{IS_TAKEN, Ordering};

    /// Whether Ctrl-C is left to another part.
    pub(in crate::cli) fn are_taken() -> bool {
        IS_TAKEN.load(Ordering::SeqCst)
    }

    /// Leaves Ctrl-C to the caller from now on.
    pub(in crate::cli) fn take_over() {
        IS_TAKEN.store(true, Ordering::SeqCst);
    }
}

/// Who asked for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Interrupted {
    Keyboard,
    /// A request to terminate, or a terminal that was closed.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Ctrl-C asks elsewhere"))]
    Terminate,
}

//! How many values this thread has decoded, for tests that hold it against what is shown.

use std::cell::Cell;

thread_local!(static DECODED: Cell<usize> = const { Cell::new(0) });

pub(super) fn add() {
    DECODED.set(DECODED.get() + 1);
}

/// Returns how many values this thread has decoded so far.
pub fn decodes() -> usize {
    DECODED.get()
}

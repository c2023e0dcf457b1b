//! The arguments that ketcd was called with. They are those of the process, but for a call from Python, whose own come first there.

use std::ffi::OsString;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says which they are, the program's name first. Called once.
pub(in crate::cli) fn are(arguments: Vec<OsString>) {
    let _ = ARGUMENTS.set(arguments);
}

/// All of them, the program's name first.
pub(in crate::cli) fn all() -> &'static [OsString] {
    ARGUMENTS.get_or_init(|| std::env::args_os().collect())
}

//! Who ends a command that runs until it is stopped.

/// Who asked for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Interrupted {
    /// Ctrl-C.
    Keyboard,
    /// A request to terminate, or a terminal that was closed.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Ctrl-C asks elsewhere"))]
    Terminate,
}

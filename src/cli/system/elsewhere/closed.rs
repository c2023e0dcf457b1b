//! Standard output whose reader has gone, which shows here only in a write.

/// Whether standard output is a pipe, as far as is known.
pub(in crate::cli) fn is_pipe() -> bool {
    false
}

/// Waits forever.
pub(in crate::cli) async fn standard_output() {
    std::future::pending().await
}

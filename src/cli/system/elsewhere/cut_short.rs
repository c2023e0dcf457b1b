//! A file that is cut short while it is mapped: the system refuses to cut it.

/// There is nothing to take.
pub(in crate::cli) fn install() {}

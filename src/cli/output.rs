//! The process's own streams: the only place that may print.

use std::io::Write;

use super::Error;

/// Writes an error as one line on standard error.
pub fn report_error(error: &Error) {
    note(&format!("error: {error}"));
}

/// Writes one line on standard error; a closed standard error is nobody's problem.
pub fn note(line: &str) {
    let _ = writeln!(anstream::stderr(), "ketcd: {line}");
}

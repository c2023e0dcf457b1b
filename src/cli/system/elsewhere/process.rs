//! Limits of this process, and the processes that it starts.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus};

/// Open files are not limited.
pub(in crate::cli) fn open_many() -> usize {
    usize::MAX
}

/// A command line, to be run by the shell.
pub(in crate::cli) fn shell(line: &OsStr) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").arg(line);
    command
}

/// A process cannot be asked to end.
pub(in crate::cli) fn terminate(_command: &tokio::process::Child) {}

/// No signal ends a process.
pub(in crate::cli) fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

/// Ctrl-C ends the pager and ketcd.
pub(in crate::cli) fn ignore_interrupts() {}

/// Opens a document in the user's program for it.
///
/// # Errors
/// There is no such program.
pub(in crate::cli) fn open_document(path: &std::path::Path) -> std::io::Result<()> {
    Command::new("explorer").arg(path).spawn().map(drop)
}

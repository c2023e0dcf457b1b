//! Limits of this process, and the processes that it starts.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus};

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::cli::system::interruption::interrupts;

/// Lets the process open as many files as it may, each connection being one, and returns how many those are.
pub(in crate::cli) fn open_many() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer, more clients wait.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// A command line, to be run by the shell.
pub(in crate::cli) fn shell(line: &OsStr) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}

/// Asks a command to end.
pub(in crate::cli) fn terminate(command: &tokio::process::Child) {
    if let Some(pid) = command.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
        // One that has ended needs no asking.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

pub(in crate::cli) fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// Leaves Ctrl-C to a pager from now on: ending here would leave the terminal to two readers. A pager that is left ends ketcd by its closed pipe.
pub(in crate::cli) fn ignore_interrupts() {
    if tokio::runtime::Handle::try_current().is_ok() {
        // Once somebody has listened, the signal ends the process no more.
        let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        interrupts::take_over();
    }
}

/// Opens a document in the user's program for it.
///
/// # Errors
/// There is no screen, or no such program.
pub(in crate::cli) fn open_document(path: &std::path::Path) -> std::io::Result<()> {
    let is_mac = cfg!(target_os = "macos");
    if !is_mac && ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|name| std::env::var_os(name).is_none_or(|screen| screen.is_empty())) {
        return Err(std::io::Error::other("there is no screen"));
    }
    let mut command = Command::new(if is_mac { "open" } else { "xdg-open" });
    let nothing = std::process::Stdio::null;
    command.arg(path).stdin(nothing()).stdout(nothing()).stderr(nothing()).spawn().map(drop)
}

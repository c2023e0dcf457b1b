//! A command that uses the API that is served, and is waited for.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitStatus;

use tokio::process::{Child, Command};

use crate::cli::termination::{Interrupted, Interruptions};
use crate::cli::{Error, Result, credentials};

/// Runs a command with KUBECONFIG set and without etcd's credentials, and returns its exit code.
///
/// # Errors
/// It cannot be run.
pub(super) async fn run(program: &OsStr, arguments: &[OsString], kubeconfig: &Path, interruptions: &mut Interruptions) -> Result<u8> {
    let mut command = Command::new(program);
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    for (name, _) in std::env::vars_os().filter(|(name, _)| credentials::is_variable(name)) {
        command.env_remove(name);
    }
    let command = command.spawn().map_err(|error| Error::new(format!("cannot run {}: {error}", program.display())))?;
    Ok(exit_code(until_ended(command, interruptions).await?))
}

/// Waits for a command. Ctrl-C is its own to take: the terminal sends it to both. Other requests come to this process alone: the first asks the command to
/// end, the next ends it.
async fn until_ended(mut command: Child, interruptions: &mut Interruptions) -> Result<ExitStatus> {
    let mut is_asked = false;
    loop {
        tokio::select! {
            ended = command.wait() => return Ok(ended?),
            signal = interruptions.next() => match signal {
                Interrupted::Keyboard => {}
                Interrupted::Terminate if is_asked => command.start_kill()?,
                Interrupted::Terminate => {
                    terminate(&command);
                    is_asked = true;
                }
            }
        }
    }
}

/// Asks a command to end.
fn terminate(command: &Child) {
    #[cfg(unix)]
    if let Some(pid) = command.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
        // One that has ended needs no asking.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    #[cfg(not(unix))]
    let _ = command;
}

/// As a shell has it: 128 and the signal for a command that one ended.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    let code = status.code().or_else(|| signal.map(|signal: i32| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

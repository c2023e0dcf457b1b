//! A command that uses the API that is served, and is waited for.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitStatus;

use tokio::process::{Child, Command};

use crate::cli::invocation::credential_variables;
use crate::cli::outcome::{Error, Result};
use crate::cli::system::termination::Interruptions;
use crate::cli::system::{Interrupted, process};

/// Runs a command with KUBECONFIG set and without etcd's credentials, and returns its exit code.
pub(super) async fn run(program: &OsStr, arguments: &[OsString], kubeconfig: &Path, interruptions: &mut Interruptions) -> Result<u8> {
    let mut command = Command::new(program);
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    for (name, _) in std::env::vars_os().filter(|(name, _)| credential_variables::is_variable(name)) {
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
                    process::terminate(&command);
                    is_asked = true;
                }
            }
        }
    }
}

/// As a shell has it: 128 and the signal for a command that one ended.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| process::signal(status).map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

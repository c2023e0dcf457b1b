//! The built binary, run to its end, and what is looked at afterwards.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

/// How long ketcd waits for an etcd in a test that is not about that: as long as a busy machine, or one that stands still, may take.
pub const ETCD_PATIENCE: &str = "10m";

/// A binary without the environment's ideas of where etcd is and how wide lines are, and with [`ETCD_PATIENCE`]. A test of the package that builds it names it
/// by `env!("CARGO_BIN_EXE_ketcd")`.
pub fn built(binary: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ETCDCTL_") || name == "COLUMNS" {
            command.env_remove(name);
        }
    }
    command.env("ETCDCTL_DIAL_TIMEOUT", ETCD_PATIENCE).env("ETCDCTL_COMMAND_TIMEOUT", ETCD_PATIENCE);
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.wait_with_output().unwrap()
}

/// What a command printed on standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// All that a command wrote: standard output, then standard error.
pub fn all(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// An endpoint where nobody listens.
#[cfg(target_os = "linux")]
pub fn nobody(scheme: &str) -> String {
    format!("{scheme}{}", crate::loopback::address())
}

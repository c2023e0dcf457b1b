//! The built binary, run to its end, and what is looked at afterwards.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A binary without the environment's ideas of where etcd is and how wide lines are. A test of the package that builds it names it by `env!("CARGO_BIN_EXE_ketcd")`.
pub fn built(binary: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ETCDCTL_") || name == "COLUMNS" {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end; one that hangs is stopped after two minutes, with exit code `None`.
pub fn run(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (pid, (done, waiting)) = (child.id(), channel::<()>());
    let watchdog = thread::spawn(move || {
        if waiting.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    watchdog.join().unwrap();
    output
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
pub fn nobody(scheme: &str) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("{scheme}127.0.0.1:{port}")
}

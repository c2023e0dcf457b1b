//! The built binary, as tests of several files run it.

use std::process::{Command, Output};

/// The binary, without the environment's ideas of where etcd is.
pub(crate) fn ketcd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ETCDCTL_") {
            command.env_remove(name);
        }
    }
    command
}

/// All that it wrote.
pub(crate) fn all(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// An endpoint where nobody listens.
pub(crate) fn nobody(scheme: &str) -> String {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("{scheme}127.0.0.1:{port}")
}

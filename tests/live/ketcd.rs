//! Ways to the code under test: the library's source, and the built binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use ketcd_store::etcd::{EtcdConfig, EtcdSource};

use crate::etcd::Etcd;
use crate::pki::{Pair, Pki};

/// How to reach `etcd` with a client certificate of `pki`.
pub(crate) fn config(etcd: &Etcd, pki: &Pki) -> EtcdConfig {
    let client = pki.client();
    EtcdConfig {
        endpoints: vec![etcd.endpoint()],
        cacert: Some(pki.ca()),
        cert: Some(client.cert),
        key: Some(client.key),
        ..EtcdConfig::default()
    }
}

/// A source; its notices are dropped.
pub(crate) fn open(config: EtcdConfig) -> EtcdSource {
    EtcdSource::new(config, Arc::new(|_: &str| ())).unwrap()
}

/// The binary, without the environment's ideas of where etcd is.
pub(crate) fn ketcd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
    for name in [
        "ENDPOINTS",
        "CACERT",
        "CERT",
        "KEY",
        "USER",
        "PASSWORD",
        "DIAL_TIMEOUT",
        "COMMAND_TIMEOUT",
        "INSECURE_SKIP_TLS_VERIFY",
        "INSECURE_TRANSPORT",
    ] {
        command.env_remove(format!("ETCDCTL_{name}"));
    }
    command
}

/// A command on files, its words between blanks.
pub(crate) fn on(data: &Path, arguments: &str) -> Command {
    let mut command = ketcd();
    command.arg("-f").arg(data).args(arguments.split(' '));
    command
}

/// The flags that reach `endpoint` with these certificates.
pub(crate) fn flags<'a>(command: &'a mut Command, endpoint: &str, ca: &Path, client: &Pair) -> &'a mut Command {
    command.args(["--endpoints", endpoint]).arg("--cacert").arg(ca).arg("--cert").arg(&client.cert).arg("--key").arg(&client.key)
}

/// Runs a command to its end; one that hangs is stopped after two minutes, with exit code `None`.
pub(crate) fn run(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (pid, (done, waiting)) = (child.id(), mpsc::channel::<()>());
    let watchdog = thread::spawn(move || {
        if waiting.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    watchdog.join().unwrap();
    output
}

/// What a command printed on standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

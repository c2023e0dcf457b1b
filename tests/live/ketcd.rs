//! Ways to the code under test: the library's source, and the built binary.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ketcd_store::etcd::{EtcdConfig, EtcdSource};

use crate::etcd::Etcd;
use crate::pki::{Pair, Pki};
use crate::watcher::Watching;

pub(crate) use ketcd_testing::command::{nobody, run, stderr};

/// A library's configuration without limits of time: a busy machine may take long.
pub(crate) fn patient() -> EtcdConfig {
    let forever = Duration::from_secs(24 * 3600);
    EtcdConfig { dial_timeout: forever, command_timeout: forever, ..EtcdConfig::default() }
}

/// How to reach `etcd` with a client certificate of `pki`.
pub(crate) fn config(etcd: &Etcd, pki: &Pki) -> EtcdConfig {
    let client = pki.client();
    EtcdConfig { endpoints: vec![etcd.endpoint()], cacert: Some(pki.ca()), cert: Some(client.cert), key: Some(client.key), ..patient() }
}

/// A source; its notices are dropped.
pub(crate) fn open(config: EtcdConfig) -> EtcdSource {
    EtcdSource::new(config, Arc::new(|_: &str| ())).unwrap()
}

/// The binary, without the environment's ideas of where etcd is.
pub(crate) fn ketcd() -> Command {
    ketcd_testing::command::built(env!("CARGO_BIN_EXE_ketcd"))
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

/// Watches one member with a client certificate of `pki`.
pub(crate) fn start_watching(etcd: &Etcd, pki: &Pki, words: &[&str]) -> Watching {
    Watching::run(flags(&mut ketcd(), &etcd.endpoint(), &pki.ca(), &pki.client()).args(words))
}

//! `ketcd record`: writes down what a live etcd goes through.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use ketcd_store::recording::{Keep, RecorderOptions};

use crate::cli::connection::runtime::block_on;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::size::size;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::recorder::{OfApiServer, Recording, age, keep};
use crate::cli::session::command::Run;

/// Record every change of a live etcd
///
/// Writes every change, from the oldest readable revision on, into a directory until interrupted. -f DIR reads the recording, even while it
/// is being written. Started again, it continues where it stopped. Revisions that etcd compacted before they could be read are recorded as
/// a gap. Changes are on disk within a second. Secrets are left out unless --show-secrets is given. With --kubeconfig the API server is
/// followed instead, and changes are on disk within a minute.
#[derive(Args, Debug)]
#[command(before_help = "\
# Record a month of a live etcd\n\
ketcd record recording --keep 30d\n\
# Record pods and nodes alone\n\
ketcd record incident --keys /registry/pods/ --keys /registry/minions/")]
pub(crate) struct RecordArgs {
    /// The directory of the recording, created if needed and readable by its owner only.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: PathBuf,
    /// Record only keys that begin with this, such as /registry/pods/; may be given more than once. Default: all keys.
    #[arg(long = "keys", value_name = "PREFIX")]
    prefixes: Vec<String>,
    /// Record through the API server instead, reached as kubectl reaches it; FILE is the kubeconfig. Default: KUBECONFIG, else
    /// ~/.kube/config, else the pod's service account.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath, conflicts_with = "prefixes")]
    kubeconfig: Option<Option<PathBuf>>,
    /// The context of the kubeconfig. Default: its current context.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,
    /// Record only these resources, such as pods,deployments.apps. Default: all.
    #[arg(long, value_name = "RESOURCES", value_delimiter = ',', requires = "kubeconfig")]
    resources: Vec<String>,
    /// Keep the newest part of the recording: by recorded time (30d, 12h) or by size (20GB). Default: everything.
    #[arg(long, value_name = "AGE|SIZE", value_parser = keep)]
    keep: Option<Keep>,
    /// Serve Prometheus metrics on this address, without TLS or a password; they contain only numbers.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Start a new file when the current one reaches this size.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64Mi")]
    file_size: u64,
    /// Start a new file when the current one reaches this age.
    #[arg(long, value_name = "AGE", value_parser = age, default_value = "1h")]
    file_age: Duration,
}

impl Run for RecordArgs {
    fn may_be_paged(&self) -> bool {
        false
    }

    fn run(&self, global: &GlobalArgs, _out: &mut Output) -> Result<Outcome> {
        let options = RecorderOptions { file_bytes: self.file_size, file_age: self.file_age, keep: self.keep };
        let recording = Recording { directory: &self.directory, options, metrics: self.metrics };
        let Some(file) = &self.kubeconfig else { return block_on(recording.of_etcd(global, &self.prefixes)) };
        let of_server = OfApiServer { file: file.as_deref(), context: self.context.as_deref(), resources: &self.resources };
        block_on(recording.of_api_server(global, of_server))
    }
}

//! `ketcd serve`: the data as a read-only Kubernetes API.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::connection::cautions;
use crate::cli::connection::inputs::inputs;
use crate::cli::connection::runtime::block_on_threads;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::Output;
use crate::cli::output::destination::{self, Replacing};
use crate::cli::serving;
use crate::cli::session::command::Run;
use crate::cli::system::process::open_many;
use ketcd_serve::{CertificateFiles, Options, PageOptions, is_own_kubeconfig};

/// Serve the data as a read-only Kubernetes API
///
/// kubectl, k9s and other clients see the cluster as it was at --rev or --at: -f snapshot.db serve -- kubectl get pods. With a command,
/// runs it with KUBECONFIG set and ends with its exit code. Without one, writes a kubeconfig, prints its path, and serves until
/// interrupted. A path that begins with /rev/N or /at/TIME shows that moment instead.
#[derive(Args, Debug)]
#[command(before_help = "\
# Run kubectl on a snapshot\n\
ketcd -f snapshot.db serve -- kubectl get pods -A\n\
# The same as it was at 22:20\n\
ketcd -f snapshot.db --at 22:20 serve -- kubectl get nodes")]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 picks a free one. With any address but loopback, other machines that have the token can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The server's certificate in PEM, with its chain. Default: one made for this run, which the kubeconfig trusts.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Write the kubeconfig to this path, readable by its owner only. Default: a private temporary file, removed at the end.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// Replay the history at this speed (10x), from --rev or --at, or else from the oldest revision. Watches see each change when it is
    /// due.
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    replay: Option<f64>,
    /// Serve the page of `ketcd ui` too, below /ui/: prints the link to it.
    #[arg(long, conflicts_with = "replay")]
    ui: bool,
    /// A command to run with KUBECONFIG set, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl ServeArgs {
    /// Checks what the flags name, and says how to serve.
    fn options(&self, global: &GlobalArgs) -> Result<Options> {
        if self.replay.is_some() && global.names_live_etcd() {
            let what = "--replay replays a file; ketcd follows a live etcd as it changes";
            return Err(Error::new(what).hint("replay a snapshot of it: etcdctl snapshot save FILE, then ketcd -f FILE serve --replay"));
        }
        if let Some(path) = &self.kubeconfig {
            let replacing = Replacing { is_older: &is_own_kubeconfig, what: "a kubeconfig that ketcd wrote", any: None };
            destination::check_file("--kubeconfig", path, &inputs(global), &replacing)?;
        }
        let certificate = self.tls_cert.clone().zip(self.tls_key.clone()).map(|(certificate, key)| CertificateFiles { certificate, key });
        let page = self.ui.then(|| PageOptions { invocation: invocation().clone(), is_alone: false });
        Ok(Options { listen: self.listen, certificate, kubeconfig: self.kubeconfig.clone(), files: open_many(), speed: self.replay, page })
    }
}

impl Run for ServeArgs {
    fn may_be_paged(&self) -> bool {
        false
    }

    fn run(&self, global: &GlobalArgs, _out: &mut Output) -> Result<Outcome> {
        block_on_threads(ketcd_serve::threads(), async {
            let options = self.options(global)?;
            let cluster = serving::open(global).await?;
            self.tls_key.iter().for_each(|key| cautions::of_key("--tls-key", key));
            serving::run(cluster, &options, &self.command).await
        })
    }
}

/// Reads a speed such as `10x`.
fn speed(text: &str) -> std::result::Result<f64, String> {
    let number = text.strip_suffix(['x', 'X']).unwrap_or(text).parse::<f64>().ok();
    let is_speed = |speed: &f64| (0.001..=1_000_000.0).contains(speed);
    number.filter(is_speed).ok_or_else(|| "give how many times as fast time passes, from 0.001x to 1000000x".to_owned())
}

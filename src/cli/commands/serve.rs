//! `ketcd serve`: the data as a read-only Kubernetes API.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use clap::{Args, ValueHint};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::process::Command;

use crate::cli::args::GlobalArgs;
use crate::cli::output::note;
use crate::cli::rights::Reads;
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result, progress};
use crate::serve::{Data, Options, Server};
use ketcd_history::clock::Moment;
use ketcd_kube::{Decoder, Release};
use ketcd_store::{At, Revision, Source};

/// Serve the data as a read-only Kubernetes API
///
/// kubectl, k9s and other clients work on it as on the cluster, at the moment that --rev or --at names: -f snapshot.db serve -- kubectl get pods.
/// With a command, runs it with KUBECONFIG set and ends with its exit code. Without one, writes a kubeconfig, prints where it is, and serves until
/// it is interrupted. A path that begins with /rev/N or /at/TIME, before the API's own, shows that moment instead.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The address to listen on, of this machine only; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Write the kubeconfig here, readable by its owner. Default: a private temporary file, removed at the end.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// A command to run with KUBECONFIG set, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command.
pub(super) async fn run(global: &GlobalArgs, args: &ServeArgs) -> Result<Outcome> {
    let mut session = Session::new(global)?;
    let reads = Reads::of(&[]);
    session.announce(&reads);
    if let Err(error) = session.begin(false).await {
        return Err(session.with_grants(error, &reads).await);
    }
    let release = global.release.or_else(|| session.release_evidence.release()).unwrap_or_default();
    let prefix = session.prefix().await?.to_owned();
    progress::end();
    let session = Arc::new(session);
    let served = Arc::new(Served { decoder: session.reporting_decoder.clone(), session: Arc::clone(&session), prefix, release });
    let options = Options { listen: args.listen, kubeconfig: args.kubeconfig.clone() };
    let server = Server::start(served, &options).await.map_err(Error::new)?;
    let Some((program, rest)) = args.command.split_first() else {
        let address = server.address();
        note(&format!("a Kubernetes {release} API, read-only, on https://{address}"));
        note(&format!("use it with: export KUBECONFIG={}", server.kubeconfig().display()));
        note(
            "contexts: ketcd (the moment asked for), newest; the paths /rev/N and /at/TIME in front of its own show others; Ctrl-C ends it",
        );
        interrupted().await?;
        return Ok(session.end(Outcome::Found));
    };
    let command = Command::new(program).args(rest).env("KUBECONFIG", server.kubeconfig()).spawn();
    let mut command = command.map_err(|error| Error::new(format!("cannot run {}: {error}", program.display())))?;
    // Ctrl-C is the command's own to take: the terminal sends it to both.
    let ended = loop {
        tokio::select! {
            ended = command.wait() => break ended?,
            signal = interrupted() => signal?,
        }
    };
    session.end(Outcome::Found);
    Ok(Outcome::Ended(exit_code(ended)))
}

/// Waits for Ctrl-C or a request to terminate.
async fn interrupted() -> Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed?,
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
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

/// A session as what is served.
struct Served {
    session: Arc<Session>,
    decoder: Decoder,
    prefix: String,
    release: Release,
}

impl Data for Served {
    fn source(&self) -> &dyn Source {
        &*self.session.source
    }

    fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn release(&self) -> Release {
        self.release
    }

    fn at(&self) -> At {
        self.session.at
    }

    fn is_live(&self) -> bool {
        self.session.asks_live_etcd()
    }

    fn revision_at<'a>(&'a self, time: &'a str) -> BoxFuture<'a, Result<(Revision, Timestamp), String>> {
        Box::pin(async move {
            let moment: Moment = time.parse().map_err(|error| format!("{time:?}: {error}"))?;
            let revision = self.session.revision_at(moment).await.map_err(|error| error.to_string())?;
            let reference = self.session.reference_time().await.map_err(|error| error.to_string())?;
            let resolved = reference.and_then(|reference| moment.resolve(reference));
            Ok((revision, resolved.ok_or_else(|| "nothing in this data dates its revisions".to_owned())?))
        })
    }

    fn time_of(&self, at: At) -> BoxFuture<'_, Result<Option<Timestamp>, String>> {
        Box::pin(async move { self.session.moment_of(at).await.map_err(|error| error.to_string()) })
    }

    fn date(&self, revision: Revision) -> BoxFuture<'_, Option<Timestamp>> {
        Box::pin(async move { Some(self.session.clock().await.ok()?.date(revision)?.time) })
    }
}

//! `ketcd serve`: the data as a read-only Kubernetes API.

use std::convert::Infallible;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use clap::{Args, ValueHint};
use tokio::process::{Child, Command};

use crate::cli::args::GlobalArgs;
use crate::cli::destination::{self, Replacing};
use crate::cli::output::note;
use crate::cli::session::Session;
use crate::cli::termination::{Interrupted, Interruptions};
use crate::cli::{Error, Outcome, Result, cautions, credentials, progress};
use ketcd_cluster::rights::Question;
use ketcd_cluster::triage::no_cluster;
use ketcd_render::triage::absence_words;
use ketcd_serve::{CertificateFiles, Options, Server, is_own_kubeconfig};
use ketcd_store::shell::quoted;

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
    /// A command to run with KUBECONFIG set, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command.
pub(super) async fn run(global: &GlobalArgs, args: &ServeArgs) -> Result<Outcome> {
    if args.replay.is_some() && global.names_live_etcd() {
        let what = "--replay plays what a file holds; a live etcd is followed as it goes";
        return Err(Error::new(what).hint("replay a snapshot of it: etcdctl snapshot save FILE, then ketcd -f FILE serve --replay"));
    }
    if let Some(path) = &args.kubeconfig {
        let replacing = Replacing { is_older: &is_own_kubeconfig, what: "a kubeconfig of ketcd's alone", any: None };
        destination::check_file("--kubeconfig", path, global, &replacing)?;
    }
    let mut session = Session::new(global, false)?;
    let reads = Question::Everything.reads();
    session.announce(&reads);
    if let Err(error) = session.begin().await {
        return Err(session.with_grants(error.into(), &reads).await);
    }
    let release = session.release();
    no_cluster(&session).await?.iter().for_each(|absence| note(&absence_words(absence)));
    progress::end();
    let cluster = Arc::new(session.into_cluster());
    args.tls_key.iter().for_each(|key| cautions::of_key("--tls-key", key));
    let certificate = args.tls_cert.clone().zip(args.tls_key.clone()).map(|(certificate, key)| CertificateFiles { certificate, key });
    let (kubeconfig, files) = (args.kubeconfig.clone(), open_many());
    let options = Options { listen: args.listen, certificate, kubeconfig, files, speed: args.replay };
    // Before there is anything to remove.
    let mut interruptions = Interruptions::begin()?;
    let server = Server::start(Arc::clone(&cluster), &options).await.map_err(Error::new)?;
    let Some((program, rest)) = args.command.split_first() else {
        let address = server.address();
        note(&format!("serving a read-only Kubernetes {release} API on https://{address}"));
        note(&format!("use it with: export KUBECONFIG={}", quoted(server.kubeconfig().as_os_str().as_encoded_bytes())));
        note(
            "contexts: ketcd (the moment asked for), newest; the paths /rev/N and /at/TIME in front of its own show others; Ctrl-C ends it",
        );
        if let Some(replay) = server.replay() {
            note(&format!("the clock runs from {:.0} on", replay.now()));
        }
        tokio::select! {
            ended = replayed(&server) => match ended {},
            _ = interruptions.next() => {}
        }
        return Ok(if cluster.finish() { Outcome::Damaged } else { Outcome::Found });
    };
    let mut command = Command::new(program);
    command.args(rest).env("KUBECONFIG", server.kubeconfig());
    for (name, _) in std::env::vars_os().filter(|(name, _)| credentials::is_variable(name)) {
        command.env_remove(name);
    }
    let command = command.spawn().map_err(|error| Error::new(format!("cannot run {}: {error}", program.display())))?;
    let ended = until_ended(command, &mut interruptions).await?;
    cluster.finish();
    Ok(Outcome::Ended(exit_code(ended)))
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

/// Says when a replay has come to its end; the server goes on.
async fn replayed(server: &Server) -> Infallible {
    let end = match server.replay() {
        Some(replay) => replay.end().await,
        None => None,
    };
    if let Some(end) = end {
        tokio::time::sleep_until(end).await;
        note("reached the newest revision: nothing more will happen; press Ctrl-C to stop");
    }
    std::future::pending().await
}

/// Reads a speed such as `10x`.
fn speed(text: &str) -> std::result::Result<f64, String> {
    let number = text.strip_suffix(['x', 'X']).unwrap_or(text).parse::<f64>().ok();
    let is_speed = |speed: &f64| (0.001..=1_000_000.0).contains(speed);
    number.filter(is_speed).ok_or_else(|| "give how many times as fast time passes, from 0.001x to 1000000x".to_owned())
}

/// Lets the process open as many files as it may, each connection being one, and returns how many those are.
fn open_many() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // With fewer, more clients wait.
        let _ = setrlimit(Resource::Nofile, limit);
        getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
    }
    #[cfg(not(unix))]
    usize::MAX
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

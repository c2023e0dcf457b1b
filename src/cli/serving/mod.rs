//! A served cluster: until it is interrupted, or until the command that it is served to ends.

mod browser;
mod client;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{note, progress};
use crate::cli::session::Session;
use crate::cli::system::termination::Interruptions;
use ketcd_cluster::Cluster;
use ketcd_cluster::rights::Question;
use ketcd_render::words::absence_words;
use ketcd_serve::{Options, Server};
use ketcd_store::shell::quoted;

/// Opens the cluster that the flags name, and says if there is none.
pub(super) async fn open(global: &GlobalArgs) -> Result<Cluster> {
    let session = Session::new(global, &Ends::default(), false)?.begun(&Question::Everything.reads()).await?;
    session.cluster.no_cluster().await?.iter().for_each(|absence| note(&absence_words(absence)));
    progress::end();
    Ok(session.into_cluster())
}

/// Serves a cluster to a command until that ends; without one, until Ctrl-C.
///
/// # Errors
/// The server cannot be started, or the command not be run.
pub(super) async fn run(cluster: Cluster, options: &Options, command: &[OsString]) -> Result<Outcome> {
    let cluster = Arc::new(cluster);
    // Before there is anything to remove.
    let mut interruptions = Interruptions::begin()?;
    let server = Server::start(Arc::clone(&cluster), options).await.map_err(Error::new)?;
    let kubeconfig = server.kubeconfig().unwrap_or(Path::new(""));
    if let Some((program, arguments)) = command.split_first() {
        let code = client::run(program, arguments, kubeconfig, &mut interruptions).await?;
        cluster.finish();
        return Ok(Outcome::Ended(code));
    }
    note(&format!("serving a read-only Kubernetes {} API on https://{}", cluster.release(), server.address()));
    note(&format!("use it with: export KUBECONFIG={}", quoted(kubeconfig.as_os_str().as_encoded_bytes())));
    note("contexts: ketcd (the moment asked for), newest; the paths /rev/N and /at/TIME in front of its own show others; Ctrl-C ends it");
    if let Some(link) = server.page_link() {
        note(&format!("the page in a browser: {link}"));
    }
    if let Some(replay) = server.replay() {
        note(&format!("the clock starts at {:.0}", replay.now()));
    }
    tokio::select! {
        ended = replayed(&server) => match ended {},
        _ = interruptions.next() => {}
    }
    Ok(if cluster.finish() { Outcome::Damaged } else { Outcome::Found })
}

/// Serves a cluster to a browser, until Ctrl-C.
///
/// # Errors
/// The server cannot be started.
pub(super) async fn show(cluster: Cluster, options: &Options, opens: bool) -> Result<Outcome> {
    let cluster = Arc::new(cluster);
    let mut interruptions = Interruptions::begin()?;
    let server = Server::start(Arc::clone(&cluster), options).await.map_err(Error::new)?;
    let link = server.page_link().unwrap_or_default();
    note(&format!("the page in a browser: {link}"));
    note("the link holds the token of this run: who has it reads the data; Ctrl-C ends it");
    // Removed at the end: by then the browser has read it.
    let _opened = match opens.then(|| browser::open(link)) {
        Some(Err(error)) => {
            note(&format!("no browser was opened ({error}): open the link yourself"));
            None
        }
        Some(Ok(file)) => Some(file),
        None => None,
    };
    interruptions.next().await;
    Ok(if cluster.finish() { Outcome::Damaged } else { Outcome::Found })
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

//! A served cluster: until it is interrupted, or until the command that it is served to ends.

mod client;

use std::convert::Infallible;
use std::ffi::OsString;
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
///
/// # Errors
/// The source cannot be read.
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
    if let Some((program, arguments)) = command.split_first() {
        let code = client::run(program, arguments, server.kubeconfig(), &mut interruptions).await?;
        cluster.finish();
        return Ok(Outcome::Ended(code));
    }
    note(&format!("serving a read-only Kubernetes {} API on https://{}", cluster.release(), server.address()));
    note(&format!("use it with: export KUBECONFIG={}", quoted(server.kubeconfig().as_os_str().as_encoded_bytes())));
    note("contexts: ketcd (the moment asked for), newest; the paths /rev/N and /at/TIME in front of its own show others; Ctrl-C ends it");
    if let Some(replay) = server.replay() {
        note(&format!("the clock starts at {:.0}", replay.now()));
    }
    tokio::select! {
        ended = replayed(&server) => match ended {},
        _ = interruptions.next() => {}
    }
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

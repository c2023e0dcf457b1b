//! Assistants over HTTP: behind the same door as `serve`, with its token and its TLS. What a client needs is in a private folder, until the end.

use std::net::SocketAddr;

use axum::Router;
use ketcd_mcp::{Answers, MAX_REQUEST_BYTES, Server, http_service};
use ketcd_serve::{CertificateFiles, Guarded, GuardedOptions};
use serde_json::json;
use tempfile::TempDir;

use super::folder;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::note;
use crate::cli::system::process::open_many;
use crate::cli::system::termination::Interruptions;

/// The path that is answered.
const PATH: &str = "/mcp";

/// Serves until Ctrl-C, SIGTERM or SIGHUP; `begun` is called when all is said.
///
/// # Errors
/// The address cannot be listened on, or the client's files not be written.
pub(super) async fn serve<A: Answers>(
    server: Server<A>,
    listen: SocketAddr,
    certificate: Option<CertificateFiles>,
    begun: impl FnOnce(),
) -> Result<Outcome> {
    // Before there is anything to remove.
    let mut interruptions = Interruptions::begin()?;
    let routes = Router::new().route_service(PATH, http_service(server));
    let options = GuardedOptions { listen, certificate, files: open_many(), request_bytes: MAX_REQUEST_BYTES };
    let guarded = Guarded::start(routes, &options).await.map_err(Error::new)?;
    let folder = written(&guarded)?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    note(&format!("serving assistants on https://{}{PATH}", guarded.authority));
    note(&format!(
        "a client's configuration, with the token of this run: {}; the certificate it is to trust: {}",
        file(CLIENT_FILE),
        file(CA_FILE)
    ));
    note("only who can read that folder can ask; it is removed at the end, and Ctrl-C ends it");
    begun();
    interruptions.next().await;
    Ok(Outcome::Found)
}

/// The configuration of a client.
const CLIENT_FILE: &str = "mcp.json";
/// What the client is to trust.
const CA_FILE: &str = "ca.crt";

/// Writes what a client needs into a folder that only its owner can read.
fn written(guarded: &Guarded) -> Result<TempDir> {
    let folder = folder::private()?;
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text);
    let url = format!("https://{}{PATH}", guarded.authority);
    let server = json!({"type": "http", "url": url, "headers": {"Authorization": format!("Bearer {}", guarded.token)}});
    let client = serde_json::to_string_pretty(&json!({"mcpServers": {"ketcd": server}}))?;
    write(CLIENT_FILE, client)?;
    write(CA_FILE, guarded.certificate.clone())?;
    Ok(folder)
}

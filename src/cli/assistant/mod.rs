//! `mcp`: an assistant's questions, each answered as the command of its name answers it.

mod ahead;
mod answered;
mod extent;
mod folder;
mod kept;
mod listening;
mod pages;
mod redacted;

use std::net::SocketAddr;

use ketcd_mcp::{Server, serve_stdio};
use ketcd_serve::CertificateFiles;

use crate::cli::connection::source::{Opened, open_source};
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::opened::OpenedSource;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::notices::Attendance;
use crate::cli::output::progress;
use answered::Assistant;
pub(in crate::cli) use answered::are_parsed_by;
pub(in crate::cli) use redacted::Redaction;

/// How an assistant is served.
pub(in crate::cli) struct AskedAssistant {
    /// The address to listen on; standard input and output without one.
    pub listen: Option<SocketAddr>,
    /// The server's certificate; one is made for the run without one.
    pub certificate: Option<CertificateFiles>,
    /// What is replaced by pseudonyms.
    pub redaction: Option<Redaction>,
}

/// Serves assistants until standard input ends, or until Ctrl-C.
///
/// # Errors
/// Flags that may not be, a source that cannot be read, an address that cannot be listened on.
pub(in crate::cli) async fn serve(global: &GlobalArgs, asked: &AskedAssistant) -> Result<Outcome> {
    check(global, asked)?;
    let (folder, global) = match &asked.redaction {
        Some(redaction) => redaction.bundle(global).await.map(|(folder, global)| (Some(folder), global))?,
        None => (None, global.clone()),
    };
    let Opened { source, newest_stamp, logs, said } = open_source(&global, Attendance::User)?;
    let opened = OpenedSource::new(source, newest_stamp, (logs, said));
    let assistant = Assistant::begin(GlobalArgs { opened: Some(opened), ..global }).await?;
    progress::end();
    let server = Server::new(assistant.clone(), pages::PAGES);
    let served = match asked.listen {
        Some(listen) => listening::serve(server, listen, asked.certificate.clone(), || assistant.work_ahead()).await,
        None => {
            assistant.work_ahead();
            serve_stdio(server).await.map(|()| Outcome::Found).map_err(Error::from)
        }
    };
    assistant.end();
    drop(folder);
    served
}

/// Refuses flags that would show Secrets, that are a client's to choose, or that take the streams away from it.
fn check(global: &GlobalArgs, asked: &AskedAssistant) -> Result<()> {
    if global.show_secrets {
        return Err(Error::new("mcp shows no values of Secrets to an assistant").hint("leave out --show-secrets"));
    }
    if global.output.is_some() {
        return Err(Error::new("mcp has no output format: each call asks for text or JSON").hint("leave out -o"));
    }
    if asked.listen.is_none() && global.files.iter().any(|file| file == "-") {
        let what = "-f - and the assistant would both use standard input";
        return Err(Error::new(what).hint("name a file, or serve over HTTP with --listen 127.0.0.1:0"));
    }
    if asked.listen.is_none() && asked.certificate.is_some() {
        return Err(Error::new("--tls-cert is for --listen").hint("add --listen ADDRESS"));
    }
    Ok(())
}

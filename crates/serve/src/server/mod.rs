//! The server: its socket, its connections, its token and its kubeconfig.

mod backpressure;
mod guarded;
mod kubeconfig;
mod listening;
mod newcomers;
mod places;
mod router;
#[cfg(test)]
mod tests;
mod tls;
mod websocket;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinHandle;

use ketcd_cluster::Cluster;
use ketcd_render::command_line::Invocation;

pub use self::guarded::{Guarded, GuardedOptions};
pub use self::kubeconfig::is_own as is_own_kubeconfig;
pub use self::tls::CertificateFiles;

use self::kubeconfig::Kubeconfig;
use self::listening::{Door, Serving};
use self::places::Places;
use self::router::Front;
use crate::access::Address;
use crate::data::{App, Limits, Page, Replay, Served};

/// How to serve.
pub struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The user's certificate; else one is made for the run.
    pub certificate: Option<CertificateFiles>,
    /// Where to write the kubeconfig; else a private file that goes away with the server.
    pub kubeconfig: Option<PathBuf>,
    /// How many files the process may open, connections among them.
    pub files: usize,
    /// How many times as fast as it did time passes, from the moment asked for on; else it stands still.
    pub speed: Option<f64>,
    /// The page in a browser, where it is served.
    pub page: Option<PageOptions>,
}

/// How to serve the page.
pub struct PageOptions {
    /// How ketcd was called: the commands that the page suggests begin so.
    pub invocation: Invocation,
    /// Whether it alone is served, without TLS: on this machine's own addresses only.
    pub is_alone: bool,
}

/// A server that answers until it is dropped.
pub struct Server {
    address: SocketAddr,
    kubeconfig: Option<Kubeconfig>,
    page_link: Option<String>,
    replay: Option<Arc<Replay>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts to serve; the kubeconfig is written when requests are answered. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// A sentence: the address cannot be listened on, the certificate not be used, the kubeconfig not be written, the data not be replayed, or the page
    /// alone would be reached from elsewhere.
    pub async fn start(cluster: Arc<Cluster>, options: &Options) -> Result<Self, String> {
        let data = Arc::new(Served::new(cluster).await.map_err(|error| error.to_string())?);
        let listen = options.listen;
        let is_alone = options.page.as_ref().is_some_and(|page| page.is_alone);
        if is_alone && !listen.ip().is_loopback() {
            return Err(format!(
                "without TLS the page is served on this machine alone, and {} is not its own: serve --ui has TLS",
                listen.ip()
            ));
        }
        let Door { listener, address, certificate, access, token } = Door::open(listen, options.certificate.as_ref()).await?;
        let access = if is_alone { access.plain() } else { access };
        let replay = match options.speed {
            Some(speed) => Some(Arc::new(Replay::begin(Arc::clone(&data), speed).await?)),
            None => None,
        };
        let page = options.page.as_ref().map(|page| Arc::new(Page::new(Arc::clone(&data), page.invocation.clone())));
        if let Some(page) = page.clone() {
            tokio::spawn(async move { page.prepare().await });
        }
        let page_link = page.as_ref().map(|_| format!("{}{}/ui/#token={token}", access.scheme(), address.told));
        let app = App::new(data, replay.clone(), page, Limits::of_files(options.files));
        let limits = app.limits;
        let tls = (!is_alone).then_some(certificate.acceptor);
        let front = Front { access, places: Places::new(&limits), app: Arc::new(app), has_page_alone: is_alone };
        let task = tokio::spawn(Serving::new(router::routes(front), limits, tls).accept(listener));
        let kubeconfig = match is_alone {
            true => None,
            false => Some(kubeconfig(options, &address, &token, &certificate.pem)?),
        };
        Ok(Self { address: address.told, kubeconfig, page_link, replay, task })
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the kubeconfig is; nowhere where the page alone is served.
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.kubeconfig.as_ref().map(Kubeconfig::path)
    }

    /// The link to the page, where it is served: with the run's token, which a browser sends to nobody.
    pub fn page_link(&self) -> Option<&str> {
        self.page_link.as_deref()
    }

    /// What is replayed.
    pub fn replay(&self) -> Option<&Replay> {
        self.replay.as_deref()
    }
}

fn kubeconfig(options: &Options, address: &Address, token: &str, certificate: &str) -> Result<Kubeconfig, String> {
    Kubeconfig::write(options.kubeconfig.as_deref(), address, token, certificate).map_err(|error| {
        let path = options.kubeconfig.as_deref().unwrap_or(Path::new("a temporary file"));
        format!("cannot write the kubeconfig to {}: {error}", path.display())
    })
}

impl Drop for Server {
    /// Ends the connections that are open, watches among them.
    fn drop(&mut self) {
        self.task.abort();
    }
}

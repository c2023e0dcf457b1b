//! How one API server is reached, and as whom.

use super::address::{Proxy, Server};
use super::credentials::Credentials;
use super::pem::Pem;
use crate::limits::Limits;

/// How one API server is reached, and as whom.
pub struct Access {
    /// The context, for messages.
    pub(crate) name: String,
    pub(crate) address: Server,
    pub(crate) tls: TlsSettings,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) credentials: Credentials,
    /// `Impersonate-*` headers.
    pub(crate) impersonation: Vec<(String, String)>,
    /// How long the server may take, and how much it may send.
    pub(crate) limits: Limits,
    /// Who gets the other end of each connection, where a test plays the server.
    #[cfg(test)]
    pub(crate) listener: Option<tokio::sync::mpsc::UnboundedSender<tokio::io::DuplexStream>>,
}

/// Whom TLS trusts, and how we show who we are.
#[derive(Clone, Default)]
pub(crate) struct TlsSettings {
    /// The CA; the system's if there is none.
    pub ca: Option<Pem>,
    /// The name in the server's certificate, where it is not the host.
    pub server_name: Option<String>,
    /// Whether any certificate is accepted.
    pub is_insecure: bool,
    /// Our certificate and its key.
    pub client: Option<(Pem, Pem)>,
}

impl Access {
    /// Returns the server's URL.
    pub fn server(&self) -> String {
        self.address.to_string()
    }

    /// Returns the context's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what a user should know of this way to the server, one message per item.
    pub fn cautions(&self) -> Vec<String> {
        let (name, server) = (&self.name, &self.address);
        let mut cautions = Vec::new();
        if self.tls.is_insecure {
            cautions.push(format!("context {name} accepts any certificate (insecure-skip-tls-verify): what answers may not be {server}"));
        }
        if !server.uses_tls {
            cautions.push(format!("the connection to {server} has no TLS: others on the way can read and change the data"));
        }
        cautions
    }
}

//! How one API server is reached, and as whom.

use std::path::PathBuf;

use zeroize::Zeroizing;

use super::exec_plugin::ExecPlugin;
use super::pem::Pem;
use crate::limits::Limits;

/// How one API server is reached, and as whom.
pub struct Access {
    /// The context, for messages.
    pub(crate) name: String,
    pub(crate) uses_tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What paths begin with, without a slash at its end.
    pub(crate) path: String,
    pub(crate) tls: TlsSettings,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) credentials: Credentials,
    /// `Impersonate-*` headers.
    pub(crate) impersonation: Vec<(&'static str, String)>,
    /// How long the server may take, and how much it may send.
    pub(crate) limits: Limits,
    /// Who gets the other end of each connection, where a test plays the server.
    #[cfg(test)]
    pub(crate) listener: Option<tokio::sync::mpsc::UnboundedSender<tokio::io::DuplexStream>>,
}

/// Whom TLS trusts, and how we show who we are.
#[derive(Clone, Default)]
pub(crate) struct TlsSettings {
    /// The CA; the system's where there is none.
    pub ca: Option<Pem>,
    /// The name in the server's certificate, where it is not the host.
    pub server_name: Option<String>,
    /// Whether any certificate is accepted.
    pub is_insecure: bool,
    /// Our certificate and its key.
    pub client: Option<(Pem, Pem)>,
}

/// A proxy between us and the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// `CONNECT` over HTTP, with these credentials.
    Http {
        address: String,
        authorization: Option<String>,
    },
    Socks5 {
        address: String,
    },
}

/// How a request says who asks.
pub(crate) enum Credentials {
    /// By the connection's certificate, or not at all.
    None,
    Token(Zeroizing<String>),
    /// Read anew by every request: the kubelet renews a pod's.
    TokenFile(PathBuf),
    Basic {
        user: String,
        password: Zeroizing<String>,
    },
    Exec(ExecPlugin),
}

impl Access {
    /// Returns the server's URL.
    pub fn server(&self) -> String {
        let scheme = if self.uses_tls { "https" } else { "http" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{host}:{}{}", self.port, self.path)
    }

    /// Returns the context's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what a user should know of this way to the server, one message per item.
    pub fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        if self.tls.is_insecure {
            cautions.push(format!(
                "context {} accepts any certificate (insecure-skip-tls-verify): what answers may not be {}",
                self.name,
                self.server()
            ));
        }
        if !self.uses_tls {
            cautions.push(format!("{} is read without TLS: others on the way can read and change it", self.server()));
        }
        cautions
    }
}

//! How a request says who asks.

use std::path::PathBuf;

use ketcd_store::Result;
use ketcd_store::tls::read_credentials;
use zeroize::Zeroizing;

use super::exec_plugin::{ExecPlugin, Identity, bearer};
use crate::problem::settings;

/// How a request says who asks.
pub(crate) enum Credentials {
    /// By the connection's certificate, or not at all.
    None,
    /// By this `Authorization` header.
    Header(Zeroizing<String>),
    /// By a token, read anew by every request: the kubelet renews a pod's.
    TokenFile(PathBuf),
    Exec(Box<ExecPlugin>),
}

impl Credentials {
    /// Returns what goes with the next request.
    pub(crate) async fn identity(&self) -> Result<Identity> {
        let authorization = match self {
            Self::None => None,
            Self::Header(header) => Some(header.clone()),
            Self::TokenFile(path) => {
                let failed = |error: &dyn std::fmt::Display| {
                    settings(format!("cannot read the token file {}: {error}", path.display()), "check the kubeconfig")
                };
                let token = read_credentials(path).map_err(|error| failed(&error))?;
                Some(bearer(std::str::from_utf8(&token).map_err(|_| failed(&"it is not text"))?))
            }
            Self::Exec(plugin) => return plugin.identity().await,
        };
        Ok(Identity { authorization, client: None })
    }

    /// Forgets what a plugin handed out, as the server refused it. Returns whether there was something to forget.
    pub(crate) async fn forget(&self) -> bool {
        match self {
            Self::Exec(plugin) => plugin.forget().await,
            _ => false,
        }
    }
}

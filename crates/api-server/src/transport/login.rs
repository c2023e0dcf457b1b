//! What a request says of who asks, kept as long as it is valid.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ketcd_store::Result;
use ketcd_store::tls::read_credentials;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::kubeconfig::{Access, Credentials, ExecCredential, Pem};
use crate::problem::settings;

/// A credential that is about to expire is not sent any more.
const MARGIN: Duration = Duration::from_secs(10);

/// What an exec plugin handed out last.
#[derive(Default)]
pub(super) struct Login(Mutex<Option<ExecCredential>>);

/// What goes with one request.
pub(super) struct Identity {
    /// The `Authorization` header.
    pub authorization: Option<Zeroizing<String>>,
    /// The connection's certificate, where a plugin handed it out.
    pub client: Option<(Pem, Pem)>,
}

impl Login {
    /// What the next request says.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or a plugin fails.
    pub(super) async fn identity(&self, access: &Access) -> Result<Identity> {
        let bearer = |token: &str| Some(Zeroizing::new(format!("Bearer {}", token.trim())));
        let authorization = match &access.credentials {
            Credentials::None => None,
            Credentials::Token(token) => bearer(token),
            Credentials::TokenFile(path) => {
                let failed = |error: &dyn std::fmt::Display| {
                    settings(format!("cannot read the token file {}: {error}", path.display()), "check the kubeconfig")
                };
                let token = read_credentials(path).map_err(|error| failed(&error))?;
                bearer(std::str::from_utf8(&token).map_err(|_| failed(&"it is not text"))?)
            }
            Credentials::Basic { user, password } => {
                let pair = Zeroizing::new(format!("{user}:{}", password.as_str()));
                Some(Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes()))))
            }
            Credentials::Exec(plugin) => {
                let mut known = self.0.lock().await;
                let is_valid = |credential: &ExecCredential| credential.expires.is_none_or(|end| end > Timestamp::now() + MARGIN);
                if !known.as_ref().is_some_and(is_valid) {
                    *known = Some(plugin.run().await?);
                }
                let credential = known.as_ref();
                let authorization = credential.and_then(|known| known.token.as_ref()).and_then(|token| bearer(token));
                return Ok(Identity { authorization, client: credential.and_then(|known| known.client.clone()) });
            }
        };
        Ok(Identity { authorization, client: None })
    }

    /// Forgets what a plugin handed out, as the server refused it. Returns whether there was something to forget.
    pub(super) async fn forget(&self) -> bool {
        self.0.lock().await.take().is_some()
    }
}

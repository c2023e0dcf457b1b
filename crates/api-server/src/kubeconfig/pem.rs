//! Certificates and keys of a kubeconfig: PEM text, or a file of it.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ketcd_store::Result;
use ketcd_store::tls::read_credentials;
use zeroize::Zeroizing;

use crate::problem::settings;

/// PEM text, or where it lies.
#[derive(Clone)]
pub(crate) enum Pem {
    /// Read anew by every connection: it may have been renewed.
    File(PathBuf),
    Text(Zeroizing<Vec<u8>>),
}

impl Pem {
    /// Takes PEM text that `field` gives as base64, or a file; the text wins, as in client-go.
    pub(super) fn of(file: Option<&PathBuf>, data: Option<&String>, field: &str) -> Result<Option<Self>> {
        let Some(data) = data.filter(|data| !data.is_empty()) else { return Ok(file.cloned().map(Self::File)) };
        let packed: String = data.chars().filter(|character| !character.is_ascii_whitespace()).collect();
        let text = STANDARD
            .decode(packed)
            .map_err(|_| settings(format!("{field} of the kubeconfig is not base64"), "give the PEM text as base64"))?;
        Ok(Some(Self::Text(Zeroizing::new(text))))
    }

    /// Reads the text; `what` it is, for errors.
    pub(crate) fn read(&self, what: &str) -> Result<Zeroizing<Vec<u8>>> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => read_credentials(path).map_err(|error| {
                settings(
                    format!("cannot read the {what} {}: {error}", path.display()),
                    "check the path in the kubeconfig and the permissions of the file",
                )
            }),
        }
    }
}

//! Certificates and keys of a kubeconfig: PEM text, or a file of it.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ketcd_store::Result;
use zeroize::Zeroizing;

use crate::problem::settings;

/// PEM text, or where it lies.
#[derive(Clone)]
pub(crate) enum Pem {
    /// Read anew by every connection: it may have been renewed.
    File(PathBuf),
    Text(Zeroizing<Vec<u8>>),
}

/// PEM text that is given as base64, or as a file; the text wins, as in client-go.
pub(super) fn pem(file: Option<&Path>, data: Option<&str>, place: &Path, field: &str) -> Result<Option<Pem>> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let packed: String = data.chars().filter(|character| !character.is_ascii_whitespace()).collect();
        let text = STANDARD
            .decode(packed)
            .map_err(|_| settings(format!("{field} of the kubeconfig is not base64"), "give the PEM text as base64"))?;
        return Ok(Some(Pem::Text(Zeroizing::new(text))));
    }
    Ok(file.filter(|path| !path.as_os_str().is_empty()).map(|path| Pem::File(place.join(path))))
}

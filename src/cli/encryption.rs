//! `--encryption-config FILE`: the keys that open values sealed at rest.

use std::path::Path;
use std::sync::Arc;

use ketcd_kube::encryption::{EncryptionConfig, KeyRing};

use super::kms::Plugins;
use super::{Error, Result, flag_file};

/// What the flag names.
#[derive(Debug, Default)]
pub(super) struct Encryption {
    /// The configuration, if one was given.
    pub config: Option<EncryptionConfig>,
    /// Its keys; none without a configuration.
    pub keys: KeyRing,
}

/// Reads Kubernetes' own EncryptionConfiguration.
///
/// # Errors
///
/// A file that cannot be read or is no such configuration.
pub(super) fn open(path: Option<&Path>) -> Result<Encryption> {
    let Some(path) = path else { return Ok(Encryption::default()) };
    let text = flag_file::read("--encryption-config", path)?;
    let config = EncryptionConfig::parse(&text).map_err(|problem| {
        Error::new(format!("--encryption-config {}: {problem}", path.display()))
            .hint("give the file of kube-apiserver's --encryption-provider-config")
    })?;
    let keys = KeyRing::new(&config).with_key_service(Arc::new(Plugins::new(&config)));
    Ok(Encryption { config: Some(config), keys })
}

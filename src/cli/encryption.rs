//! `--encryption-config FILE`: the keys that open values sealed at rest.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::kube::encryption::{EncryptionConfig, KeyRing};

use super::kms::Plugins;
use super::{Error, Result};

/// What the flag names.
#[derive(Debug, Default)]
pub struct Encryption {
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
pub fn open(path: Option<&Path>) -> Result<Encryption> {
    let Some(path) = path else { return Ok(Encryption::default()) };
    let named = |problem: String| Error::new(format!("--encryption-config {}: {problem}", path.display()));
    let text = Zeroizing::new(fs::read_to_string(path).map_err(|error| named(error.to_string()))?);
    let config = EncryptionConfig::parse(&text)
        .map_err(|problem| named(problem).hint("give the file of kube-apiserver's --encryption-provider-config"))?;
    let keys = KeyRing::new(&config).with_key_service(Arc::new(Plugins::new(&config)));
    Ok(Encryption { config: Some(config), keys })
}

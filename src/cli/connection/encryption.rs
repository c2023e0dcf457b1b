//! `--encryption-config FILE`, or the configuration that lies with the files: the keys that open values sealed at rest.

use std::path::Path;
use std::sync::Arc;

use ketcd_kube::encryption::{EncryptionConfig, KeyRing};
use ketcd_store::{Companion, CompanionChoice, CompanionKind, Source};

use super::kms::Plugins;
use crate::cli::input::flag_file;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::notices::Attendance;

/// The configuration that is used.
#[derive(Debug, Default)]
pub(in crate::cli) struct Encryption {
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
pub(in crate::cli) fn open(path: Option<&Path>) -> Result<Option<Encryption>> {
    let Some(path) = path else { return Ok(None) };
    let text = flag_file::read("--encryption-config", path)?;
    let config = EncryptionConfig::parse(&text).map_err(|problem| {
        Error::new(format!("--encryption-config {}: {problem}", path.display()))
            .hint("give the file of kube-apiserver's --encryption-provider-config")
    })?;
    let keys = KeyRing::new(&config).with_key_service(Arc::new(Plugins::new(&config)));
    Ok(Some(Encryption { config: Some(config), keys }))
}

/// Reads the configuration that lies with the files of a source. It may come from anywhere, so the KMS plugins that it names are not asked.
pub(in crate::cli) fn found(source: &dyn Source, attendance: Attendance) -> Encryption {
    match source.companion(CompanionKind::Encryption) {
        CompanionChoice::None => Encryption::default(),
        CompanionChoice::Several(one, other) => {
            attendance.note(&format!(
                "the EncryptionConfigurations in {} and {} differ, so neither is used; name one with --encryption-config",
                one.place, other.place
            ));
            Encryption::default()
        }
        CompanionChoice::One(companion) => of_companion(companion, attendance),
    }
}

fn of_companion(companion: &Companion, attendance: Attendance) -> Encryption {
    match EncryptionConfig::parse(&companion.text) {
        Ok(config) => {
            let note = format!("sealed values are opened with the keys in {}", companion.place);
            let keys = KeyRing::new(&config).on_first_opening(move || attendance.note(&note));
            Encryption { keys, config: Some(config) }
        }
        Err(problem) => {
            attendance.note(&format!("{}: {problem}; sealed values stay closed", companion.place));
            Encryption::default()
        }
    }
}

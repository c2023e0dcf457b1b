//! `ketcd encryption`: with what each resource's values are sealed, and whether the configuration's promise is kept.

use std::io::Write;

use clap::Args;
use futures_util::StreamExt;

use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use ketcd_kube::encryption::{Audit, Seal};
use ketcd_kube::{KeyResource, Kinds, RegistryKey};
use ketcd_render::contract::encryption::Encryption;
use ketcd_render::{encryption, json};
use ketcd_store::{KeyRange, Want};

/// Audit encryption at rest
///
/// Shows for each resource which provider and key encrypt its values, how many values there are, and how many can be decrypted with the
/// keys given. With --encryption-config, also shows whether every value is stored as that configuration says.
#[derive(Args, Debug)]
#[command(before_help = "\
# How each resource is encrypted at rest\n\
ketcd -f snapshot.db encryption\n\
# Whether all of it is as the API server's configuration says\n\
ketcd -f snapshot.db encryption --encryption-config encryption-config.yaml")]
pub(crate) struct EncryptionArgs {}

/// Runs the command.
pub(super) async fn run(session: &Session, _args: &EncryptionArgs, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
        return Err(session.format.unsupported("encryption", "table, wide, json"));
    }
    let (prefix, kinds) = (session.prefix().await?, session.kinds().await?);
    let mut audit = Audit::new(session.encryption.config.as_ref(), &session.encryption.keys);
    let mut values = session.range(KeyRange::all(), Want::Values).await?.entries;
    while let Some(entry) = values.next().await.transpose()? {
        if let Some(resource) = resource_of(prefix, &entry.key, &entry.value, kinds) {
            audit.add(&resource, &entry.key, &entry.value);
        }
    }
    let rows = audit.finish();
    match session.format {
        Format::Json => {
            json::write_pretty(&Encryption::from(&rows[..]), out)?;
            writeln!(out)?;
        }
        _ => encryption::write_table(&rows, session.format == Format::Wide, out)?,
    }
    let broken = rows.iter().any(|row| row.promise.is_broken());
    Ok(if broken || rows.is_empty() { Outcome::Nothing } else { Outcome::Found })
}

/// The resource a key belongs to, as configurations name it. Keys of none count only where they are sealed.
fn resource_of(prefix: &str, key: &[u8], value: &[u8], kinds: &Kinds) -> Option<String> {
    match RegistryKey::parse(prefix, key, kinds).object().map(|object| object.resource) {
        Some(KeyResource::Known(kind)) => Some(kind.resource()),
        Some(KeyResource::Unlisted { group: "", plural }) => Some(plural.to_owned()),
        Some(KeyResource::Unlisted { group, plural }) => Some(format!("{plural}.{group}")),
        None => Seal::is_on(value).then(|| "no resource".to_owned()),
    }
}

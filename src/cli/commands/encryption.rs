//! `ketcd encryption`: with what each resource's values are sealed, and whether the configuration's promise is kept.

use clap::Args;

use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::rights::Question;
use ketcd_render::contract::encryption::Encryption;
use ketcd_render::{encryption, json};

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

impl Ask for EncryptionArgs {
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Everything
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
            return Err(session.format.unsupported("encryption", "table, wide, json"));
        }
        let rows = session.cluster.seals(session.encryption.config.as_ref()).await?;
        match session.format {
            Format::Json => json::write_document(&Encryption::from(&rows[..]), out)?,
            _ => encryption::write_table(&rows, session.format == Format::Wide, out)?,
        }
        let is_broken = rows.iter().any(|row| row.promise.is_broken());
        Ok(if is_broken || rows.is_empty() { Outcome::Nothing } else { Outcome::Found })
    }
}

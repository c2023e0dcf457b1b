//! How `history` and `watch` print changes.

use clap::Args;

use ketcd_history::AttributedChange;
use ketcd_render::change::{JsonOptions, json};
use ketcd_render::change_text::Options;
use ketcd_render::changes::{ChangeForm, Changes};

use crate::cli::outcome::{Error, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;

/// How changes are printed.
#[derive(Args, Debug)]
pub(in crate::cli) struct TellingArgs {
    /// Show what changed, field by field.
    #[arg(long)]
    pub diff: bool,
    /// With --diff, show every field that changed, including bookkeeping and heartbeats.
    #[arg(long, requires = "diff")]
    pub all_fields: bool,
}

impl TellingArgs {
    /// Begins to print changes, of `many` objects or of one; as JSON with the whole `objects` or without.
    ///
    /// # Errors
    /// A format that changes cannot be shown in, or a flag that changes nothing in it.
    pub(in crate::cli) fn changes(&self, session: &Session, many: bool, objects: bool, out: &Output) -> Result<Changes> {
        if self.diff && matches!(session.format, Format::Json | Format::Ndjson) {
            let problem = "--diff shows what changed as text, and JSON has it in any case, as `patch`";
            return Err(Error::new(problem).hint("leave --diff out, or -o"));
        }
        let form = match &session.format {
            Format::Table | Format::Wide => ChangeForm::Text(Options {
                diff: self.diff,
                all_fields: self.all_fields,
                many,
                wide: session.format == Format::Wide,
                width: out.width(),
            }),
            Format::Ndjson => ChangeForm::Lines,
            Format::Json => ChangeForm::Document,
            other => return Err(other.unsupported("history", "table, json, ndjson")),
        };
        Ok(Changes::new(form, JsonOptions { managed_fields: session.managed_fields(), objects }))
    }
}

/// Prints one change.
///
/// # Errors
/// The stream's, or the kinds cannot be read, by which objects are named.
pub(in crate::cli) async fn write(session: &Session, changes: &mut Changes, change: &AttributedChange, out: &mut Output) -> Result<()> {
    let key = &change.change.key;
    match changes.are_text() {
        true => changes.write_text(change, &session.cluster.name_of(key).await?, out)?,
        false => {
            let document = json(change, &session.cluster.subject_of(key).await?, None, changes.json());
            changes.write_json(&document, out)?;
        }
    }
    Ok(())
}

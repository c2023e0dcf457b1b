//! `bundle`: writes the slice next to its place, searches it for what was to go, and gives it its name when that holds.

mod file;
mod redaction;
mod scope;

use std::path::Path;

use ketcd_render::bundle as render;
use ketcd_render::contract::bundle::{Bundle, BundleFile as RenderedFile, Redaction};
use ketcd_render::json;

use crate::cli::connection::inputs::inputs;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output, progress};
use crate::cli::session::Session;
use file::{BundleFile, ReportFile};
use redaction::Redacting;
pub(in crate::cli) use redaction::RedactionArgs;

/// What was asked besides the flags of every command.
pub(in crate::cli) struct AskedBundle<'a> {
    /// The objects.
    pub words: &'a [String],
    /// The file.
    pub out: &'a Path,
    /// What is redacted.
    pub redaction: &'a RedactionArgs,
    /// Whether any file is replaced.
    pub force: bool,
}

/// Writes a bundle and says what is in it.
///
/// # Errors
/// Nothing is chosen, a file cannot be written, or what was to go would be in it.
pub(in crate::cli) async fn bundle(session: &Session, asked: &AskedBundle<'_>, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
        return Err(session.format.unsupported("bundle", "table, json"));
    }
    let inputs = inputs(&session.args);
    let file = BundleFile::at(asked.out, &inputs, asked.force)?;
    let mut redacting = asked.redaction.read(session.cluster.options.show_secrets)?;
    let report = match &redacting {
        Some(_) => Some(ReportFile::at(&asked.redaction.report_path(asked.out), &inputs, asked.force)?),
        None => None,
    };
    let slice = session.cluster.bundle(asked.words).await?;
    if let Some(Redacting { redactor, .. }) = &mut redacting {
        slice.learn(redactor).await?;
    }
    let scope = scope::of(session, &slice, redacting.as_ref()).await?;
    let redactor = redacting.as_mut().map(|redacting| &mut redacting.redactor);
    let (written, summary) = file.write(&slice, scope, redactor).await?;
    if let Some(redacting) = &redacting {
        progress::start("searching the bundle for what was redacted".to_owned());
        written.search(redacting).await?;
    }
    let (name, window) = (asked.out.display().to_string(), session.window_in_head().await?);
    let report_name = report.as_ref().map(ReportFile::name).unwrap_or_default();
    let redaction =
        redacting.as_ref().map(|redacting| Redaction { replaced: redacting.redactor.report(), report: &report_name, salt: redacting.salt });
    let sha256 = written.sha256.clone();
    let bundle = Bundle::new(RenderedFile { name: &name, bytes: written.bytes, sha256: &sha256 }, &summary, redaction, window);
    // The report comes first: a bundle that may leave has one. Should the command be killed in between, it names another bundle than the earlier one.
    if let (Some(report), Some(redaction)) = (report, &bundle.redaction) {
        report.write(&bundle, redaction)?;
    }
    written.name(asked.out)?;
    progress::end();
    let next = invocation().reading([("-f", name.clone())]).ketcd("triage");
    match session.format {
        Format::Json => json::write_document(&bundle, out)?,
        _ => render::write_text(&bundle, &next, out)?,
    }
    Ok(Outcome::Found)
}

//! How `history` and `watch` print changes.

use std::collections::VecDeque;

use clap::Args;
use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_cluster::read::{Depth, History, Keys, Made, Read};
use ketcd_cluster::{OtherRequest, RequestScope, Selection};
use ketcd_history::AttributedChange;
use ketcd_history::audit::Authorship;
use ketcd_render::change::{JsonOptions, json};
use ketcd_render::change_text::Options;
use ketcd_render::changes::{ChangeForm, ChangesWriter};
use ketcd_store::Revision;

use crate::cli::input::request_filter::RequestedArgs;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::Missing;

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
    pub(in crate::cli) fn changes(&self, session: &Session, many: bool, objects: bool, out: &Output) -> Result<ChangesWriter> {
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
        Ok(ChangesWriter::new(form, JsonOptions { managed_fields: session.managed_fields(), objects }))
    }
}

pub(in crate::cli) struct Shown<'a> {
    pub keys: Keys,
    pub newest: Revision,
    pub select: Selection,
    pub requested: &'a RequestedArgs,
    /// The addresses, as they were typed.
    pub words: &'a [String],
}

/// A selected change, as it is written.
pub(in crate::cli) struct Selected {
    /// The request that made it, as far as audit logs say.
    pub request: Option<Authorship>,
    time: Option<Timestamp>,
    form: SelectedForm,
}

enum SelectedForm {
    Text(Box<AttributedChange>),
    Json(Vec<u8>),
}

/// The changes that are selected, ready to be written. JSON is made on all cores; where all changes are selected, no more is decoded of an object than its
/// text, and what differs from the version before.
pub(in crate::cli) fn selected<'c>(history: History<'c>, select: Selection, changes: &ChangesWriter) -> Made<'c, Option<Selected>> {
    let (is_text, options) = (changes.are_text(), changes.json());
    let depth = match (is_text, select.takes_all()) {
        (true, _) => Depth::Whole,
        (false, false) => Depth::Named,
        (false, true) => Depth::Text(options.managed_fields),
    };
    history.decoded_to(depth).on_cores(move |change, subject, text| {
        select.takes(&change.change).then(|| Selected {
            request: change.request.clone(),
            time: change.dated.map(|dated| dated.time),
            form: match is_text {
                true => SelectedForm::Text(Box::new(change)),
                false => SelectedForm::Json(json(&change, subject, text, options)),
            },
        })
    })
}

/// Prints one change of a key.
///
/// # Errors
/// The stream's, or the kinds cannot be read, by which objects are named.
pub(in crate::cli) async fn write(
    session: &Session,
    changes: &mut ChangesWriter,
    key: &[u8],
    change: &Selected,
    out: &mut Output,
) -> Result<()> {
    match &change.form {
        SelectedForm::Text(change) => changes.write_text(change, &session.cluster.name_of(key).await?, out)?,
        SelectedForm::Json(document) => changes.write_json(document, out)?,
    }
    Ok(())
}

/// Prints the history of objects, oldest first, and between the changes the requests that made none.
///
/// # Errors
/// The source's, or the stream's.
pub(in crate::cli) async fn write_history(
    session: &Session,
    shown: Shown<'_>,
    missing: &mut Missing,
    told: &mut ChangesWriter,
    out: &mut Output,
) -> Result<()> {
    let Shown { keys, newest, select, requested, words } = shown;
    let history = session.cluster.counted_history(keys.clone(), newest).await?;
    let clock = history.clock();
    clock.problems().iter().for_each(|problem| note(problem));
    let mut others = match requested.requests {
        true => session.cluster.other_requests(&keys, &clock, |request| requested.by.fits(request)).await?,
        false => VecDeque::new(),
    };
    let mut changes = selected(history, select, told);
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Gap { from, to } => session.cluster.note_gap(from, to),
            Read::Item((event, change)) => {
                let key = &event.key_value.key;
                missing.saw(key);
                let Some(change) = change.flatten().filter(|change| requested.by.take(change.request.as_ref())) else { continue };
                write_requests(session, (&mut others, change.time), missing, told, out).await?;
                write(session, told, key, &change, out).await?;
            }
        }
    }
    write_requests(session, (&mut others, Some(Timestamp::MAX)), missing, told, out).await?;
    match requested.requests {
        true => Ok(()),
        false => requested.by.note_others(&session.cluster, (words, &keys), &clock).await,
    }
}

/// Writes the requests that were received before a moment.
async fn write_requests(
    session: &Session,
    (others, before): (&mut VecDeque<OtherRequest>, Option<Timestamp>),
    missing: &mut Missing,
    told: &mut ChangesWriter,
    out: &mut Output,
) -> Result<()> {
    let is_earlier = |other: &OtherRequest| before.is_some_and(|before| other.request.received < before);
    while others.front().is_some_and(is_earlier) {
        let Some(other) = others.pop_front() else { break };
        let name = if told.are_text() && other.scope == RequestScope::Object {
            session.cluster.name_of(other.key.as_bytes()).await?
        } else {
            String::new()
        };
        missing.saw(other.key.as_bytes());
        told.write_request(&other, &name, out)?;
    }
    Ok(())
}

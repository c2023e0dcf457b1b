//! `history`, change by change: those that are asked for, and between them the requests that made none.

use std::collections::VecDeque;

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;

use ketcd_cluster::kinds::KeySubject;
use ketcd_cluster::read::{Counted, History, Keys, Read};
use ketcd_cluster::{OtherRequest, RequestScope, Selection};
use ketcd_history::AttributedChange;
use ketcd_history::audit::Authorship;
use ketcd_render::change::{JsonOptions, json};
use ketcd_render::changes::Changes;
use ketcd_store::Revision;

use crate::cli::input::request_filter::RequestedArgs;
use crate::cli::outcome::Result;
use crate::cli::output::{Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::Missing;

/// Which changes are shown.
pub(in crate::cli) struct Shown<'a> {
    pub keys: Keys,
    pub newest: Revision,
    pub select: Selection,
    pub requested: &'a RequestedArgs,
    /// The addresses, as they were typed.
    pub words: &'a [String],
}

/// A selected change, as it is written.
struct Selected {
    time: Option<Timestamp>,
    request: Option<Authorship>,
    form: SelectedForm,
}

enum SelectedForm {
    Text(Box<AttributedChange>),
    Json(Vec<u8>),
}

/// Writes the changes of objects, oldest first. JSON is made on all cores.
///
/// # Errors
/// The source's, or the stream's.
pub(in crate::cli) async fn write(
    session: &Session,
    shown: Shown<'_>,
    missing: &mut Missing,
    told: &mut Changes,
    out: &mut Output,
) -> Result<()> {
    let Shown { keys, newest, select, requested, words } = shown;
    let history = session.cluster.history(keys.clone(), newest).await?;
    let clock = history.clock();
    clock.problems().iter().for_each(|problem| note(problem));
    let mut others = match requested.requests {
        true => session.cluster.other_requests(&keys, &clock, |request| requested.by.fits(request)).await?,
        false => VecDeque::new(),
    };
    let mut changes = if told.are_text() { texts(history, select) } else { documents(history, select, told.json()) };
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Gap { from, to } => session.cluster.note_gap(from, to),
            Read::Item((key, change)) => {
                missing.saw(&key);
                let Some(Selected { time, request, form }) = change.flatten() else { continue };
                if requested.by.take(request.as_ref()) {
                    write_requests(session, (&mut others, time), missing, told, out).await?;
                    match form {
                        SelectedForm::Text(change) => told.write_text(&change, &session.cluster.name_of(&key).await?, out)?,
                        SelectedForm::Json(document) => told.write_json(&document, out)?,
                    }
                }
            }
        }
    }
    write_requests(session, (&mut others, Some(Timestamp::MAX)), missing, told, out).await?;
    match requested.requests {
        true => Ok(()),
        false => requested.by.note_others(&session.cluster, (words, &keys), &clock).await,
    }
}

/// The changes that are selected, for people.
fn texts(history: History<'_>, select: Selection) -> Counted<'_, Option<Selected>> {
    let selected = move |change: AttributedChange| {
        let (time, request) = (change.dated.map(|dated| dated.time), change.request.clone());
        select.takes(&change.change).then(|| Selected { time, request, form: SelectedForm::Text(Box::new(change)) })
    };
    history.counted().map_ok(move |read| read.map(|(key, change)| (key, change.map(&selected)))).boxed()
}

/// The changes that are selected, as JSON. Where nothing is selected, no more is decoded of an object than its text, and what differs from the version before.
fn documents(history: History<'_>, select: Selection, options: JsonOptions) -> Counted<'_, Option<Selected>> {
    let depth = select.takes_all().then_some(options.managed_fields);
    history.on_cores(depth, move |change: AttributedChange, subject: &KeySubject, text: Option<&[u8]>| {
        select.takes(&change.change).then(|| Selected {
            time: change.dated.map(|dated| dated.time),
            form: SelectedForm::Json(json(&change, subject, text, options)),
            request: change.request,
        })
    })
}

/// Writes the requests that were received before a moment.
async fn write_requests(
    session: &Session,
    (others, before): (&mut VecDeque<OtherRequest>, Option<Timestamp>),
    missing: &mut Missing,
    told: &mut Changes,
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

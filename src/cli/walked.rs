//! `history`, change by change: those that are asked for, and between them the requests that made none.

use std::collections::VecDeque;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_cluster::read::{Keys, Read, dated_changes};
use ketcd_cluster::{OtherRequest, RequestScope, Selection};
use ketcd_history::AttributedChange;
use ketcd_render::changes::Changes;
use ketcd_store::Revision;

use super::Result;
use super::absence::Missing;
use super::output::{Output, note};
use super::requested::RequestedArgs;
use super::session::Session;
use super::telling;

/// Which changes are shown.
pub(super) struct Shown<'a> {
    pub keys: Keys,
    pub newest: Revision,
    pub select: &'a Selection,
    pub requested: &'a RequestedArgs,
    /// The addresses, as they were typed.
    pub words: &'a [String],
}

/// Writes the changes of objects, oldest first.
///
/// # Errors
/// The source's, or the stream's.
pub(super) async fn write(session: &Session, shown: Shown<'_>, missing: &mut Missing, told: &mut Changes, out: &mut Output) -> Result<()> {
    let Shown { keys, newest, select, requested, words } = shown;
    let after = session.counted_after();
    let (mut changes, clock) = dated_changes(session, keys.clone(), newest).await?;
    clock.problems().iter().for_each(|problem| note(problem));
    let mut others = match requested.requests {
        true => session.other_requests(&keys, &clock, |request| requested.by.fits(request)).await?,
        false => VecDeque::new(),
    };
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Gap { to, .. } if to <= after => {}
            Read::Gap { from, to } => session.note_gap(from, to),
            Read::Item(change) => {
                missing.saw(&change.key);
                if change.revision > after && select.takes(&change) {
                    let change = AttributedChange::new(change, &clock);
                    if requested.by.takes(&change) {
                        let before = change.dated.map(|dated| dated.time);
                        write_requests(session, (&mut others, before), missing, told, out).await?;
                        telling::write(session, told, &change, out).await?;
                    }
                }
            }
        }
    }
    write_requests(session, (&mut others, Some(Timestamp::MAX)), missing, told, out).await?;
    match requested.requests {
        true => Ok(()),
        false => requested.by.note_others(session, (words, &keys), &clock).await,
    }
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
            session.name_of(other.key.as_bytes()).await?
        } else {
            String::new()
        };
        missing.saw(other.key.as_bytes());
        told.write_request(&other, &name, out)?;
    }
    Ok(())
}

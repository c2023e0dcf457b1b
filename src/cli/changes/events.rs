//! Events in a table: those that are stored, and those that come.

use std::io::Write;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use crate::cli::outcome::Result;
use crate::cli::output::{Output, note};
use crate::cli::session::Session;
use ketcd_cluster::describe::events::{EventsAsked, HeldEvent};
use ketcd_cluster::read::Read;
use ketcd_history::AttributedChange;
use ketcd_render::event::EventTable;
use ketcd_render::watch::gap_words;
use ketcd_store::Revision;

/// Prints Events that were read.
pub(in crate::cli) fn print(session: &Session, events: &[HeldEvent], table: &mut EventTable, out: &mut Output) -> Result<()> {
    // What was reported when it was read need not be reported again.
    let decoder = session.cluster.decoder.clone().without_managed_fields();
    events.iter().filter_map(|held| held.object(&decoder)).for_each(|event| table.push(&event));
    Ok(table.write(out)?)
}

/// Prints each Event that comes after a revision, `newest` being the newest when that was read; returns whether any came.
pub(in crate::cli) async fn follow(
    session: &Session,
    asked: EventsAsked,
    (at, newest): (Revision, Revision),
    table: &mut EventTable,
    out: &mut Output,
) -> Result<bool> {
    out.flush()?;
    let filter = asked.filter.clone();
    let mut changes = session.cluster.watching_after(asked.keys(), at, newest).history().await?.changes();
    let mut any = false;
    while let Some(read) = changes.try_next().await? {
        match read {
            // What is deleted was shown before.
            Read::Item(AttributedChange { change, dated, .. }) => {
                let Some(event) = change.after.whole().filter(|event| filter.fits(event)) else { continue };
                table.set_now(if change.revision <= newest { dated.map(|dated| dated.time) } else { Some(Timestamp::now()) });
                table.push(event);
                table.write(out)?;
                out.flush()?;
                any = true;
            }
            Read::Gap { from, to } => note(&gap_words(from, to)),
        }
    }
    Ok(any)
}

/// What is said where there are no Events.
pub(in crate::cli) fn nothing(session: &Session, words: &[String]) -> String {
    match words {
        [] if session.cluster.options.all_namespaces => "No events found".to_owned(),
        [] => format!("No events found in {} namespace; -A looks in all", session.cluster.namespace()),
        words => format!("No events found for {}", words.join(" ")),
    }
}

//! Fetch objects: addresses and selectors in, objects one by one to a sink that prints them. What `ls` and `get` have in common.

pub(super) mod compaction;
mod documents;
mod follow;
mod formats;
pub(super) mod inventory;
mod listing_target;
mod names;
pub(super) mod pod_configuration;
mod raw;
pub(super) mod raw_values;
mod sink;
mod sort;
mod tables;
mod templates;

use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::cli::session::absence::{self, Search};
use compaction::Overtaken;
use formats::{Pace, sink};
use ketcd_cluster::built_in;
use ketcd_cluster::read::{KeyFilter, decoder};
use ketcd_store::KeyValue;
use sink::{ReadBody, Sink, fetch, read};

pub(super) use follow::{Watched, follow};
pub(super) use listing_target::{ListArgs, ListingTarget};

/// Lists what is wanted of a command as `-o` says.
pub(super) async fn list(
    session: &Session,
    command: &'static str,
    wanted: &ListingTarget,
    args: &ListArgs,
    out: &mut Output,
) -> Result<Outcome> {
    out.set_content(session.format.content());
    compaction::repeated(session, out, async |out, overtaken| once(session, (command, wanted), args, overtaken, out).await).await
}

/// Reads the listing once.
async fn once(
    session: &Session,
    (command, wanted): (&'static str, &ListingTarget),
    args: &ListArgs,
    overtaken: Overtaken,
    out: &mut Output,
) -> Result<Outcome> {
    let select = args.select.read()?;
    let mut sink = sink(session, wanted, args, Pace::AtOnce, out.is_terminal()).await?;
    if let Some(path) = &args.sort_by {
        sink = Box::new(sort::Sorted::new(path, sink, decoder(&session.cluster))?);
    }
    let limit = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fetch = fetch(session, select, sink.as_ref());
    let (mut found, mut absent) = (0, Vec::new());
    let is_cut_short = match read(&fetch, wanted, (limit, &mut found), sink.as_mut(), &mut absent, out, &mut |_| true).await {
        Err(error) if error.is_compacted() && found > 0 && (out.has_begun() || overtaken == Overtaken::ShowFound) => true,
        read => read.map(|()| false)?,
    };
    let is_missing = !absent.is_empty();
    for address in absent {
        Search::at(session, command).await?.report(session, address).await?;
    }
    sink.finish(out)?;
    if is_cut_short {
        compaction::note_cut_short(found);
        return Ok(Outcome::Damaged);
    }
    if found == 0 && !session.interrupt.is_set() {
        absence::note_nothing(session, wanted.addresses()).await?;
        return Ok(Outcome::Nothing);
    }
    Ok(if is_missing { Outcome::Nothing } else { Outcome::Found })
}

/// Prints objects of built-in kinds that were read already, in their order, as `-o` says; JSON says which stretch of history was asked for.
pub(super) async fn print_all(
    session: &Session,
    entries: impl IntoIterator<Item = KeyValue>,
    args: &ListArgs,
    out: &mut Output,
) -> Result<Outcome> {
    let (asked, decoder) = (KeyFilter::any(session.cluster.prefix().await?, built_in()), decoder(&session.cluster));
    let mut sink: Box<dyn Sink<'_> + '_> = match session.window_in_head().await? {
        None => sink(session, &ListingTarget::Addresses(Vec::new()), args, Pace::AtOnce, out.is_terminal()).await?,
        window => Box::new(documents::JsonList::json_within(window)),
    };
    let mut outcome = Outcome::Nothing;
    for mut item in entries.into_iter().filter_map(|entry| asked.pick(entry)) {
        item.body = ReadBody::object(&decoder, &item.entry);
        sink.add(item, out)?;
        outcome = Outcome::Found;
    }
    sink.finish(out)?;
    Ok(outcome)
}

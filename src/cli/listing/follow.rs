//! `get -w`: the objects as they are, then each change of one of them, as kubectl prints them.

use std::io::Write as _;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::formats::{Pace, sink};
use super::listing_target::{ListArgs, ListingTarget};
use super::sink::{Item, fetch, read};
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search, note_nothing, note_nothing_of};
use ketcd_cluster::read::{KeyFilter, Keys, Read, decoder, decoder_of};
use ketcd_history::{AttributedChange, Change, ObjectVersion};
use ketcd_render::watch::gap_words;
use ketcd_store::At;

/// What `-w` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Watched {
    /// The objects as they are, then their changes.
    ObjectsAndChanges,
    /// The changes alone.
    Changes,
}

/// Prints what the words name as `watched` says: a live etcd is followed until the command is interrupted, a file to its end.
pub(in crate::cli) async fn follow(
    session: &Session,
    words: &[String],
    args: &ListArgs,
    watched: Watched,
    out: &mut Output,
) -> Result<Outcome> {
    let keys = Keys::of(&session.cluster, words).await?;
    if session.format == Format::Raw {
        return Err(session.format.unsupported(
            "get --watch",
            "table, wide, json, yaml, kyaml, name, ndjson, jsonpath, jsonpath-as-json, go-template, custom-columns",
        ));
    }
    let select = args.select.read()?;
    let newest = session.cluster.source.span().await?.newest;
    let at = match session.cluster.at {
        At::Newest => newest,
        At::Revision(revision) => revision,
    };
    out.set_content(session.format.content());
    let wanted = ListingTarget::Addresses(keys.addresses.clone());
    let mut sink = sink(session, &wanted, args, Pace::OneByOne, out.is_terminal()).await?;
    let (mut printed, mut is_missing) = (0, false);
    if watched == Watched::ObjectsAndChanges {
        let fetch = fetch(session, select.clone(), sink.as_ref()).at(At::Revision(at));
        let mut missing = Missing::of(session, &keys).await?;
        // Only these are followed: a raw key is not meant as a directory.
        let mut is_followed = |item: &Item<'_>| {
            missing.saw(&item.entry.key);
            keys.contains(&item.entry.key)
        };
        read(&fetch, &wanted, (usize::MAX, &mut printed), sink.as_mut(), &mut Vec::new(), out, &mut is_followed).await?;
        sink.flush(out)?;
        is_missing = !fetch.is_filtered() && missing.report(session, &Search::at(session, "get").await?).await?;
        if printed == 0 {
            note_nothing(session, wanted.addresses()).await?;
        }
    }
    out.flush()?;
    sink.begin_changes();
    let mut asked = Vec::new();
    for (range, address) in keys.ranges.iter().zip(&keys.addresses) {
        asked.push((range, KeyFilter::of(&session.cluster, Some(address)).await?));
    }
    let decoder = decoder(&session.cluster);
    let decoder = if let [one] = &keys.addresses[..] { decoder_of(&decoder, one.kind()).into_owned() } else { decoder };
    let history = session.cluster.watching_after(keys.clone(), at, newest).history().await?.decoded_by(decoder);
    let mut changes = history.on_cores(move |change, _, _| select.takes(&change.change).then(|| Box::new(change)));
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item((event, change)) => {
                let Some(AttributedChange { change, dated, .. }) = change.flatten().map(|change| *change) else { continue };
                let asked = asked.iter().find(|(range, _)| range.contains(&change.key)).map(|(_, asked)| asked);
                let Some(mut item) = asked.and_then(|asked| asked.pick(event.key_value)) else { continue };
                let Change { revision, before, after, .. } = change;
                // A deleted object is shown as it was last.
                item.body = if after == ObjectVersion::Absent { before.into() } else { after.into() };
                printed += 1;
                sink.set_now(if revision <= newest { dated.map(|dated| dated.time) } else { Some(Timestamp::now()) });
                sink.add(item, out)?;
                sink.flush(out)?;
                out.flush()?;
            }
            Read::Gap { from, to } => note(&gap_words(from, to)),
        }
    }
    if printed == 0 && watched == Watched::Changes && !session.interrupt.is_set() {
        note_nothing_of(session, &keys, &format!("no change after revision {at}")).await?;
    }
    Ok(if printed == 0 || is_missing { Outcome::Nothing } else { Outcome::Found })
}

//! `ketcd watch`: follows the changes of some objects.

use std::io::Write;
use std::time::Instant;

use clap::Args;
use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_history::clock::LiveClock;
use ketcd_history::{AttributedChange, actor};
use ketcd_kube::{Address, RegistryKey};
use ketcd_store::{At, KeyRange, Revision, SourceKind, Until, Want};

use super::history::{TellingArgs, Writer};
use crate::cli::absence::{Missing, Search};
use crate::cli::output::{Output, note};
use crate::cli::select::SelectArgs;
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use ketcd_cluster::read::{Keys, Read, all, changes_from};
use ketcd_cluster::rights::Question;
use ketcd_render::watch::{Beginning, InitialState, gap_words};

/// Follow the changes of objects
///
/// On a live etcd, prints each object as it is, then each change as it comes, until interrupted. A lost connection is reopened and the
/// missed changes are read; what was compacted meanwhile is shown as a gap. The time of a change is when it arrived. A file does not
/// change: its history is printed from the oldest readable revision, and the command ends with the newest.
#[derive(Args, Debug)]
#[command(before_help = "\
# Follow all pods of a live etcd, field by field\n\
ketcd watch pods -A --diff\n\
# The changes that a snapshot holds from revision 600 on\n\
ketcd -f snapshot.db watch deploy/web/tomcat --from-rev 600")]
pub(crate) struct WatchArgs {
    /// The objects: kind/namespace/name, a kind, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    /// Begin with this revision instead of the next change.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    from_rev: Option<i64>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    telling: TellingArgs,
}

impl WatchArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::Objects(&self.addresses)
    }
}

/// Runs the command; each change is flushed as it comes.
pub(super) async fn run(session: &Session, args: &WatchArgs, out: &mut Output) -> Result<Outcome> {
    let begun = Instant::now();
    let keys = Keys::of(session, &args.addresses).await?;
    let mut span = session.source.span().await?;
    let is_live = session.source.status().await?.kind == SourceKind::Live;
    let mut from = match (args.from_rev, session.at) {
        (Some(revision), _) | (None, At::Revision(Revision(revision))) => Revision(revision),
        (None, At::Newest) if is_live => span.newest.after(),
        (None, At::Newest) => {
            note(&format!("this source does not change: showing its history from revision {}", span.oldest));
            Revision(1)
        }
    };
    let select = args.select.read()?;
    let mut writer = Writer::new(session, &args.telling, keys.many, out)?;
    let past = if from <= span.newest { Some(session.clock_of_writers(&[], &[], &[]).await?) } else { None };
    let mut missing = Missing::of(session, &keys).await?;
    let mut live = LiveClock::default();
    // Behind a compaction nobody knows what was there; the changes begin with a gap.
    while is_live && from > span.oldest && from <= span.newest.after() && !begin(session, &keys, from.before(), &mut writer, out).await? {
        let is_next = from == span.newest.after();
        span = session.source.span().await?;
        if is_next {
            from = span.newest.after();
        }
    }
    out.flush()?;
    let mut changes = changes_from(session, keys, from, Until::Forever).await?;
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item(change) => {
                missing.saw(&change.key);
                if !select.takes(&change) {
                    continue;
                }
                let attributed = match past.as_ref().filter(|_| change.revision <= span.newest) {
                    Some(clock) => AttributedChange::new(change, clock),
                    None => {
                        let delay = session.source.latest_delay(change.revision).unwrap_or_else(|| begun.elapsed());
                        let (dated, actor) = (Some(live.date(Timestamp::now(), delay)), actor(&change));
                        AttributedChange { change, dated, actor }
                    }
                };
                writer.write(session, attributed, out).await?;
                out.flush()?;
            }
            Read::Gap { from, to } => {
                if !writer.gap(from, to, out)? || !out.is_terminal() {
                    note(&gap_words(from, to));
                }
                out.flush()?;
            }
        }
    }
    let outcome = writer.finish(out)?;
    // The changes end where the source does: one that grows is followed until it is broken off.
    if from <= Revision(1) {
        missing.report(session, &Search::up_to(session, "watch").await?).await?;
    }
    Ok(outcome)
}

/// Shows what the addresses name at `revision`, before the first change; nothing if a compaction took that revision meanwhile.
async fn begin(session: &Session, keys: &Keys, revision: Revision, writer: &mut Writer, out: &mut Output) -> Result<bool> {
    let (prefix, kinds) = (session.prefix().await?, session.kinds().await?);
    let mut found = Vec::new();
    for (key, is_whole) in keys.addresses.iter().map(|address: &Address| address.key(prefix)) {
        let entries = match is_whole {
            true => all(session.source.as_ref(), KeyRange::key(key.as_str()), revision, Want::Values).await,
            false => Ok(Vec::new()),
        };
        match entries {
            Err(ketcd_store::Error::Compacted { .. } | ketcd_store::Error::Between { .. }) => return Ok(false),
            entries => found.push((key, is_whole, entries?.pop())),
        }
    }
    for (key, is_whole, entry) in found {
        let body = entry.map(|entry| session.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
        let path = RegistryKey::parse(prefix, key.as_bytes(), kinds).object();
        let state = match (&body, is_whole) {
            (_, false) => InitialState::Many,
            (None, true) => InitialState::Absent,
            (Some(body), true) => InitialState::Present(body, path.as_ref().and_then(|path| path.kind())),
        };
        let name = if is_whole { session.name_of(key.as_bytes()).await? } else { key.clone() };
        let beginning = Beginning { revision, member: session.source.member(), key: &key, name: &name, state, release: session.release() };
        writer.begin(&beginning, out)?;
    }
    Ok(true)
}

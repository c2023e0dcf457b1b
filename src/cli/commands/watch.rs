//! `ketcd watch`: follows the changes of some objects.

use std::io::Write;

use clap::Args;
use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_history::clock::LiveClock;
use ketcd_history::{AttributedChange, Change, ChangeKind, actor};
use ketcd_store::{At, Revision, SourceKind, Until};

use super::history::{TellingArgs, Writer};
use crate::cli::absence::{Missing, Question};
use crate::cli::changes::{Keys, Read, changes_from};
use crate::cli::output::{Output, note};
use crate::cli::select::SelectArgs;
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};

/// Follow the changes of objects
///
/// Prints each change of a live etcd as it comes, until it is interrupted. A file does not grow: its changes are printed from the oldest
/// readable revision on, and the command ends with the newest.
#[derive(Args, Debug)]
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

/// Runs the command; each change is flushed as it comes.
pub(super) async fn run(session: &Session, args: &WatchArgs, out: &mut Output) -> Result<Outcome> {
    let keys = Keys::of(session, &args.addresses).await?;
    let span = session.source.span().await?;
    let from = match (args.from_rev, session.at) {
        (Some(revision), _) | (None, At::Revision(Revision(revision))) => Revision(revision),
        (None, At::Newest) if follows(session).await? => span.newest.after(),
        (None, At::Newest) => {
            note(&format!("this source does not grow: showing its changes from revision {} on", span.oldest));
            Revision(1)
        }
    };
    let select = args.select.read()?;
    let mut writer = Writer::new(session, &args.telling, keys.many, out)?;
    let past = if from <= span.newest { Some(session.clock().await?) } else { None };
    let mut missing = Missing::of(session, &keys).await?;
    let mut live = LiveClock::default();
    let mut changes = changes_from(session, keys, from, Until::Forever).await?;
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item(change) => {
                missing.saw(&change.key);
                if !select.takes(&change) {
                    continue;
                }
                let attributed = match past.filter(|_| change.revision <= span.newest) {
                    Some(clock) => AttributedChange::new(change, clock),
                    None => arrived(&mut live, change),
                };
                writer.write(session, attributed, out).await?;
                out.flush()?;
            }
            Read::Gap { from, to } => note(&format!("revisions {from} to {to} were compacted away before they could be read: a gap")),
        }
    }
    let outcome = writer.finish(out)?;
    // The changes end where the source does: one that grows is followed until it is broken off.
    if from <= Revision(1) {
        missing.report(session, &Question::up_to(session, "watch").await?).await?;
    }
    Ok(outcome)
}

/// Dates a change that came after the watch began.
fn arrived(clock: &mut LiveClock, change: Change) -> AttributedChange {
    let created = change.kind == ChangeKind::Added;
    let dated = clock.date(change.revision, &change.key, created, change.after.object(), Timestamp::now());
    let actor = actor(&change);
    AttributedChange { change, dated, actor }
}

/// Whether the source can bring anything new.
async fn follows(session: &Session) -> Result<bool> {
    Ok(session.source.status().await?.kind == SourceKind::Live)
}

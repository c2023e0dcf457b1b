//! `status`: what this source holds.

use std::io::Write;

use clap::Args;

use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::census::{census, readable, sampled};
use ketcd_kube::Kinds;
use ketcd_render::contract::status::Status;
use ketcd_render::{json, status};
use ketcd_store::etcd::grant_command;
use ketcd_store::{KeyRange, SourceStatus};

/// Show what a source holds
///
/// Shows the source itself, the readable revisions and their time span, the sizes of the database, the versions of Kubernetes found in the
/// data, encryption at rest, and problems found while reading. On a large live etcd only some values are read, unless --full is given.
#[derive(Args, Debug)]
#[command(before_help = "\
# What a snapshot holds, and how far back it goes\n\
ketcd -f snapshot.db status\n\
# The members of a live etcd, their health and sizes\n\
ketcd status")]
pub(crate) struct StatusArgs {
    /// Read every value of a large live etcd: count every node's kubelet and every encrypted value.
    #[arg(long)]
    full: bool,
}

/// A live etcd whose data come to no more bytes than this is read whole.
const SMALL: u64 = 32 << 20;

/// Gathers and prints.
pub(super) async fn run(session: &Session, args: &StatusArgs, out: &mut Output) -> Result<Outcome> {
    let source = session.source.status().await?;
    // Any key will do to ask for the revisions.
    let prefix = session.prefix().await?;
    let kinds = Kinds::builtin();
    let namespace = session.args.namespace.as_deref();
    let stored = kinds.iter().filter(|kind| kind.is_stored());
    let below: Vec<KeyRange> = stored.map(|kind| KeyRange::prefix(kind.key_prefix(prefix, namespace))).collect();
    below.iter().for_each(|keys| session.source.will_read(keys));
    let span = match session.source.span().await {
        Err(error) if error.is_denied() && matches!(session.format, Format::Table | Format::Wide) => {
            return unread(&source, error.into(), out);
        }
        span => span?,
    };
    let clock = session.clock().await?;
    let dated = clock.dated_span().and_then(|(first, last)| Some((clock.date(first.max(span.oldest))?, clock.date(last)?)));
    let mut problems = clock.problems().to_vec();
    let mut is_sampled = session.source.is_shared() && !args.full && source.in_use_bytes > SMALL;
    let census = match if is_sampled { sampled(session).await } else { census(session).await } {
        Err(error) => {
            let Some(refusal) = error.refusal() else { return Err(error.into()) };
            is_sampled = true;
            let all = grant_command(&KeyRange::all());
            problems.push(format!("{}: only keys of kinds this user may read are counted; to count all: {all}", refusal.problem));
            readable(session, &below).await?
        }
        Ok(census) => census,
    };
    let report = status::StatusPage {
        source,
        span,
        one_moment: session.source.is_one_moment().then_some(session.newest_time().await?),
        dated,
        release: session.release_evidence.release(),
        release_bounds: session.release_evidence.bounds(),
        census,
        is_sampled,
        problems,
    };
    match &session.format {
        Format::Table | Format::Wide => status::page(&report, out)?,
        Format::Json => {
            json::write_pretty(&Status::from(&report), out)?;
            writeln!(out)?;
        }
        other => return Err(other.unsupported("status", "table, json")),
    }
    Ok(if report.source.alarms.is_empty() { Outcome::Found } else { Outcome::Damaged })
}

/// Prints what members tell a user who may not read any key that is known to be there.
fn unread(source: &SourceStatus, error: Error, out: &mut Output) -> Result<Outcome> {
    let Some(refusal) = error.refusal() else { return Err(error) };
    let all = grant_command(&KeyRange::all());
    let problem = format!("{}: the readable revisions and the contents of the keys are not known; to read all: {all}", refusal.problem);
    status::page_of_unread(source, &problem, out)?;
    Ok(if source.alarms.is_empty() { Outcome::Found } else { Outcome::Damaged })
}

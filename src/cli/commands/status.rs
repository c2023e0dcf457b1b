//! `status`: what this source holds.

use std::io::Write;

use clap::Args;
use futures_util::StreamExt;

use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::rights::unless_denied;
use ketcd_kube::{Kinds, RegistryKey, Resource};
use ketcd_render::contract::status::Status;
use ketcd_render::{json, status};
use ketcd_scheduler::cluster::Census;
use ketcd_store::etcd::grant_command;
use ketcd_store::{KeyRange, KeyValue, SourceStatus, Want};

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
/// Of a larger one so many nodes are read, and so many values of a resource.
const NODES: usize = 100;
const VALUES: usize = 10;

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
            let Some(refusal) = error.refusal() else { return Err(error) };
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

/// Counts the keys, and reads some values.
async fn sampled(session: &Session) -> Result<Census> {
    let keys = session.source.count(KeyRange::all(), session.at).await?;
    let mut census = values(session).await?;
    census.keys = keys;
    Ok(census)
}

/// Reads some values, as far as the user may.
async fn values(session: &Session) -> Result<Census> {
    let (prefix, source) = (session.prefix().await?, &session.source);
    let mut census = Census::default();
    let below = |path: &str| KeyRange::prefix(format!("{prefix}/{path}/"));
    let decoded = |entry: &KeyValue| session.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
    let first = async |keys: KeyRange, most: usize| -> Result<Vec<KeyValue>> {
        Ok(unless_denied(source.first(keys, session.at, Want::Values, most).await)?.unwrap_or_default())
    };
    for node in first(below("minions"), NODES).await? {
        decoded(&node).object().into_iter().for_each(|node| census.add_node(node));
    }
    let leases = KeyRange::prefix(format!("{prefix}/leases/kube-system/"));
    for lease in first(leases, NODES).await? {
        if lease.key.ends_with(b"scheduler") {
            decoded(&lease).object().into_iter().for_each(|lease| census.add_scheduler_lease(lease));
        }
    }
    for resource in ["secrets", "configmaps"] {
        for entry in first(below(resource), VALUES).await? {
            census.count(Some(resource.to_owned()), session.encryption.keys.seal_of(&entry.value));
        }
    }
    Ok(census)
}

/// Counts the keys of the kinds that the user may read, and reads some values of them.
async fn readable(session: &Session, kinds: &[KeyRange]) -> Result<Census> {
    let mut census = values(session).await?;
    census.keys = 0;
    for keys in kinds {
        census.keys += unless_denied(session.source.count(keys.clone(), session.at).await)?.unwrap_or(0);
    }
    Ok(census)
}

/// Counts every key alive at the revision looked at.
async fn census(session: &Session) -> Result<Census> {
    let (prefix, kinds) = (session.prefix().await?, session.kinds().await?);
    let mut census = Census::default();
    let mut listing = session.range(KeyRange::all(), Want::Values).await?;
    while let Some(entry) = listing.entries.next().await.transpose()? {
        let object = RegistryKey::parse(prefix, &entry.key, kinds).object();
        let resource = object.map(|object| match object.resource {
            Resource::Known(kind) => kind.resource(),
            Resource::Unlisted { group: "", plural } => plural.to_owned(),
            Resource::Unlisted { group, plural } => format!("{plural}.{group}"),
        });
        let is_of = |name: &str| resource.as_deref() == Some(name);
        let (is_node, is_lease) = (is_of("nodes"), is_of("leases.coordination.k8s.io"));
        census.count(resource, session.encryption.keys.seal_of(&entry.value));
        let Some(object) = object else { continue };
        let decoded = || session.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
        if is_node {
            decoded().object().into_iter().for_each(|node| census.add_node(node));
        } else if is_lease && object.namespace == Some("kube-system") && object.name.ends_with("scheduler") {
            decoded().object().into_iter().for_each(|lease| census.add_scheduler_lease(lease));
        }
    }
    Ok(census)
}

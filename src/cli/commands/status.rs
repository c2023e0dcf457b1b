//! `status`: what this source holds.

use std::io::Write;

use clap::Args;
use futures_util::StreamExt;

use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use crate::render::contract::status::Status;
use crate::render::{json, status};
use ketcd_kube::{RegistryKey, Resource};
use ketcd_scheduler::cluster::Census;
use ketcd_store::{KeyRange, Want};

/// Show what a source holds
///
/// Shows the source itself, the readable revisions and the time that they span, the sizes of the database, the versions of Kubernetes found
/// in the data, encryption at rest, and problems found while reading.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {}

/// Gathers and prints.
pub(super) async fn run(session: &Session, _args: &StatusArgs, out: &mut Output) -> Result<Outcome> {
    let source = session.source.status().await?;
    let span = session.source.span().await?;
    let clock = session.clock().await?;
    let dated = clock.dated_span().and_then(|(first, last)| Some((clock.date(first.max(span.oldest))?, clock.date(last)?)));
    let problems = clock.problems().to_vec();
    let report = status::StatusPage {
        source,
        span,
        one_moment: session.source.is_one_moment().then_some(session.newest_time().await?),
        dated,
        release: session.release_evidence.release(),
        release_bounds: session.release_evidence.bounds(),
        census: census(session).await?,
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
    Ok(Outcome::Found)
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

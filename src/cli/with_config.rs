//! `get pod/x --with-config`: the pod with the ConfigMaps and Secrets its containers started with.

use std::sync::Arc;

use std::io::Write;

use futures_util::TryStreamExt;

use super::absence::{Missing, Question};
use super::output::{Format, Output};
use super::session::Session;
use super::{Error, Outcome, Result};
use ketcd_cluster::read::{Keys, Read, changes};
use ketcd_history::config;
use ketcd_kube::{Body, Object};
use ketcd_render::with_config::{self, Config, Started};
use ketcd_store::{At, KeyRange, Revision, Until, Want};

/// Reads the pod's history up to the revision looked at, and its configuration as it was at the last start and is now.
pub(super) async fn run(session: &Session, addresses: &[String], out: &mut Output) -> Result<Outcome> {
    let keys = Keys::of(session, addresses).await?;
    if keys.many || keys.addresses.iter().any(|address| address.kind().is_none_or(|kind| kind.kind != "Pod")) {
        return Err(Error::new("--with-config is for one pod").hint("write get pod/namespace/name --with-config"));
    }
    let missing = Missing::of(session, &keys).await?;
    let newest = match session.at {
        At::Newest => session.source.span().await?.newest,
        At::Revision(revision) => revision,
    };
    let Some((pod, revision)) = last_start(session, keys, newest).await? else {
        missing.report(session, &Question::at(session, "get --with-config").await?).await?;
        return Ok(Outcome::Nothing);
    };
    let dated = match revision {
        Some(revision) => session.clock().await?.date(revision),
        None => None,
    };
    let config = configuration(session, &pod, revision, newest).await?;
    let started = Started { pod: Arc::unwrap_or_clone(pod), revision, dated, config };
    let managed_fields = session.args.managed_fields();
    match &session.format {
        Format::Json => serde_json::to_writer_pretty(&mut *out, &with_config::document(&started, managed_fields))?,
        Format::Ndjson => serde_json::to_writer(&mut *out, &with_config::document(&started, managed_fields))?,
        Format::Table | Format::Wide | Format::Yaml => with_config::write_text(started, managed_fields, out)?,
        other => return Err(other.unsupported("get --with-config", "yaml, json")),
    }
    if matches!(session.format, Format::Json | Format::Ndjson) {
        writeln!(out)?;
    }
    Ok(Outcome::Found)
}

/// The pod as it is, and the revision that shows the last start of one of its containers.
async fn last_start(session: &Session, keys: Keys, newest: Revision) -> Result<Option<(Arc<Object>, Option<Revision>)>> {
    let mut found: Option<(Arc<Object>, Option<Revision>)> = None;
    let mut changes = changes(session, keys, Until::Revision(newest));
    while let Some(read) = changes.try_next().await? {
        let Read::Item(change) = read else { continue };
        let before = change.before.object();
        found = change.after.whole().map(|after| {
            let known = found.take().and_then(|(_, revision)| revision).filter(|_| before.is_some());
            let seen = matches!(change.before, ketcd_history::ObjectVersion::Unreadable);
            let started = !seen && config::started(before, after);
            (Arc::clone(after), if started { Some(change.revision) } else { known })
        });
    }
    Ok(found)
}

async fn configuration(session: &Session, pod: &Object, started: Option<Revision>, newest: Revision) -> Result<Vec<Config>> {
    let (kinds, prefix) = (session.kinds().await?, session.prefix().await?);
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
    let oldest = session.source.span().await?.oldest;
    let mut found = Vec::new();
    for ((kind, name), used) in config::sources(pod) {
        let row = kinds.find(kind.as_str()).map_err(|error| Error::new(error.to_string()))?;
        let key = row.key(prefix, Some(namespace), &name);
        let now = version(session, &key, newest).await?;
        let (then, problem) = match started {
            Some(revision) if revision >= oldest => (version(session, &key, revision).await?, None),
            Some(revision) => (None, Some(format!("revision {revision} was compacted away: what it was then cannot be read"))),
            None => (now.clone(), None),
        };
        found.push(Config { kind, name, used, then, now, problem });
    }
    Ok(found)
}

/// The object under a key at a revision.
async fn version(session: &Session, key: &str, at: Revision) -> Result<Option<Object>> {
    let mut listing = session.source.range(KeyRange::key(key), At::Revision(at), Want::Values).await?;
    let Some(entry) = listing.entries.try_next().await? else { return Ok(None) };
    let decoded = session.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
    match decoded.body {
        Body::Object(object) => Ok(Some(object)),
        Body::Opaque(_) => Err(Error::new(format!("{key} cannot be decoded")).hint("if it is encrypted, add --encryption-config")),
    }
}

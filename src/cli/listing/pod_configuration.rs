//! `get pod/x --with-config`: the pod with the ConfigMaps and Secrets its containers started with.

use std::io::Write;

use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search};
use ketcd_cluster::read::Keys;
use ketcd_render::with_config;

pub(in crate::cli) async fn run(session: &Session, addresses: &[String], out: &mut Output) -> Result<Outcome> {
    let keys = Keys::of(&session.cluster, addresses).await?;
    if keys.many || keys.addresses.iter().any(|address| address.kind().is_none_or(|kind| kind.kind != "Pod")) {
        return Err(Error::new("--with-config is for one pod").hint("write get pod/namespace/name --with-config"));
    }
    let missing = Missing::of(session, &keys).await?;
    let Some(started) = session.cluster.started(keys).await? else {
        missing.report(session, &Search::at(session, "get --with-config").await?).await?;
        return Ok(Outcome::Nothing);
    };
    let managed_fields = session.managed_fields();
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

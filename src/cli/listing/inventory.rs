//! What is there without decoding any of it: objects and bytes by kind, and raw keys.

use std::io::Write;

use futures_util::StreamExt;

use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::{Search, note_nothing_within};
use ketcd_cluster::census::ResourceCount;
use ketcd_kube::Address;
use ketcd_render::census::{CensusTable, document, documents};
use ketcd_render::visible::visible;
use ketcd_render::{json, yaml};
use ketcd_store::{KeyRange, Want};

/// Prints counts and bytes by kind, the largest first.
pub(in crate::cli) async fn kinds(session: &Session, without_headings: bool, out: &mut Output) -> Result<Outcome> {
    let rows = session.cluster.by_resource().await?;
    if write_documents(session, &rows, out)? {
        return Ok(outcome(rows.is_empty()));
    }
    if rows.is_empty() {
        note_nothing_within(session, session.cluster.options.namespace.is_some(), "nothing is stored").await?;
    } else {
        CensusTable::of_kinds(&rows, without_headings).write(out)?;
    }
    Ok(outcome(rows.is_empty()))
}

fn outcome(is_empty: bool) -> Outcome {
    if is_empty { Outcome::Nothing } else { Outcome::Found }
}

/// Writes the rows as the format asks; returns false for tables, which are the caller's.
fn write_documents(session: &Session, rows: &[ResourceCount], out: &mut Output) -> Result<bool> {
    match &session.format {
        Format::Table | Format::Wide => return Ok(false),
        Format::Ndjson => {
            for document in documents(rows) {
                json::write_compact(&document, out)?;
                out.write_all(b"\n")?;
            }
        }
        Format::Json => json::write_document(&document(rows), out)?,
        Format::Yaml => yaml::write(&serde_json::to_value(document(rows))?, out)?,
        Format::Name => {
            for document in documents(rows) {
                writeln!(out, "{}", visible(document.resource))?;
            }
        }
        other => return Err(other.unsupported("ls of kinds", "table, json, yaml, ndjson, name")),
    }
    Ok(true)
}

/// Prints raw keys with what etcd says of them.
pub(in crate::cli) async fn keys(session: &Session, addresses: &[Address], without_headings: bool, out: &mut Output) -> Result<Outcome> {
    let (mut table, mut is_missing) = (CensusTable::of_keys(without_headings), false);
    for address in addresses {
        let before = table.len();
        let (key, _) = address.key("");
        let below = KeyRange::prefix(if key.ends_with('/') { key.clone() } else { format!("{key}/") });
        for range in [KeyRange::key(key.as_bytes()), below] {
            let mut entries = match session.cluster.range(range, Want::Values).await {
                // The key itself was it.
                Err(error) if error.refusal().is_some() && table.len() > before => break,
                listing => listing?.entries,
            };
            while let Some(entry) = entries.next().await.transpose()? {
                table.push_key(&entry);
            }
        }
        if table.len() == before {
            is_missing = true;
            Search::at(session, "ls").await?.report(session, address).await?;
        }
    }
    let is_empty = table.is_empty();
    if !is_empty {
        table.write(out)?;
    }
    Ok(outcome(is_empty || is_missing))
}

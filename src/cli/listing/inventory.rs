//! What is there without decoding any of it: objects and bytes by kind, and raw keys.

use std::io::Write;

use futures_util::StreamExt;

use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::{Search, note_nothing_within};
use ketcd_cluster::census::ResourceCount;
use ketcd_kube::Address;
use ketcd_render::contract::listing::{KindCount, KindCounts};
use ketcd_render::table::write_aligned;
use ketcd_render::visible::visible;
use ketcd_render::{json, yaml};
use ketcd_store::{KeyRange, KeyValue, Want};

/// Prints counts and bytes by kind, the largest first.
pub(in crate::cli) async fn kinds(session: &Session, without_headings: bool, out: &mut Output) -> Result<Outcome> {
    let rows = session.cluster.by_resource().await?;
    if write_documents(session, &rows, out)? {
        return Ok(outcome(rows.is_empty()));
    }
    let heading = ["RESOURCE", "OBJECTS", "BYTES"].map(str::to_owned).to_vec();
    let mut lines = if without_headings { Vec::new() } else { vec![heading] };
    lines.extend(rows.iter().map(|row| vec![row.resource.clone(), row.objects.to_string(), row.bytes.to_string()]));
    if rows.is_empty() {
        note_nothing_within(session, session.cluster.options.namespace.is_some(), "nothing is stored").await?;
    } else {
        write_aligned(&align_numbers(lines), out)?;
    }
    Ok(outcome(rows.is_empty()))
}

fn outcome(is_empty: bool) -> Outcome {
    if is_empty { Outcome::Nothing } else { Outcome::Found }
}

/// Right-aligns the cells after the first: they are numbers.
fn align_numbers(mut lines: Vec<Vec<String>>) -> Vec<Vec<String>> {
    for column in 1..lines.first().map_or(0, Vec::len) {
        let width = lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
        lines.iter_mut().for_each(|line| line[column] = format!("{:>width$}", line[column]));
    }
    lines
}

/// Writes the rows as the format asks; returns false for tables, which are the caller's.
fn write_documents(session: &Session, rows: &[ResourceCount], out: &mut Output) -> Result<bool> {
    let documents =
        rows.iter().map(|row| KindCount { bytes: row.bytes, kind: row.kind.as_deref(), objects: row.objects, resource: &row.resource });
    match &session.format {
        Format::Table | Format::Wide => return Ok(false),
        Format::Ndjson => {
            for document in documents {
                json::write_compact(&document, out)?;
                out.write_all(b"\n")?;
            }
        }
        Format::Json => json::write_document(&KindCounts { kind: "List", items: documents.collect() }, out)?,
        Format::Yaml => yaml::write(&serde_json::to_value(KindCounts { kind: "List", items: documents.collect() })?, out)?,
        Format::Name => {
            for document in documents {
                writeln!(out, "{}", visible(document.resource))?;
            }
        }
        other => return Err(other.unsupported("ls of kinds", "table, json, yaml, ndjson, name")),
    }
    Ok(true)
}

/// Prints raw keys with what etcd says of them.
pub(in crate::cli) async fn keys(session: &Session, addresses: &[Address], without_headings: bool, out: &mut Output) -> Result<Outcome> {
    let heading = ["KEY", "CREATED", "MODIFIED", "VERSION", "LEASE", "BYTES"].map(str::to_owned).to_vec();
    let mut lines = if without_headings { Vec::new() } else { vec![heading] };
    let (headings, mut is_missing) = (lines.len(), false);
    for address in addresses {
        let before = lines.len();
        let (key, _) = address.key("");
        let below = KeyRange::prefix(if key.ends_with('/') { key.clone() } else { format!("{key}/") });
        for range in [KeyRange::key(key.as_bytes()), below] {
            let mut entries = match session.cluster.range(range, Want::Values).await {
                // The key itself was it.
                Err(error) if error.refusal().is_some() && lines.len() > before => break,
                listing => listing?.entries,
            };
            while let Some(entry) = entries.next().await.transpose()? {
                lines.push(key_row(&entry));
            }
        }
        if lines.len() == before {
            is_missing = true;
            Search::at(session, "ls").await?.report(session, address).await?;
        }
    }
    let is_empty = lines.len() == headings;
    if !is_empty {
        write_aligned(&align_numbers(lines), out)?;
    }
    Ok(outcome(is_empty || is_missing))
}

fn key_row(entry: &KeyValue) -> Vec<String> {
    let lease = if entry.lease == 0 { "-".to_owned() } else { format!("{:x}", entry.lease) };
    vec![
        String::from_utf8_lossy(&entry.key).into_owned(),
        entry.create_revision.to_string(),
        entry.mod_revision.to_string(),
        entry.version.to_string(),
        lease,
        entry.value.len().to_string(),
    ]
}

//! What is there without decoding any of it: objects and bytes by kind, and raw keys.

use std::collections::BTreeMap;
use std::io::Write;

use futures_util::StreamExt;

use super::absence::Question;
use super::output::{Format, Output};
use super::session::Session;
use super::{Outcome, Result};
use ketcd_kube::{Address, Kinds, RegistryKey, Resource};
use ketcd_render::contract::listing::KindCount;
use ketcd_render::table::write_aligned;
use ketcd_render::visible::visible;
use ketcd_render::{json, yaml};
use ketcd_store::{KeyRange, KeyValue, Want};

/// Objects of one resource.
#[derive(Default)]
struct Count {
    kind: Option<String>,
    objects: u64,
    bytes: u64,
}

/// Prints counts and bytes by kind, the largest first.
pub(super) async fn kinds(session: &Session, without_headings: bool, out: &mut Output) -> Result<Outcome> {
    let prefix = session.prefix().await?;
    let mut kinds = Kinds::builtin();
    kinds.add_openshift();
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut entries = session.range(KeyRange::all(), Want::Values).await?.entries;
    while let Some(entry) = entries.next().await.transpose()? {
        let namespace = session.args.namespace.as_deref();
        let (resource, kind) = match RegistryKey::parse(prefix, &entry.key, &kinds) {
            RegistryKey::Object(object) if namespace.is_some() && object.namespace != namespace => continue,
            RegistryKey::Object(object) => match object.resource {
                Resource::Known(kind) => (kind.resource(), Some(kind.kind.to_string())),
                Resource::Unlisted { group: "", plural } => (plural.to_owned(), None),
                Resource::Unlisted { group, plural } => (format!("{plural}.{group}"), None),
            },
            _ if namespace.is_some() => continue,
            RegistryKey::Special(name) => (format!("({})", name.split('/').next().unwrap_or(name)), None),
            RegistryKey::Foreign => (format!("({})", foreign(&entry.key)), None),
        };
        let count = counts.entry(resource).or_insert_with(|| Count { kind, ..Count::default() });
        count.objects += 1;
        count.bytes += entry.value.len() as u64;
    }
    let mut rows: Vec<(String, Count)> = counts.into_iter().collect();
    rows.sort_by(|(a_name, a), (b_name, b)| b.bytes.cmp(&a.bytes).then_with(|| a_name.cmp(b_name)));
    if write_documents(session, &rows, out)? {
        return Ok(outcome(rows.is_empty()));
    }
    let heading = ["RESOURCE", "OBJECTS", "BYTES"].map(str::to_owned).to_vec();
    let mut lines = if without_headings { Vec::new() } else { vec![heading] };
    lines.extend(rows.iter().map(|(name, count)| vec![name.clone(), count.objects.to_string(), count.bytes.to_string()]));
    if rows.is_empty() {
        super::output::note("nothing is stored there");
    } else {
        write_aligned(&align_numbers(lines), out)?;
    }
    Ok(outcome(rows.is_empty()))
}

/// The first segment of a key outside the prefix.
fn foreign(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let end = text.char_indices().skip(1).find(|(_, c)| *c == '/').map_or(text.len(), |(index, _)| index);
    text[..end].to_owned()
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
fn write_documents(session: &Session, rows: &[(String, Count)], out: &mut Output) -> Result<bool> {
    let documents = rows.iter().map(|(name, count)| KindCount {
        bytes: count.bytes,
        kind: count.kind.as_deref(),
        objects: count.objects,
        resource: name,
    });
    match &session.format {
        Format::Table | Format::Wide => return Ok(false),
        Format::Ndjson => {
            for document in documents {
                json::write_compact(&document, out)?;
                out.write_all(b"\n")?;
            }
        }
        Format::Json => {
            json::write_pretty(&documents.collect::<Vec<_>>(), out)?;
            out.write_all(b"\n")?;
        }
        Format::Yaml => yaml::write(&serde_json::to_value(documents.collect::<Vec<_>>())?, out)?,
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
pub(super) async fn keys(session: &Session, addresses: &[Address], without_headings: bool, out: &mut Output) -> Result<Outcome> {
    let heading = ["KEY", "CREATED", "MODIFIED", "VERSION", "LEASE", "BYTES"].map(str::to_owned).to_vec();
    let mut lines = if without_headings { Vec::new() } else { vec![heading] };
    let headings = lines.len();
    for address in addresses {
        let before = lines.len();
        let (key, _) = address.key("");
        let below = KeyRange::prefix(if key.ends_with('/') { key.clone() } else { format!("{key}/") });
        for range in [KeyRange::key(key.as_bytes()), below] {
            let mut entries = match session.range(range, Want::Values).await {
                // The key itself was it.
                Err(error) if error.refusal().is_some() && lines.len() > before => break,
                listing => listing?.entries,
            };
            while let Some(entry) = entries.next().await.transpose()? {
                lines.push(key_row(&entry));
            }
        }
        if lines.len() == before {
            Question::at(session, "ls").await?.report(session, address).await?;
        }
    }
    let is_empty = lines.len() == headings;
    if !is_empty {
        write_aligned(&align_numbers(lines), out)?;
    }
    Ok(outcome(is_empty))
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

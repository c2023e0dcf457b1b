//! `diff --members`: whether the members of a cluster, or their files, hold the same at one revision.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use sha2::{Digest, Sha256};

use crate::cli::args::{GlobalArgs, is_url};
use crate::cli::attendance::Attendance;
use crate::cli::output::{Format, Output, note};
use crate::cli::session::{limits, revision_asked};
use crate::cli::{Error, Outcome, Result, connection};
use ketcd_render::json;
use ketcd_render::members::{self, Comparison, DifferingKey, Holders, KeyVersion, MemberSpan};
use ketcd_store::etcd::{EtcdConfig, EtcdSource, ReadConsistency};
use ketcd_store::{At, KeyRange, Revision, RevisionSpan, Source, Want};

/// A member, or a file of one.
struct Member {
    name: String,
    source: Box<dyn Source>,
    span: RevisionSpan,
}

/// Runs the command; a difference is exit 1.
pub(super) async fn run(global: &GlobalArgs, targets: &[String], out: &mut Output) -> Result<Outcome> {
    let mut is_damaged = false;
    let mut members = Vec::new();
    for (name, source) in sources(global, targets)? {
        source.damage().iter().chain(source.left_out()).for_each(|problem| note(problem));
        is_damaged |= !source.damage().is_empty();
        match source.span().await {
            Ok(span) => members.push(Member { name, source, span }),
            Err(error) => {
                note(&format!("error: {name} is not compared: {}", Error::from(error)));
                is_damaged = true;
            }
        }
    }
    of_one_cluster(&members).await?;
    let revision = common_revision(global, &members)?;
    let comparison = compare(&members, revision).await?;
    match global.format()? {
        Format::Table | Format::Wide => members::write_text(&comparison, out)?,
        Format::Json => {
            json::write_pretty(&comparison.contract(), out)?;
            std::io::Write::write_all(out, b"\n")?;
        }
        other => return Err(other.unsupported("diff --members", "table, json")),
    }
    for problem in members.iter().flat_map(|member| member.source.late_damage()) {
        note(&problem);
        is_damaged = true;
    }
    Ok(match (is_damaged, comparison.differences.is_empty()) {
        (true, _) => Outcome::Damaged,
        (false, true) => Outcome::Found,
        (false, false) => Outcome::Nothing,
    })
}

/// The members that were named, or those of the live cluster.
fn sources(global: &GlobalArgs, targets: &[String]) -> Result<Vec<(String, Box<dyn Source>)>> {
    if !global.files.is_empty() {
        return Err(Error::new("diff --members takes no -f").hint("name the files, or the endpoints with --endpoints"));
    }
    let (urls, paths): (Vec<&String>, Vec<&String>) = targets.iter().partition(|target| is_url(target));
    let mut sources = Vec::new();
    for path in paths {
        sources.push((path.clone(), ketcd_store::load::open_within(std::slice::from_ref(path), &limits(global), &|_| None)?));
    }
    if targets.is_empty() || !urls.is_empty() {
        let mut flags = global.connection.clone();
        flags.endpoints.extend(urls.into_iter().flat_map(|urls| urls.split(',')).map(str::to_owned));
        let config = connection::config(&flags, Attendance::User)?;
        for endpoint in &config.endpoints {
            let of_one = EtcdConfig { endpoints: vec![endpoint.clone()], consistency: ReadConsistency::Serializable, ..config.clone() };
            let source = EtcdSource::new(of_one, Arc::new(|notice: &str| note(notice)))?;
            sources.push((endpoint.clone(), Box::new(source) as Box<dyn Source>));
        }
    }
    if sources.len() < 2 {
        return Err(Error::new("diff --members needs two members or more").hint("name their files, or all endpoints with --endpoints"));
    }
    if let Some((name, _)) = sources.iter().find(|(_, source)| source.is_one_moment()) {
        return Err(Error::new(format!("{name} holds API objects, not the keys of a member")).hint("name snapshots or data dirs"));
    }
    Ok(sources)
}

/// Refuses members that say they are of different clusters. A file's status waits for its checksum, which is not asked for that.
async fn of_one_cluster(members: &[Member]) -> Result<()> {
    let mut first: Option<(&str, String)> = None;
    for member in members.iter().filter(|member| is_url(&member.name) || member.source.member().is_some()) {
        let Some(id) = member.source.status().await?.cluster_id else { continue };
        match &first {
            Some((name, known)) if *known != id => {
                let problem = format!("{name} is of cluster {known}, {} of cluster {id}", member.name);
                return Err(Error::new(problem).hint("name the members of one cluster"));
            }
            Some(_) => {}
            None => first = Some((&member.name, id)),
        }
    }
    Ok(())
}

/// The revision that is asked for, or the newest that all members have.
fn common_revision(global: &GlobalArgs, members: &[Member]) -> Result<Revision> {
    let [_, _, ..] = members else {
        return Err(Error::new("fewer than two members could be read").hint("see the messages above about the others"));
    };
    let newest = members.iter().min_by_key(|member| member.span.newest).unwrap_or(&members[0]);
    let revision = match revision_asked(global)? {
        At::Newest => newest.span.newest,
        At::Revision(asked) if asked > newest.span.newest => {
            return Err(Error::new(format!("{} has no revision {asked} yet: its newest is {}", newest.name, newest.span.newest)));
        }
        At::Revision(asked) => asked,
    };
    match members.iter().max_by_key(|member| member.span.oldest).filter(|member| member.span.oldest > revision) {
        None => Ok(revision),
        Some(oldest) => Err(Error::new(format!(
            "the members have no revision in common: {} can be read up to {revision}, {} from {} on",
            newest.name, oldest.name, oldest.span.oldest
        ))),
    }
}

async fn compare(members: &[Member], revision: Revision) -> Result<Comparison> {
    let mut keys: BTreeMap<Bytes, Vec<Option<KeyVersion>>> = BTreeMap::new();
    for (place, member) in members.iter().enumerate() {
        let mut entries = member.source.range(KeyRange::all(), At::Revision(revision), Want::Values).await?.entries;
        while let Some(entry) = entries.next().await.transpose()? {
            let version = KeyVersion {
                mod_revision: entry.mod_revision,
                create_revision: entry.create_revision,
                version: entry.version,
                sha256: Sha256::digest(&entry.value).into(),
            };
            // A key that lies in a mapped file is not kept.
            let key = Bytes::copy_from_slice(&entry.key);
            keys.entry(key).or_insert_with(|| vec![None; members.len()])[place] = Some(version);
        }
    }
    let count = keys.len();
    let differences = keys.into_iter().filter(|(_, versions)| versions.iter().any(|version| *version != versions[0])).map(differing);
    let members = members.iter().map(|member| MemberSpan { name: member.name.clone(), span: member.span }).collect();
    Ok(Comparison { revision, members, keys: count, differences: differences.collect() })
}

/// The versions of a key, each with the members that hold it, those of most members first.
fn differing((key, versions): (Bytes, Vec<Option<KeyVersion>>)) -> DifferingKey {
    let mut holders: Vec<Holders> = Vec::new();
    for (member, version) in versions.into_iter().enumerate() {
        match holders.iter_mut().find(|known| known.version == version) {
            Some(known) => known.members.push(member),
            None => holders.push(Holders { version, members: vec![member] }),
        }
    }
    holders.sort_by_key(|known| std::cmp::Reverse(known.members.len()));
    DifferingKey { key: String::from_utf8_lossy(&key).into_owned(), holders }
}

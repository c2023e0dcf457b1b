//! `diff --members`: the members of a cluster, opened one by one and compared.

use std::sync::Arc;

use ketcd_cluster::diff::{MemberProblem, Members};
use ketcd_render::{json, members as render};
use ketcd_store::Source;
use ketcd_store::etcd::{EtcdConfig, EtcdSource, ReadConsistency};

use crate::cli::connection::etcd;
use crate::cli::connection::source::limits;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::source_names::is_url;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::notices::Attendance;
use crate::cli::output::{Format, Output, note};

/// Compares what the members of a cluster hold; a difference is exit 1.
pub(in crate::cli) async fn compare(global: &GlobalArgs, targets: &[String], out: &mut Output) -> Result<Outcome> {
    let mut members = Members::read(open(global, targets)?).await?;
    let is_damaged = members.are_damaged();
    for problem in members.problems.drain(..) {
        match problem {
            MemberProblem::Damaged(text) | MemberProblem::LeftOut(text) => note(&text),
            MemberProblem::Unread { name, error } => note(&format!("error: {name} is not compared: {}", Error::from(error))),
        }
    }
    let comparison = members.compare(global.revision()?).await?;
    match global.format()? {
        Format::Table | Format::Wide => render::write_text(&comparison, out)?,
        Format::Json => json::write_document(&render::document(&comparison), out)?,
        other => return Err(other.unsupported("diff --members", "table, json")),
    }
    let late = members.late_damage();
    late.iter().for_each(|problem| note(problem));
    Ok(match (is_damaged || !late.is_empty(), comparison.differences.is_empty()) {
        (true, _) => Outcome::Damaged,
        (false, true) => Outcome::Found,
        (false, false) => Outcome::Nothing,
    })
}

/// Opens the members that were named, or those of the live cluster.
fn open(global: &GlobalArgs, targets: &[String]) -> Result<Vec<(String, Box<dyn Source>)>> {
    if !global.files.is_empty() && !global.files_of_environment {
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
        let config = etcd::config(&flags, Attendance::User)?;
        for endpoint in &config.endpoints {
            let of_one = EtcdConfig { endpoints: vec![endpoint.clone()], consistency: ReadConsistency::Serializable, ..config.clone() };
            let source = EtcdSource::new(of_one, Arc::new(|notice: &str| note(notice)))?;
            sources.push((endpoint.clone(), Box::new(source) as Box<dyn Source>));
        }
    }
    if sources.len() < 2 {
        return Err(Error::new("diff --members needs two members or more").hint("name their files, or all endpoints with --endpoints"));
    }
    Ok(sources)
}

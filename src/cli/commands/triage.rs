//! `ketcd triage`: what is broken, since when and why, in one screen.

use std::io::Write;

use clap::Args;

use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use ketcd_cluster::rights::{Reads, Unaddressed};
use ketcd_cluster::triage::{absence, changed, date_loops, state, storage};
use ketcd_history::trouble::{data_troubles, storage_troubles};
use ketcd_render::contract::triage::Triage;
use ketcd_render::json;
use ketcd_render::triage::{self as render, TriagePage};
use ketcd_store::At;

/// Show what is broken, since when, why, and who changed what before
///
/// Checks nodes, pods, workloads, jobs, volumes, namespaces, webhooks, aggregated APIs, quotas, certificates, the control plane's leases,
/// and etcd itself, now or at --at or --rev. What affects the most pods comes first, and effects stand below their cause as far as the data
/// shows it. Then comes who changed what in the 15 minutes before: deployments, scale, taints, cordons, configuration, permissions,
/// webhooks, definitions. With -n, namespaced objects are limited to that namespace. -o wide shows everything in full.
#[derive(Args, Debug)]
#[command(before_help = "\
# What is broken in a live cluster, read from its etcd\n\
ketcd triage\n\
# What was broken at 22:22:55\n\
ketcd -f snapshot.db triage --at 22:22:55")]
pub(crate) struct TriageArgs {}

impl TriageArgs {
    /// What it reads.
    pub(super) fn reads(&self) -> Reads<'_> {
        Reads { unless: Unaddressed::Troubles, ..Reads::of(&[]) }
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
        return Err(session.format.unsupported("triage", "table, wide, json"));
    }
    let newest = session.source.span().await?.newest;
    let revision = match session.at {
        At::Newest => newest,
        At::Revision(revision) => revision,
    };
    let now = session.moment().await?;
    // A compaction may overtake the newest revision while much is read.
    let (mut triage, values_read) = state(session, session.at, now).await?;
    let storage = storage(session, revision, now).await?;
    // Members say how they are now.
    if session.at == At::Newest {
        triage.add(storage_troubles(&storage.status));
        triage.add(storage.hashes.iter().flat_map(data_troubles));
    }
    let counts = triage.counts();
    let absence = absence(session, session.at, values_read, counts).await?;
    let mut findings = triage.findings();
    date_loops(session, &mut findings).await?;
    let onset = findings.first().and_then(|finding| finding.since());
    let changed = changed(session, revision, now, onset).await?;
    let not_decoded = session.not_decoded();
    let is_partial = !session.source.damage().is_empty() || session.has_missed();
    session.note_missed().await?;
    let windows: Vec<_> = changed.windows.iter().map(|window| (window.from, window.to, window.is_cut)).collect();
    let page = TriagePage {
        findings: &findings,
        counts,
        now,
        revision,
        is_past: revision < newest,
        changes: &changed.changes,
        windows: &windows,
        storage: &storage,
        absence,
        not_decoded,
        is_partial,
        is_wide: session.format == Format::Wide,
        width: out.width(),
    };
    if session.format == Format::Json {
        json::write_pretty(&Triage::from(&page), out)?;
        writeln!(out)?;
    } else {
        render::page(&page, out)?;
    }
    Ok(match (not_decoded, page.absence) {
        (1.., _) => Outcome::Damaged,
        (0, Some(_)) => Outcome::Nothing,
        (0, None) => Outcome::Found,
    })
}

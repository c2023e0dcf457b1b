//! `ketcd usage`: what fills etcd, and who writes so much.

use std::io::Write;

use clap::Args;

use crate::cli::args::size;
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use ketcd_cluster::triage::resource;
use ketcd_cluster::usage::usage as read;
use ketcd_kube::{Kinds, RegistryKey};
use ketcd_render::contract::usage::{Usage, all_rows};
use ketcd_render::json;
use ketcd_render::usage::{self as render, UsagePage};

/// Show what fills etcd, and who writes so much
///
/// Counts keys, writes, deletions and bytes by resource, namespace, field manager and key, for all readable history or since --since. Shows
/// how many updates changed nothing but timestamps and managedFields; how much of what was written is still live, how fast it grows and
/// when it reaches the quota; the largest objects, with the field that makes each large; and what controllers left behind. On a live etcd
/// with a long history only keys and versions are read, unless --full is given: a key's version counts its writes. -n counts one namespace;
/// -o wide shows all rows.
#[derive(Args, Debug)]
#[command(before_help = "\
# What fills a live etcd, and who writes so much\n\
ketcd usage\n\
# What a snapshot's history is made of, and when the growth fills the quota\n\
ketcd -f snapshot.db usage --quota 8Gi")]
pub(crate) struct UsageArgs {
    /// Count writes since this time or after this revision: RFC 3339, `14:03:20`, `-10m` or `4711`. Default: all readable history.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// The quota for the estimate of days left, if etcd does not report it (before 3.6): `8Gi`.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    quota: Option<u64>,
    /// Read every value, even on a live etcd with a long history: etcd then reads its whole history, or the part after --since.
    #[arg(long)]
    full: bool,
}

/// Keys that are listed.
const KEYS: usize = 50;

/// Runs the command.
pub(super) async fn run(session: &Session, args: &UsageArgs, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Wide | Format::Json | Format::Ndjson) {
        return Err(session.format.unsupported("usage", "table, wide, json, ndjson"));
    }
    let source = session.source.status().await?;
    let gathered = read(session, args.since.as_deref(), args.full).await?;
    let (prefix, kinds) = (session.prefix().await?, Kinds::builtin());
    let usage = &gathered.usage;
    let namespace = |key: &[u8]| {
        let path = RegistryKey::parse(prefix, key, &kinds).object();
        Some(path.and_then(|path| path.namespace).unwrap_or_default().to_owned())
    };
    let mut keys = Vec::new();
    for (key, sum) in usage.busiest(KEYS) {
        keys.push((session.name_of(&key).await?, sum));
    }
    let is_part = session.args.namespace.is_some();
    let told = source.members.iter().filter_map(|member| member.db_size_quota).min();
    let page = UsagePage {
        span: gathered.span,
        times: gathered.times,
        total: usage.total(),
        before: gathered.before,
        has_bytes: gathered.has_bytes,
        stored: gathered.stored().filter(|_| !is_part),
        unseen: gathered.unseen().filter(|_| !is_part),
        compared_every: gathered.compared_every,
        quota: args.quota.or(told.and_then(|quota| u64::try_from(quota).ok()).filter(|quota| *quota > 0)),
        resources: usage.by(|key| Some(resource(prefix, key, &kinds))),
        namespaces: usage.by(namespace),
        managers: gathered.managers,
        keys,
        largest: gathered.largest,
        left: gathered.left,
        is_wide: session.format == Format::Wide,
        source,
    };
    match &session.format {
        Format::Json => {
            json::write_pretty(&Usage::from(&page), out)?;
            writeln!(out)?;
        }
        Format::Ndjson => {
            for row in all_rows(&page) {
                json::write_compact(&row, out)?;
                writeln!(out)?;
            }
        }
        _ => render::page(&page, out)?,
    }
    Ok(if page.total.keys + page.total.changes() == 0 { Outcome::Nothing } else { Outcome::Found })
}

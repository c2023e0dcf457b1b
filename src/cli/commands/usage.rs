//! `ketcd usage`: what fills etcd, and who writes so much.

use clap::Args;

use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::input::size::size;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::Search;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;
use ketcd_render::contract::usage::{Usage, all_rows};
use ketcd_render::json;
use ketcd_render::usage::{self as render, UsagePage};

/// Show what fills etcd, and who writes so much
///
/// Counts keys, writes, deletions and bytes by resource, namespace, field manager and key, for all readable history, or after --since up to --until. Shows
/// how many updates changed nothing but timestamps and managedFields; how much of what was written is still live, how fast it grows and
/// when it reaches the quota; the largest objects, with the field that makes each large; and what controllers left behind. On a live etcd
/// with a long history only keys and versions are read, unless --full is given: a key's version counts its writes. Addresses and
/// selectors count those objects alone, -n one namespace;
/// -o wide shows all rows.
#[derive(Args, Debug)]
#[command(before_help = "\
# What fills a live etcd, and who writes so much\n\
ketcd usage\n\
# What a snapshot's history is made of, and when the growth fills the quota\n\
ketcd -f snapshot.db usage --quota 8Gi")]
pub(crate) struct UsageArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key. Default: everything, or with -n all of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    /// The quota for the estimate of days left, if etcd does not report it (before 3.6): `8Gi`.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    quota: Option<u64>,
    /// Read every value, even on a live etcd with a long history: etcd then reads its whole history, or the part after --since.
    #[arg(long)]
    full: bool,
}

impl Ask for UsageArgs {
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Everything
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    /// What was written counts, be the object gone or changed.
    fn selection(&self) -> Result<Selection> {
        Ok(Selection { ever: true, ..self.select.read()? })
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Wide | Format::Json | Format::Ndjson) {
            return Err(session.format.unsupported("usage", "table, wide, json, ndjson"));
        }
        let gathered = session.cluster.usage_of(&self.addresses, self.full).await?;
        let absent = gathered.absent(&session.cluster).await?;
        Search::report_all("usage", &absent);
        let page = UsagePage::new(gathered, self.quota, session.format == Format::Wide);
        match &session.format {
            Format::Json => json::write_document(&Usage { window: session.window_in_head().await?, ..Usage::from(&page) }, out)?,
            Format::Ndjson => all_rows(&page).iter().try_for_each(|row| json::write_line(row, out))?,
            _ => render::page(&page, out)?,
        }
        Ok(if page.total.keys + page.total.changes() == 0 || !absent.is_empty() { Outcome::Nothing } else { Outcome::Found })
    }
}

//! `ketcd triage`: what is broken, since when and why, in one screen.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::changes::earlier_triage::{self, TriageTold};
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::Search;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;

/// Show what is broken, since when, why, and who changed what before
///
/// Checks nodes, pods, workloads, jobs, volumes, namespaces, webhooks, aggregated APIs, quotas, certificates, the control plane's leases,
/// and etcd itself, now or at --until, --at or --rev. The first line says how much is wrong and when. What affects the most pods comes
/// first, with who changed what before that can have caused it; effects stand below their cause as far as the data shows it. Other changes of the 15 minutes before come last, folded by author:
/// deployments, scale, taints, cordons, configuration, permissions, webhooks, definitions. Shows the state at --until, and the changes
/// after --since. With addresses or selectors, shows what such an object has, controls or brought about. With -n, namespaced objects are
/// limited to that namespace. With audit logs, --by limits the changes to those of some users. -o wide shows everything in full.
#[derive(Args, Debug)]
#[command(before_help = "\
# What is broken in a live cluster, read from its etcd\n\
ketcd triage\n\
# What was broken at 22:22:55\n\
ketcd -f snapshot.db triage --at 22:22:55")]
pub(crate) struct TriageArgs {
    /// End with exit code 1 if anything is wrong, for alerts and scripts.
    #[arg(long)]
    exit_code: bool,
    /// Show what is new, what ended and what stays since an earlier triage: FILE is its JSON (-o json). With -o json, what is printed is the next FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    since_last: Option<PathBuf>,
    /// The objects: kind/namespace/name, a kind, or a kind followed by names. Default: everything, or with -n all of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    by: ByArgs,
}

impl Ask for TriageArgs {
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Triage
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    fn selection(&self) -> Result<Selection> {
        self.select.read()
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Wide | Format::Json) {
            return Err(session.format.unsupported("triage", "table, wide, json"));
        }
        self.by.check(&session.cluster)?;
        let mut answer = session.cluster.triage_of(&self.addresses).await?;
        if !self.by.take_all() {
            answer.keep_changes(|change| self.by.takes(change));
        }
        let asked: Vec<String> = self.addresses.iter().cloned().chain(self.select.typed()).collect();
        let since_last = match &self.since_last {
            Some(file) => Some(earlier_triage::compare(file, &mut answer, session, &asked)?),
            None => None,
        };
        Search::report_all("triage", &answer.missing);
        let by = self.by.whom();
        let told = TriageTold { answer: &answer, by: by.as_deref(), asked: &asked, since_last: since_last.as_ref() };
        told.write(session, out).await?;
        let is_broken = self.exit_code && !answer.findings.is_empty();
        let is_missing = !answer.missing.is_empty();
        Ok(match (answer.not_decoded, &answer.absence) {
            (1.., _) => Outcome::Damaged,
            (0, Some(_)) => Outcome::Nothing,
            (0, None) if is_broken || is_missing => Outcome::Nothing,
            (0, None) => Outcome::Found,
        })
    }
}

//! `ketcd explain`: why a pod runs where it runs, or why it runs nowhere.

use clap::Args;

use ketcd_scheduler::Depth;
use ketcd_store::At;

use crate::cli::decisions::explanations::Writer;
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::scheduler::SchedulerArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Output, report_error};
use crate::cli::session::Session;
use crate::cli::session::absence::Search;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::explain::Pods;
use ketcd_cluster::rights::Question;

/// Explain why a pod runs on its node, or why it runs on none
///
/// Finds the pod's last scheduling attempt in the history, restores the state that the scheduler saw, and runs the filters and scores of that
/// scheduler's release on it. The answer says which plugin refused which node and what made the difference between the others, compares the
/// result with what was recorded, and names the evidence that etcd does not hold. For a pod that found no node, it also shows the smallest
/// changes that would make it fit. Looks at the decisions after --since, up to --until.
#[derive(Args, Debug)]
#[command(before_help = "\
# Why a pod runs on its node, or on none\n\
ketcd -f snapshot.db explain pod/lab/spread-5\n\
# Why it does not run on this node\n\
ketcd -f snapshot.db explain pod/lab/weighted --node node4")]
pub(crate) struct ExplainArgs {
    /// Pods, as kind/namespace/name or a kind followed by names; for a table of the last decision about each: pods, or what owns them, such
    /// as deploy/shop/web, or all of a kind.
    #[arg(value_name = "ADDRESS", required_unless_present = "all")]
    addresses: Vec<String>,
    /// Explain every decision in the readable history, with -n those about pods of the namespace, not only the last one of each pod.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    scheduler: SchedulerArgs,
    /// Show only this node, in depth.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Do not look for changes that would make the pod fit.
    #[arg(long)]
    no_remedies: bool,
}

impl Ask for ExplainArgs {
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Decisions(&self.addresses)
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    fn selection(&self) -> Result<Selection> {
        Ok(Selection { ever: true, ..self.select.read()? })
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let failed = |error| failed(error, session.cluster.at != At::Newest);
        let pods = Pods::read(&session.cluster, &self.addresses).await.map_err(failed)?;
        let explainer = self.scheduler.explainer(&session.cluster).await?;
        let mut writer = Writer::new(session, self.node.as_deref(), (self.all, pods.are_many()), out).await?;
        if pods.are_listed() && !self.all {
            let remedies = !self.no_remedies && !writer.is_text();
            let decisions = explainer.with_depth(Depth::Verdicts).with_remedies(remedies).decisions();
            return writer.write_last(session, decisions, &pods).await;
        }
        let mut explainer = explainer.with_depth(writer.depth()).with_remedies(!self.no_remedies);
        if self.all {
            let mut decisions = explainer.decisions();
            writer.write_all(&mut decisions, &pods).await?;
            return writer.finish(session, decisions.unreadable()).await;
        }
        let (mut unreadable, mut is_missing) = (0, false);
        for (namespace, name) in pods.named() {
            let mut explained = match ketcd_what_if::explain_pod(&mut explainer, namespace, name).await {
                // The others are explained all the same.
                Err(error) if error.is_nothing() && pods.are_many() => {
                    report_error(&failed(error));
                    is_missing = true;
                    continue;
                }
                explained => explained.map_err(failed)?,
            };
            if explained.keep_after(session.cluster.counted_after()) {
                writer.write_one(session, &explained).await?;
            }
            unreadable += explained.replay.unreadable();
            if !pods.are_many() {
                // Freeing a large cluster takes half a second.
                session.let_go(explained);
            }
        }
        let outcome = writer.finish(session, unreadable).await?;
        Ok(if is_missing && outcome == Outcome::Found { Outcome::Nothing } else { outcome })
    }
}

/// What an explanation failed with, and what to do next: `is_past` says that another revision than the newest is looked at.
fn failed(error: ketcd_cluster::Error, is_past: bool) -> Error {
    let hint = match &error {
        ketcd_cluster::Error::NotFound(not_found) => {
            return Search { command: "explain", words: &[], looked: not_found.looked }.error(not_found);
        }
        ketcd_cluster::Error::UnreadablePod { pod: (namespace, name), revision, .. } => {
            let command = invocation().ketcd("get").word(&format!("pod/{namespace}/{name}")).and("-o json");
            let command = if is_past { command.and("--rev").word(&revision.to_string()) } else { command };
            format!("what is stored: {command}")
        }
        _ => return error.into(),
    };
    Error::from(error).hint(hint)
}

//! `ketcd explain`: why a pod runs where it runs, or why it runs nowhere.

mod listed;
mod writer;

use clap::Args;

use ketcd_scheduler::{Depth, Replay};
use ketcd_store::At;

use crate::cli::absence::Search;
use crate::cli::output::Output;
use crate::cli::scheduler::SchedulerArgs;
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::explain::{Explained, Pods, explain_pod};
use ketcd_cluster::replay::Feed;
use ketcd_cluster::rights::Question;
use ketcd_render::command_line::CommandLine;

use ketcd_render::explanation::SinceRefusal;

use writer::Writer;

/// Explain why a pod runs on its node, or why it runs on none
///
/// Finds the pod's last scheduling attempt in the history, restores the state that the scheduler saw, and runs the filters and scores of that
/// scheduler's release on it. The answer says which plugin refused which node and what made the difference between the others, compares the
/// result with what was recorded, and names the evidence that etcd does not hold. For a pod that found no node, it also shows the smallest
/// changes that would make it fit.
#[derive(Args, Debug)]
#[command(before_help = "\
# Why a pod runs on its node, or on none\n\
ketcd -f snapshot.db explain pod/lab/spread-5\n\
# Why it does not run on this node\n\
ketcd -f snapshot.db explain pod/lab/weighted --node node4")]
pub(crate) struct ExplainArgs {
    /// Pods: pod/shop/web-0, or pod web-0 -n shop. For a table of the last decision about each: pods -n shop, pods -A, or what owns them,
    /// such as deploy/shop/web.
    #[arg(value_name = "ADDRESS", required_unless_present = "all")]
    addresses: Vec<String>,
    /// Explain every decision in the readable history, not only the last one of each pod.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scheduler: SchedulerArgs,
    /// Show only this node, in depth.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Do not look for changes that would make the pod fit.
    #[arg(long)]
    no_remedies: bool,
}

impl ExplainArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::Decisions(&self.addresses)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &ExplainArgs, out: &mut Output) -> Result<Outcome> {
    let is_past = session.at != At::Newest;
    let failed = |error| failed(error, is_past);
    let mut feed = Feed::new(session).await?;
    let pods = Pods::read(session, &args.addresses).await.map_err(failed)?;
    let span = session.source.span().await?;
    let until = match session.at {
        At::Newest => span.newest,
        At::Revision(revision) => revision,
    };
    let scheduler = args.scheduler.scheduler(&mut feed, until).await?;
    let mut writer = Writer::new(session, args, pods.are_many(), out).await?;
    let depth = writer.depth();
    let mut unreadable = 0;
    if pods.are_listed() && !args.all {
        let remedies = !args.no_remedies && !writer.is_text();
        let replay = Replay::new(scheduler, session.is_complete_from(span.oldest)).with_depth(Depth::Verdicts).with_remedies(remedies);
        return listed::run((session, &mut feed), replay, &pods, (span.oldest, until), &mut writer).await;
    }
    if args.all {
        let mut replay = Replay::new(scheduler, session.is_complete_from(span.oldest)).with_depth(depth).with_remedies(!args.no_remedies);
        feed.seed(&mut replay, span.oldest, span.oldest).await?;
        let walked = feed.walk(&mut replay, span.oldest.after(), until, |replay, attempt| {
            if pods.wants(&attempt.pod.namespace, &attempt.pod.name) {
                let explanation = replay.explain(attempt);
                writer.write(&explanation, &[], None, replay)?;
            } else {
                replay.skip(&attempt);
            }
            Ok::<(), Error>(())
        });
        walked.await?;
        unreadable = replay.unreadable();
    } else {
        for (namespace, name) in pods.named() {
            let (how, revisions) = ((&depth, !args.no_remedies), (span.oldest, until));
            let explained = explain_pod(&mut feed, session, &scheduler, how, revisions, namespace, name).await;
            let Explained { explanation, refusals, since, replay } = explained.map_err(failed)?;
            writer.date(session, &explanation, &refusals).await?;
            writer.write(&explanation, &refusals, since.as_ref().map(SinceRefusal::from).as_ref(), &replay)?;
            unreadable += replay.unreadable();
            // Freeing a large cluster takes half a second, for which nothing waits: the process may end before.
            std::thread::spawn(|| drop(replay));
        }
    }
    writer.finish(unreadable, args.all)
}

/// What an explanation failed with, and what to do next: `is_past` says that another revision than the newest is looked at.
fn failed(error: ketcd_cluster::Error, is_past: bool) -> Error {
    let hint = match &error {
        ketcd_cluster::Error::NotFound(not_found) => return Search { command: "explain", looked: not_found.looked }.error(not_found),
        ketcd_cluster::Error::UnreadablePod { pod: (namespace, name), revision, .. } => {
            let command = CommandLine::ketcd("get").word(&format!("pod/{namespace}/{name}")).and("-o json");
            let command = if is_past { command.and("--rev").word(&revision.to_string()) } else { command };
            format!("what is stored: {command}")
        }
        _ => return error.into(),
    };
    Error::from(error).hint(hint)
}

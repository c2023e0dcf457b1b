//! `ketcd explain`: why a pod runs where it runs, or why it runs nowhere.

mod listed;
mod pods;
mod since;
mod writer;

use clap::Args;

use ketcd_scheduler::cluster::{ObjectKey, WatchedKind};
use ketcd_scheduler::{Attempt, Depth, Explanation, Replay, Scheduler};
use ketcd_store::{At, Revision};

use crate::cli::output::Output;
use crate::cli::replay::Feed;
use crate::cli::rights::{Beside, Reads, Unaddressed};
use crate::cli::scheduler::SchedulerArgs;
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result, absence};
use ketcd_render::command_line::CommandLine;

use ketcd_render::explanation::SinceRefusal;

use pods::Pods;
use since::since_refusal;
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
    /// Only this node, in depth.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Do not look for changes that would make the pod fit.
    #[arg(long)]
    no_remedies: bool,
}

/// Revisions beyond which a history is not walked as a whole for one answer.
const LONG: i64 = 100_000;

impl ExplainArgs {
    /// What it reads.
    pub(super) fn reads(&self) -> Reads<'_> {
        Reads { words: &self.addresses, unless: Unaddressed::Nothing, beside: Beside::Scheduling, past: true }
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &ExplainArgs, out: &mut Output) -> Result<Outcome> {
    let mut feed = Feed::new(session).await?;
    let pods = Pods::read(session, &args.addresses).await?;
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
            Ok(())
        });
        walked.await?;
        unreadable = replay.unreadable();
    } else {
        for (namespace, name) in pods.named() {
            let Explained { explanation, refusals, since, replay } =
                one(&mut feed, session, &scheduler, (&depth, !args.no_remedies), (span.oldest, until), namespace, name).await?;
            writer.date(session, &explanation, &refusals).await?;
            writer.write(&explanation, &refusals, since.as_ref(), &replay)?;
            unreadable += replay.unreadable();
            // Freeing a large cluster takes half a second, for which nothing waits: the process may end before.
            std::thread::spawn(|| drop(replay));
        }
    }
    writer.finish(unreadable, args.all)
}

/// A pod explained: its last attempt or, where something was written since that refused it, the one to come.
struct Explained {
    explanation: Explanation,
    /// The refusals before it.
    refusals: Vec<Attempt>,
    /// What was written after the last refusal.
    since: Option<SinceRefusal>,
    replay: Replay,
}

/// Explains one pod: its last attempt, or the one to come, with the refusals before it.
async fn one(
    feed: &mut Feed<'_>,
    session: &Session,
    scheduler: &Scheduler,
    (depth, remedies): (&Depth, bool),
    (oldest, until): (Revision, Revision),
    namespace: &str,
    name: &str,
) -> Result<Explained> {
    let key = ObjectKey { kind: WatchedKind::Pod, namespace: namespace.into(), name: name.into() };
    let mut attempts = if session.at == At::Newest { feed.attempts(&key, scheduler, oldest, until).await? } else { Vec::new() };
    let is_entered_midway = session.source.is_shared() && session.is_long().await?;
    let complete = session.is_complete_from(oldest) && !is_entered_midway;
    let mut replay = Replay::new(scheduler.clone(), complete).with_depth(depth.clone()).with_remedies(remedies);
    let is_refused = |attempt: &Attempt| attempt.outcome == ketcd_scheduler::AttemptOutcome::Unschedulable;
    let since = match attempts.last() {
        Some((_, last, shown)) if is_refused(last) => {
            since_refusal(session, (namespace, name), (Revision(last.revision), *shown, until)).await?
        }
        _ => None,
    };
    if let Some((begun, last, shown)) = attempts.pop().filter(|_| since.is_none()) {
        let refusals = attempts.into_iter().map(|(_, attempt, _)| attempt).filter(is_refused).collect();
        let revision = last.revision;
        let mut found = None;
        let each = |replay: &mut Replay, attempt: Attempt| {
            if attempt.revision == revision && *attempt.pod.namespace == *namespace && *attempt.pod.name == *name {
                found = Some(replay.explain(attempt));
            } else {
                replay.skip(&attempt);
            }
            Ok(())
        };
        if is_entered_midway {
            feed.walk_between(&mut replay, (begun, shown), each).await?;
        } else {
            // Some of what the scheduler's cache keeps depends on every attempt before; only a history too long to walk is entered midway.
            let begun = if shown.0 - oldest.0 <= LONG { oldest } else { begun };
            feed.seed(&mut replay, oldest, begun).await?;
            feed.walk(&mut replay, begun.after(), shown, each).await?;
        }
        let found = found.ok_or_else(|| Error::new(format!("pod {namespace}/{name}: its attempt at r{revision} was not found again")))?;
        let is_walked = !is_entered_midway && until.0 - shown.0 <= LONG && !session.is_long().await?;
        if is_refused(&found.attempt) && is_walked {
            feed.walk(&mut replay, shown.after(), until, |replay, attempt| {
                replay.skip(&attempt);
                Ok(())
            })
            .await?;
            if let Some(explanation) = fits_now(&mut replay, namespace, name, until) {
                let since = SinceRefusal { refused_revision: revision, written_revision: revision, ..SinceRefusal::default() };
                return Ok(Explained { explanation, refusals, since: Some(since), replay });
            }
        }
        return Ok(Explained { explanation: found, refusals, since: None, replay });
    }
    match is_entered_midway {
        true => feed.seed_state(&mut replay, until).await?,
        false => feed.seed(&mut replay, oldest, until).await?,
    }
    let Some(pod) = replay.state().pod(namespace, name).cloned() else {
        let object = format!("pods/{namespace}/{name}");
        if let Some(problem) = replay.state().problems().find(|problem| problem.object == object) {
            return Err(Error::new(format!("pod {namespace}/{name}: {} (revision {until})", problem.what))
                .hint(format!("what is stored: {}", stored(session, namespace, name, until))));
        }
        return Err(absence::no_pod(session, "explain", namespace, name).await?);
    };
    let explanation = if pod.node_name.is_some() { replay.explain_bound(&pod, until.0) } else { replay.explain_waiting(&pod, until.0) };
    Ok(Explained { explanation, refusals: Vec::new(), since, replay })
}

/// The evaluation of a pod that still waits, on the state as it is, where a node fits now.
fn fits_now(replay: &mut Replay, namespace: &str, name: &str, until: Revision) -> Option<Explanation> {
    let pod = replay.state().pod(namespace, name).filter(|pod| pod.node_name.is_none())?.clone();
    let explanation = replay.explain_waiting(&pod, until.0);
    let judgement = &explanation.judgement;
    (judgement.whole_pod.is_none() && judgement.nodes.iter().any(|node| node.fits())).then_some(explanation)
}

/// The command that shows a pod as it is stored.
fn stored(session: &Session, namespace: &str, name: &str, revision: Revision) -> CommandLine {
    let command = CommandLine::ketcd("get").word(&format!("pod/{namespace}/{name}")).and("-o json");
    if session.at == At::Newest { command } else { command.and("--rev").word(&revision.to_string()) }
}

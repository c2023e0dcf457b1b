//! The scheduling decisions of a report: evaluated where the cluster is small enough, else as they are recorded.

use ketcd_scheduler::{Replay, Scheduler};
use ketcd_store::{At, KeyRange, Revision};

use ketcd_render::explanation::version_evidence;
use ketcd_render::report::Report;

use crate::cli::session::Session;
use crate::cli::{Error, Result};
use ketcd_cluster::read::Keys;
use ketcd_cluster::replay::Feed;

/// Evaluating a decision takes the state of the whole cluster, some 2 KB of heap for each pod; of more pods than this it is done for pods that are
/// named one by one.
const PODS: u64 = 20_000;

/// Adds every scheduling decision to its pod's row; returns what the reader must know of them.
pub(super) async fn add(session: &Session, report: &mut Report, keys: &Keys, newest: Revision) -> Result<Vec<String>> {
    if session.is_long().await? {
        if !report.has_attempts() {
            return Ok(Vec::new());
        }
        let prefix = session.prefix().await?;
        let are_named = !keys.addresses.is_empty() && keys.addresses.iter().all(|address| address.key(prefix).1);
        let pods = KeyRange::prefix(format!("{prefix}/pods/"));
        if !are_named && session.source.count(pods, At::Revision(newest)).await? > PODS {
            report.show_recorded_decisions()?;
            let recorded = "Scheduling decisions are shown as they are recorded: evaluating them takes the state of the whole cluster, which is \
                            large; ketcd explain pod/NAMESPACE/NAME evaluates those of a pod.";
            return Ok(vec![recorded.to_owned()]);
        }
    }
    evaluate(session, report, newest).await
}

async fn evaluate(session: &Session, report: &mut Report, newest: Revision) -> Result<Vec<String>> {
    let mut feed = Feed::new(session).await?;
    let span = session.source.span().await?;
    let clock = session.clock().await?;
    let version = feed.version(newest).await?;
    let note = format!(
        "Decisions are evaluated with the default configuration of kube-scheduler {} ({}); its own is not stored in etcd.",
        version.release,
        version_evidence(&version.evidence)
    );
    let scheduler = Scheduler::with_defaults(version);
    let mut replay = Replay::new(scheduler, session.is_complete_from(span.oldest));
    feed.seed(&mut replay, span.oldest, span.oldest).await?;
    let mut found = false;
    feed.walk(&mut replay, span.oldest.after(), newest, |replay, attempt| {
        if report.shows(&attempt.pod.uid) {
            let explanation = replay.explain(attempt);
            let mode = replay.scheduler().profile_for(&explanation.attempt.pod).0.filter_mode;
            report.decision(&explanation, mode, clock.date(Revision(explanation.attempt.revision)))?;
            found = true;
        }
        Ok::<(), Error>(())
    })
    .await?;
    Ok(if found { vec![note] } else { Vec::new() })
}

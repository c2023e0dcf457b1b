//! `ketcd explain pods`: the last decision about each pod of a namespace, or of all, in one walk over the history.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use ketcd_render::explanation::table::{self, Line};
use ketcd_render::explanation::text::Summary;
use ketcd_scheduler::cluster::PodInfo;
use ketcd_scheduler::{Explanation, Replay};
use ketcd_store::Revision;

use crate::cli::output::{Format, note};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::replay::Feed;

use super::writer::{Writer, outcome};
use ketcd_cluster::explain::Pods;

/// What is kept of a pod's last decision until the walk ends.
struct Last {
    /// The pod decided on, which may have been another of that name.
    uid: Arc<str>,
    shown: ListedDecision,
}

enum ListedDecision {
    Line(Line),
    /// A JSON document.
    Document(Vec<u8>),
}

/// The last decision about each pod.
struct Decisions<'w, 'a> {
    writer: &'w mut Writer<'a>,
    by_pod: BTreeMap<(Arc<str>, Arc<str>), Last>,
    summary: Summary,
}

impl Decisions<'_, '_> {
    /// Keeps an explanation in place of an earlier one of its pod.
    fn keep(&mut self, explanation: &Explanation, replay: &Replay) -> Result<()> {
        let shown = if self.writer.is_text() {
            ListedDecision::Line(Line::new(explanation))
        } else {
            let mut document = Vec::new();
            self.writer.document(explanation, None, replay, &mut document)?;
            ListedDecision::Document(document)
        };
        self.summary.assume(explanation);
        let pod = &explanation.attempt.pod;
        self.by_pod.insert(pod.key(), Last { uid: pod.uid.clone(), shown });
        Ok(())
    }

    /// Explains the pods that are there at the end of the walk without a decision of theirs having been seen, and notes who still waits.
    fn complete(&mut self, pods: &Pods, replay: &mut Replay, until: Revision) -> Result<()> {
        let wanted = |pod: &&Arc<PodInfo>| pods.wants(&pod.namespace, &pod.name);
        let there: Vec<Arc<PodInfo>> = replay.state().pods().filter(wanted).cloned().collect();
        for pod in there {
            match self.by_pod.get_mut(&pod.key()).filter(|last| last.uid == pod.uid) {
                Some(Last { shown: ListedDecision::Line(line), .. }) if pod.node_name.is_none() && !pod.finished => line.waits(),
                Some(_) => {}
                None => {
                    let bound = pod.node_name.is_some();
                    let explanation = if bound { replay.explain_bound(&pod, until.0) } else { replay.explain_waiting(&pod, until.0) };
                    self.keep(&explanation, replay)?;
                }
            }
        }
        Ok(())
    }
}

/// Walks from the oldest revision to `until` and writes the last decision about each of the pods.
pub(super) async fn run(
    (session, feed): (&Session, &mut Feed<'_>),
    mut replay: Replay,
    pods: &Pods,
    (oldest, until): (Revision, Revision),
    writer: &mut Writer<'_>,
) -> Result<Outcome> {
    let mut decisions = Decisions { writer, by_pod: BTreeMap::new(), summary: Summary::default() };
    feed.seed(&mut replay, oldest, oldest).await?;
    let walked = feed.walk(&mut replay, oldest.after(), until, |replay, attempt| {
        if pods.wants(&attempt.pod.namespace, &attempt.pod.name) {
            let explanation = replay.explain(attempt);
            decisions.keep(&explanation, replay)?;
        } else {
            replay.skip(&attempt);
        }
        Ok::<(), Error>(())
    });
    walked.await?;
    decisions.complete(pods, &mut replay, until)?;
    for unread in replay.state().unreadable_pods().filter(|pod| pods.wants(&pod.key.namespace, &pod.key.name)) {
        note(&unread.to_string());
    }
    let Decisions { writer, by_pod, mut summary } = decisions;
    if by_pod.is_empty() {
        note("nothing found: no such pods, and no scheduling decision about them in the readable history");
    }
    let found = by_pod.len();
    let lines: Vec<&Line> =
        by_pod.values().filter_map(|last| if let ListedDecision::Line(line) = &last.shown { Some(line) } else { None }).collect();
    if !lines.is_empty() {
        let shown = writer.shown();
        table::write(lines.iter().copied(), session.args.all_namespaces, shown, writer.out)?;
        lines.iter().filter_map(|line| line.agreement()).for_each(|agreement| summary.count(agreement));
        summary.write(shown, writer.out)?;
    }
    for last in by_pod.values() {
        if let ListedDecision::Document(document) = &last.shown {
            writer.separate()?;
            writer.out.write_all(document)?;
        }
    }
    if writer.format == Format::Json {
        writer.end_list()?;
    }
    Ok(outcome(found, replay.unreadable()))
}

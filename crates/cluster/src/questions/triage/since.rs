//! Since when a container ends again and again, and a rollout goes on: the object says only how it is now, earlier versions when that began.

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::trouble::TroubleKind;
use ketcd_history::trouble::triage::Finding;
use ketcd_store::{KeyRange, KeyValue, Revision, Want};

use crate::cluster::{Cluster, built_in};
use crate::error::Result;
use crate::read::walk_back;

/// How many findings are dated, and how many versions of one pod are read.
const MAX_FINDINGS_DATED: usize = 6;
const MAX_POD_VERSIONS: usize = 120;

/// Dates the crash loops among the first findings from the first end of their container that can be read. Where that was not its first end, the loop may
/// have begun earlier.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn date_loops(cluster: &Cluster, findings: &mut [Finding]) -> Result<()> {
    if cluster.source.is_one_moment() {
        return Ok(());
    }
    for finding in findings.iter_mut().take(MAX_FINDINGS_DATED).filter(|finding| finding.trouble.kind == TroubleKind::CrashLooping) {
        let (Some(pod), Some(container)) = (finding.subjects.first(), finding.trouble.about.first()) else { continue };
        let kind = built_in().find("pods");
        let Ok(kind) = kind else { continue };
        let key = kind.key(cluster.prefix().await?, Some(&pod.namespace), &pod.name);
        if let Some(first) = first_end(cluster, key, container).await? {
            finding.date(Some(first.time), first.number != Some(1));
        }
    }
    Ok(())
}

/// Dates the unfinished rollouts among the first findings and their effects from the version that set the template, where that can be read.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn date_rollouts(cluster: &Cluster, findings: &mut [Finding]) -> Result<()> {
    if cluster.source.is_one_moment() {
        return Ok(());
    }
    let mut waiting: Vec<&mut Finding> = findings.iter_mut().take(MAX_FINDINGS_DATED).collect();
    while let Some(finding) = waiting.pop() {
        if let (TroubleKind::RolloutUnfinished, Some(workload)) = (finding.trouble.kind, finding.subjects.first())
            && let Ok(kind) = built_in().find(&workload.kind.to_lowercase())
        {
            let key = kind.key(cluster.prefix().await?, Some(&workload.namespace), &workload.name);
            if let Some(begun) = template_set(cluster, key).await? {
                let begun = cluster.clock_around(&[begun], &[]).await?.date(begun);
                finding.date(begun.map(|dated| dated.time), false);
            }
        }
        waiting.extend(&mut finding.effects);
    }
    Ok(())
}

/// The revision that gave a workload its pod template; `None` where it can no longer be read.
async fn template_set(cluster: &Cluster, key: String) -> Result<Option<Revision>> {
    let Some(newest) = cluster.source.first(KeyRange::key(key), cluster.at, Want::Values, 1).await?.pop() else { return Ok(None) };
    let mut versions = walk_back(cluster.source.as_ref(), newest).take(MAX_POD_VERSIONS);
    let mut first: Option<(Value, KeyValue)> = None;
    while let Some(entry) = versions.try_next().await? {
        let decoded = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
        let Some(template) = decoded.object().map(|workload| workload["spec"]["template"].clone()) else { return Ok(None) };
        match &first {
            Some((newest, oldest)) if *newest != template => return Ok(Some(oldest.mod_revision)),
            _ => first = Some((template, entry)),
        }
    }
    // A creation sets it, too.
    Ok(first.filter(|(_, oldest)| oldest.version == 1).map(|(_, oldest)| oldest.mod_revision))
}

/// One end of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContainerEnd {
    /// When it ended.
    time: Timestamp,
    /// Which of its ends that was, the first being 1; `None` where the pod does not count restarts.
    number: Option<i64>,
}

/// The first end of a container that the versions of its pod show, backwards from the one looked at.
async fn first_end(cluster: &Cluster, key: String, container: &str) -> Result<Option<ContainerEnd>> {
    let newest = cluster.source.first(KeyRange::key(key), cluster.at, Want::Values, 1).await?.pop();
    let Some(newest) = newest else { return Ok(None) };
    let mut versions = walk_back(cluster.source.as_ref(), newest).take(MAX_POD_VERSIONS);
    let mut first = None;
    while let Some(entry) = versions.try_next().await? {
        let decoded = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
        let Some(status) = decoded.object().and_then(|pod| status_of(pod, container)) else { break };
        first = last_end(status).or(first);
        if restarts(status) == Some(0) {
            break;
        }
    }
    Ok(first)
}

/// The status of a container; `None` where the pod does not show it.
fn status_of<'p>(pod: &'p Value, container: &str) -> Option<&'p Value> {
    let lists = ["initContainerStatuses", "containerStatuses"].into_iter().filter_map(|list| pod["status"][list].as_array());
    lists.flatten().find(|status| status["name"] == container)
}

/// How often a container was restarted; a count of 0 may be left out.
fn restarts(status: &Value) -> Option<i64> {
    if status["restartCount"].is_null() { Some(0) } else { status["restartCount"].as_i64() }
}

/// The end before the container's newest start, or while it waits to be started again, its last one; else the end that it is in.
fn last_end(status: &Value) -> Option<ContainerEnd> {
    let end = |state: &str| status[state]["terminated"]["finishedAt"].as_str()?.parse::<Timestamp>().ok();
    // It was started once more than it was restarted.
    let of_newest_start = restarts(status).map(|restarts| restarts + 1);
    let is_waiting = !status["state"]["waiting"].is_null();
    let before = || restarts(status).map(|restarts| restarts.max(1));
    let number_of_last = if is_waiting { of_newest_start } else { before() };
    let last = end("lastState").map(|time| ContainerEnd { time, number: number_of_last });
    last.or_else(|| end("state").map(|time| ContainerEnd { time, number: of_newest_start }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_number_of_an_end_follows_from_state_and_restarts() {
        const END: &str = "2026-11-20T22:17:05Z";
        let number = |state: Value, last: Value, restarts: Value| {
            let status = json!({"name": "c", "state": state, "lastState": last, "restartCount": restarts});
            last_end(&status).map(|end| (end.time.to_string(), end.number))
        };
        let ended = || json!({"terminated": {"finishedAt": END, "exitCode": 1}});
        let (running, waiting) = (json!({"running": {}}), json!({"waiting": {"reason": "CrashLoopBackOff"}}));
        let numbered = |number| Some((END.to_owned(), Some(number)));
        assert_eq!(number(ended(), json!({}), json!(0)), numbered(1), "it has just ended");
        assert_eq!(number(running.clone(), ended(), json!(1)), numbered(1), "it was restarted");
        assert_eq!(number(waiting.clone(), ended(), json!(0)), numbered(1), "it waits for its first restart");
        assert_eq!(number(waiting, ended(), json!(1)), numbered(2), "it ended again, and waits");
        assert_eq!(number(running.clone(), ended(), json!(6)), numbered(6));
        assert_eq!(number(running.clone(), json!({}), json!(0)), None);
        assert_eq!(number(running, ended(), Value::Null), numbered(1), "a count of 0 is left out");
    }
}

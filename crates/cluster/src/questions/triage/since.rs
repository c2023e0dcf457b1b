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

/// Dates the crash loops among the first findings from the first end of their container that can be read.
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
            finding.date(Some(first));
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
                finding.date(begun.map(|dated| dated.time));
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

/// The first end of a container that the versions of its pod show, backwards from the one looked at.
async fn first_end(cluster: &Cluster, key: String, container: &str) -> Result<Option<Timestamp>> {
    let newest = cluster.source.first(KeyRange::key(key), cluster.at, Want::Values, 1).await?.pop();
    let Some(newest) = newest else { return Ok(None) };
    let mut versions = walk_back(cluster.source.as_ref(), newest).take(MAX_POD_VERSIONS);
    let mut first = None;
    while let Some(entry) = versions.try_next().await? {
        let decoded = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
        let Some((ended, restarts)) = decoded.object().and_then(|pod| ends(pod, container)) else { break };
        first = ended.or(first);
        if restarts == 0 {
            break;
        }
    }
    Ok(first)
}

/// When a container ended last, and how often it was restarted; `None` where the pod does not show the container.
fn ends(pod: &Value, container: &str) -> Option<(Option<Timestamp>, i64)> {
    let lists = ["initContainerStatuses", "containerStatuses"].into_iter().filter_map(|list| pod["status"][list].as_array());
    let status = lists.flatten().find(|status| status["name"] == container)?;
    let end = |state: &Value| state["terminated"]["finishedAt"].as_str()?.parse::<Timestamp>().ok();
    Some((end(&status["lastState"]).or_else(|| end(&status["state"])), status["restartCount"].as_i64().unwrap_or(0)))
}

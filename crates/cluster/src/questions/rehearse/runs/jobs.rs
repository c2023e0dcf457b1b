//! Jobs that had not ended in the backup and have since: they would run again.
//!
//! The Job controller makes pods until as many have succeeded as `spec.completions` asks for (k8s.io/kubernetes v1.36.3,
//! `pkg/controller/job/job_controller.go`, `manageJob`), and counts those that it saw end in `status`, which goes back. A pod of the backup that still
//! exists as ended is reported once more by the kubelet that knows its containers (`pkg/kubelet/status/status_manager.go`, `needsReconcile`), and
//! counts without a second run; one that was deleted starts again.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{Pair, affected, controller, counted, is_deleted, items, names, pairs, text};
use super::super::states::States;
use crate::error::Result;
use crate::verify::Weight;

/// Returns which Jobs run again.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let Some(newest) = &states.newest else { return alone(states).await };
    let mut jobs: Vec<EndedJob> = Vec::new();
    for pair in pairs(states, "/jobs/") {
        let Some(before) = pair.before.as_ref().filter(|job| is_to_run(job)) else { continue };
        let what = match &pair.after {
            Some(after) if pair.is_same() => match ended(after) {
                Some(how) => how,
                None => continue,
            },
            _ => "is gone",
        };
        let affected = pair.affected_then(format!("{what} since, and had not ended in the backup"));
        jobs.push(EndedJob { affected, missing: missing(before) });
    }
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let reported = reported(states, &names(newest, "/minions/").await?);
    jobs.retain(|job| reported.get(&job.affected.uid).copied().unwrap_or(0) < job.missing);
    Ok(again(jobs.into_iter().map(|job| job.affected).collect()).into_iter().collect())
}

/// A Job that ended since.
struct EndedJob {
    affected: Affected,
    /// How many of its pods have to succeed still.
    missing: i64,
}

/// By the uid of a Job, how many of its pods are still there as having succeeded since, so that their kubelets report them once more.
fn reported(states: &States<'_>, nodes: &BTreeSet<String>) -> HashMap<String, i64> {
    let mut reported: HashMap<String, i64> = HashMap::new();
    for pair in pairs(states, "/pods/").filter(Pair::is_same) {
        let (Some(before), Some(after)) = (&pair.before, &pair.after) else { continue };
        let has_succeeded = text(after, "/status/phase") == "Succeeded" && text(before, "/status/phase") != "Succeeded";
        if let Some(owner) = controller(before).filter(|_| has_succeeded && nodes.contains(text(after, "/spec/nodeName"))) {
            *reported.entry(text(owner, "/uid").to_owned()).or_default() += 1;
        }
    }
    reported
}

fn again(jobs: Vec<Affected>) -> Option<Forecast> {
    if jobs.is_empty() {
        return None;
    }
    let count = counted(jobs.len(), "Job", "Jobs");
    let says = format!(
        "{count} that ended since the backup would run again, with all that they do outside of the cluster: suspend them before the controllers start"
    );
    let headline = format!("{count} would run again");
    let forecast = Forecast::new(ForecastKind::JobsAgain, Weight::High, says, jobs).with_headline(headline);
    let commands: Vec<String> = forecast.affected.iter().take(MAX_COMMANDS).map(suspend).collect();
    Some(commands.into_iter().fold(forecast, Forecast::with_command))
}

const MAX_COMMANDS: usize = 20;

/// The command that keeps a Job from running, once the API server is back and before the controllers are.
fn suspend(job: &Affected) -> String {
    let word = |text: &str| ketcd_store::shell::quoted(text.as_bytes());
    let (namespace, name) = (word(&job.subject.namespace), word(&job.subject.name));
    format!("kubectl patch job --namespace={namespace} --type=merge -p '{{\"spec\":{{\"suspend\":true}}}}' -- {name}")
}

/// What the backup alone tells.
async fn alone(states: &States<'_>) -> Result<Vec<Forecast>> {
    let jobs = states.backup.objects("/jobs/").await?;
    let open: Vec<Affected> = jobs.iter().filter(|job| is_to_run(job)).map(|job| affected(job, "had not ended in the backup")).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    states.note("which Jobs have ended since the backup: no newer state");
    let count = counted(open.len(), "Job", "Jobs");
    let says = format!("{count} had not ended in the backup: those that have since would run again");
    let forecast = Forecast::new(ForecastKind::JobsAgain, Weight::Medium, says, open).with_headline(format!("{count} may run again"));
    Ok(vec![forecast.with_command("kubectl get jobs -A")])
}

/// Whether the controller makes pods for a Job of the backup.
fn is_to_run(job: &Value) -> bool {
    ended(job).is_none() && job["spec"]["suspend"] != true && !is_deleted(job)
}

/// How a Job has ended; `None` where it has not.
fn ended(job: &Value) -> Option<&'static str> {
    let is = |wanted: &str| items(job, "/status/conditions").any(|condition| condition["type"] == wanted && condition["status"] == "True");
    if is("Complete") { Some("completed") } else { is("Failed").then_some("failed") }
}

/// How many pods have to succeed still. Without `completions` one that succeeds ends the Job.
fn missing(job: &Value) -> i64 {
    let completions = job["spec"]["completions"].as_i64().unwrap_or(1);
    (completions - job["status"]["succeeded"].as_i64().unwrap_or(0)).max(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names, node, object, pod, with};
    use super::*;

    fn job(name: &str, ends: &str) -> Value {
        let conditions = if ends.is_empty() { json!([]) } else { json!([{"type": ends, "status": "True"}]) };
        with(object("Job", "shop", name, name), json!({"spec": {"completions": 1}, "status": {"conditions": conditions}}))
    }

    fn of_job(pod: Value, job: &str) -> Value {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": true});
        with(pod, json!({"metadata": {"ownerReferences": [owner]}}))
    }

    async fn found(made_up: &MadeUp) -> Vec<Forecast> {
        let states = made_up.states().await;
        forecasts(&states).await.unwrap()
    }

    #[tokio::test]
    async fn jobs_that_ended_since_run_again() {
        let suspended = with(job("paused", ""), json!({"spec": {"suspend": true}}));
        let backup = [job("migrate", ""), job("gone", ""), job("done", "Complete"), job("runs", ""), suspended];
        let newest =
            [job("migrate", "Complete"), job("runs", ""), with(job("done", "Complete"), json!({"metadata": {"labels": {"a": "b"}}}))];
        let found = found(&MadeUp::two(&backup, &newest).await).await;
        assert_eq!(names(&found, ForecastKind::JobsAgain), ["gone", "migrate"]);
        assert_eq!((found[0].weight, found[0].headline.as_str()), (Weight::High, "2 Jobs would run again"));
        assert!(found[0].affected[1].says.starts_with("completed since"), "{:?}", found[0].affected);
    }

    #[tokio::test]
    async fn a_pod_that_is_still_there_as_ended_counts_without_a_second_run() {
        let backup = [node("n1", "n"), job("migrate", ""), of_job(pod("migrate-x", "x", "n1", "Running"), "migrate")];
        let ended = of_job(pod("migrate-x", "x", "n1", "Succeeded"), "migrate");
        let newest = [node("n1", "n"), job("migrate", "Complete"), ended.clone()];
        assert_eq!(found(&MadeUp::two(&backup, &newest).await).await, []);
        let without_node = [job("migrate", "Complete"), ended];
        assert_eq!(found(&MadeUp::two(&backup, &without_node).await).await.len(), 1, "no kubelet reports it");
    }

    #[tokio::test]
    async fn a_backup_alone_names_what_may_run_again() {
        let found = found(&MadeUp::alone(&[job("migrate", ""), job("done", "Failed")]).await).await;
        assert_eq!((names(&found, ForecastKind::JobsAgain), found[0].weight), (vec!["migrate".to_owned()], Weight::Medium));
    }
}

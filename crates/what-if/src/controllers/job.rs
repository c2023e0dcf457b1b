//! Jobs: as many pods at once as `parallelism` says, until `completions` have succeeded.
//! Source: `pkg/controller/job/job_controller.go` manageJob, `indexed_job_utils.go` (1.37).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::pod_group;
use super::ranking::{Rules, first_to_go};
use super::replica_set::{active, active_ids, delete, delete_chosen};
use super::template;
use crate::in_memory_state::Due;
use crate::json::{controller, is_condition_true, is_terminating, list, member, number, text};
use crate::model::Id;
use crate::seed::Choices;
use crate::simulated_cluster::SimulatedCluster;

/// The number of a pod of an Indexed Job.
const INDEX_ANNOTATION: &str = "batch.kubernetes.io/job-completion-index";

/// Makes the pods that are missing, or deletes those beyond what is wanted.
pub(super) fn sync(world: &mut SimulatedCluster<'_>, id: &Id, choices: &mut Choices) {
    let Some(job) = world.model.get(id).filter(|job| !is_terminating(job)) else { return };
    if ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"].iter().any(|kind| is_condition_true(&job, kind)) {
        return;
    }
    let group = pod_group::of(world, &job);
    let running = world.model.active_count(text(&job, "/metadata/uid"));
    let wanted = wanted(&job, running);
    let there = if replaces_ended_alone(&job) { world.model.owned_by(text(&job, "/metadata/uid")).len() } else { running };
    let failed = i64::from(world.failures.get(id).map_or(0, |(failures, _)| *failures));
    if failed > number(&job, "/spec/backoffLimit").unwrap_or(6) && job["spec"]["backoffLimitPerIndex"].is_null() {
        // The Job has failed: the pods that are left go (`exceedsBackoffLimit`).
        return active_ids(world, &job).iter().for_each(|pod| delete(world, pod));
    }
    if running > wanted {
        let (now, beyond) = (world.now, running - wanted);
        let chosen = first_to_go(choices.shuffled(active(world, &job)), beyond, Rules::Job, now);
        let counted = world.deleted.len();
        delete_chosen(world, id, chosen);
        // Pods that the Job itself deletes have not failed: their finalizer is taken off before (`deleteJobPods`).
        return world.deleted.truncate(counted);
    }
    if there < wanted && !waits_after_failures(world, id, &job) {
        make(world, (id, &job), group.as_deref(), (there, wanted), choices);
    }
}

/// Makes the pods that are missing: `there` are there of those that are wanted.
fn make(
    world: &mut SimulatedCluster<'_>,
    (id, job): (&Id, &Value),
    group: Option<&Value>,
    (there, wanted): (usize, usize),
    choices: &mut Choices,
) {
    let pods = active(world, job);
    let indexes = pods.iter().filter_map(|(_, pod)| pod["metadata"]["annotations"][INDEX_ANNOTATION].as_str()?.parse::<u64>().ok());
    let mut taken = completed(text(job, "/status/completedIndexes"));
    taken.extend(indexes.map(|index| (index, index)));
    taken.sort_unstable();
    let most = number(job, "/spec/completions").and_then(|completions| u64::try_from(completions).ok()).unwrap_or(0);
    let mut free = free(most, &taken);
    for made in there + 1..=wanted {
        if !world.grant_pod(id) {
            return;
        }
        let name = format!("{}-{}", id.name, world.generated());
        let mut pod = template::pod(world, job, &name);
        if let Some(group) = group {
            join(&mut pod, group);
        }
        if text(job, "/spec/completionMode") == "Indexed" {
            let Some(index) = free.next() else { return };
            member(&mut pod["metadata"], "annotations").insert(INDEX_ANNOTATION.to_owned(), json!(index.to_string()));
            member(&mut pod["metadata"], "labels").insert(INDEX_ANNOTATION.to_owned(), json!(index.to_string()));
        }
        if !template::create(world, job, pod) {
            return;
        }
        if choices.is_seeded() && made < wanted {
            world.dirty.insert(id.clone());
            return;
        }
    }
}

fn join(pod: &mut Value, group: &Value) {
    let name = &group["metadata"]["name"];
    pod["spec"]["schedulingGroup"] = json!({"podGroupName": name});
    let owner = json!({"apiVersion": group["apiVersion"], "kind": "PodGroup", "name": name, "uid": group["metadata"]["uid"]});
    pod["metadata"]["ownerReferences"].as_array_mut().into_iter().for_each(|owners| owners.push(owner.clone()));
}

/// Notes that a pod of a Job failed: it was deleted before it succeeded (`isPodFailed`), unless the Job counts only those that ended.
pub(super) fn note_failure(world: &mut SimulatedCluster<'_>, pod: &Value) {
    let Some(owner) = controller(pod).filter(|owner| owner["kind"] == "Job") else { return };
    let id = Id::new("Job", text(pod, "/metadata/namespace"), text(owner, "/name"));
    let Some(job) = world.model.get(&id).filter(|job| !replaces_ended_alone(job)) else { return };
    if text(pod, "/status/phase") == "Succeeded" {
        return;
    }
    let (failures, _) = failures(world, &id, &job);
    let now = world.now;
    world.failures.insert(id, (failures.saturating_add(1), now));
}

/// Whether a pod is replaced once it has ended, not when it is deleted (`onlyReplaceFailedPods`).
fn replaces_ended_alone(job: &Value) -> bool {
    text(job, "/spec/podReplacementPolicy") == "Failed" || job["spec"]["podFailurePolicy"].is_object()
}

/// How many pods of a Job failed in a row, and when the last did, in milliseconds since 1970. Before the simulation its status says how many failed, and
/// when it was written last.
fn failures(world: &SimulatedCluster<'_>, id: &Id, job: &Value) -> (u32, i64) {
    let recorded = || {
        let failed = number(job, "/status/failed").filter(|_| number(job, "/status/succeeded").unwrap_or(0) == 0)?;
        let written = list(job, "/metadata/managedFields").iter().filter(|entry| entry["subresource"] == "status");
        let time = written.filter_map(|entry| text(entry, "/time").parse::<Timestamp>().ok()).max()?;
        Some((u32::try_from(failed.max(0)).unwrap_or(u32::MAX), time.as_millisecond()))
    };
    world.failures.get(id).copied().or_else(recorded).unwrap_or_default()
}

/// Whether a Job whose pods failed waits before it makes others: ten seconds, twice as long after each failure, ten minutes at most
/// (`backoff_utils.go` getRemainingTime).
fn waits_after_failures(world: &mut SimulatedCluster<'_>, id: &Id, job: &Value) -> bool {
    const FIRST_BACKOFF_MILLIS: i64 = 10_000;
    const MAX_BACKOFF_MILLIS: i64 = 600_000;
    let (failures, last) = failures(world, id, job);
    if failures == 0 {
        return false;
    }
    let pause = (1..failures).take(10).fold(FIRST_BACKOFF_MILLIS, |pause, _| (pause * 2).min(MAX_BACKOFF_MILLIS));
    let left = last + pause - world.now;
    if left > 0 {
        world.later(left, Due::Again(id.clone()));
    }
    left > 0
}

/// How many pods a Job wants, which has so many.
fn wanted(job: &Value, there: usize) -> usize {
    if job["spec"]["suspend"] == true {
        return 0;
    }
    let succeeded = number(job, "/status/succeeded").unwrap_or(0);
    let parallelism = number(job, "/spec/parallelism").unwrap_or(1);
    let wanted = match number(job, "/spec/completions") {
        Some(completions) => parallelism.min(completions - succeeded),
        // Once one has succeeded, those that run go on, and no others are made.
        None if succeeded > 0 => return there,
        None => parallelism,
    };
    usize::try_from(wanted).unwrap_or(0)
}

/// The numbers that have succeeded, written as `0-2,5` (`parseIndexesFromString`): the first and the last of each run.
fn completed(text: &str) -> Vec<(u64, u64)> {
    let run = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
    };
    text.split(',').filter_map(run).filter(|(first, last)| first <= last).collect()
}

/// The numbers below `most` that are in none of the runs, which are in order. A Job may have as many numbers as there are: no number is looked at twice.
fn free(most: u64, taken: &[(u64, u64)]) -> impl Iterator<Item = u64> {
    let mut next = 0_u64;
    let mut gaps = Vec::new();
    for &(first, last) in taken {
        gaps.push(next..first.min(most));
        next = next.max(last.saturating_add(1));
    }
    gaps.push(next..most);
    gaps.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_run_at_once_than_are_left_to_complete() {
        let job = |spec: Value, succeeded: i64| json!({"spec": spec, "status": {"succeeded": succeeded}});
        assert_eq!(wanted(&job(json!({"parallelism": 3, "completions": 10}), 0), 0), 3);
        assert_eq!(wanted(&job(json!({"parallelism": 3, "completions": 10}), 8), 1), 2);
        assert_eq!(wanted(&job(json!({"parallelism": 3}), 0), 1), 3);
        assert_eq!(wanted(&job(json!({"parallelism": 3}), 1), 2), 2);
        assert_eq!(wanted(&job(json!({"parallelism": 3, "suspend": true}), 0), 2), 0);
        assert_eq!(wanted(&job(json!({"parallelism": 3, "completions": i64::MAX}), i64::MIN), 0), 3);
    }

    #[test]
    fn completed_numbers_are_ranges() {
        assert_eq!(completed("0-2,5,x,7-,9-3"), [(0, 2), (5, 5)]);
        assert!(completed("").is_empty());
    }

    #[test]
    fn free_numbers_are_those_that_neither_pods_nor_completed_ones_have() {
        let free = |most: u64, taken: &[(u64, u64)]| free(most, taken).take(3).collect::<Vec<u64>>();
        assert_eq!(free(10, &[(0, 2), (1, 1), (4, 5), (5, 5), (8, u64::MAX)]), [3_u64, 6, 7]);
        assert_eq!(free(1 << 40, &[(0, (1 << 40) - 2)]), [(1_u64 << 40) - 1]);
        assert!(free(5, &[(0, 4), (9, 9)]).is_empty());
    }
}

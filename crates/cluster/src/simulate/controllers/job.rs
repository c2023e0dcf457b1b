//! Jobs: as many pods at once as `parallelism` says, until `completions` have succeeded.
//! Source: `pkg/controller/job/job_controller.go` manageJob, `indexed_job_utils.go` (1.37).

use std::collections::BTreeSet;

use serde_json::json;

use super::replica_set::active;
use super::template;
use crate::simulate::json::{is_condition_true, is_terminating, member, number, text};
use crate::simulate::model::Id;
use crate::simulate::world::World;

/// The number of a pod of an Indexed Job.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Makes the pods that are missing.
pub(super) fn sync(world: &mut World<'_>, id: &Id) {
    let Some(job) = world.model.get(id).filter(|job| !is_terminating(job)) else { return };
    let is_over = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"].iter().any(|kind| is_condition_true(&job, kind));
    if is_over || job["spec"]["suspend"] == true {
        return;
    }
    let succeeded = number(&job, "/status/succeeded").unwrap_or(0);
    let parallelism = number(&job, "/spec/parallelism").unwrap_or(1);
    let wanted = number(&job, "/spec/completions").map_or(parallelism, |completions| parallelism.min(completions - succeeded));
    let pods = active(world, &job);
    // With a policy for failures a pod is replaced once it has ended, else at once (`onlyReplaceFailedPods`).
    let waits = text(&job, "/spec/podReplacementPolicy") == "Failed" || job["spec"]["podFailurePolicy"].is_object();
    let there = if waits { world.model.owned_by(text(&job, "/metadata/uid")).len() } else { pods.len() };
    let mut used: BTreeSet<String> =
        pods.iter().map(|(_, pod)| pod["metadata"]["annotations"][INDEX].as_str().unwrap_or_default().to_owned()).collect();
    for _ in there..usize::try_from(wanted).unwrap_or(0) {
        let name = format!("{}-{}", id.name, world.generated());
        let mut pod = template::pod(world, &job, &name);
        if text(&job, "/spec/completionMode") == "Indexed" {
            let Some(index) = (0..).map(|index: u64| index.to_string()).find(|index| !used.contains(index)) else { return };
            member(&mut pod["metadata"], "annotations").insert(INDEX.to_owned(), json!(index));
            member(&mut pod["metadata"], "labels").insert(INDEX.to_owned(), json!(index));
            used.insert(index);
        }
        if !template::create(world, &job, pod) {
            return;
        }
    }
}

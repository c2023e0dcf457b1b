//! The group of a Job's pods, which the Job controller makes where it has the gate WorkloadWithJob (alpha since 1.36). Which gates that controller has is
//! not in etcd: a Job that has a group keeps it. That a new Job may get one is a caveat, where another Job has one.
//! Source: `pkg/controller/job/job_scheduling_manager.go` ensureWorkloadAndPodGroup, syncGangMinCount; `pkg/api/job/util.go` WorkloadItemForJob (1.37).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::answer::{GroupDoubt, Unmodelled};
use crate::json::{controller, number, text};
use crate::simulated_cluster::SimulatedCluster;

/// The group of a Job's pods, with the number of pods that the Job wants together.
pub(super) fn of(world: &mut SimulatedCluster<'_>, job: &Value) -> Option<Arc<Value>> {
    if job["spec"]["template"]["spec"]["schedulingGroup"].is_object() {
        return None;
    }
    let ids = world.model.ids("PodGroup");
    let is_jobs = |group: &Arc<Value>| controller(group).is_some_and(|owner| text(owner, "/kind") == "Job");
    let groups: Vec<Arc<Value>> = ids.iter().filter_map(|id| world.model.get(id)).filter(is_jobs).collect();
    let uid = text(job, "/metadata/uid");
    let own = groups.iter().find(|group| controller(group).is_some_and(|owner| text(owner, "/uid") == uid));
    if own.is_none() && !groups.is_empty() && job["status"]["startTime"].is_null() {
        let group = format!("{}/{}", text(job, "/metadata/namespace"), text(job, "/metadata/name"));
        world.caveats.insert(Unmodelled::PodGroup { group, doubt: GroupDoubt::OfNewJob });
    }
    own.map(|group| resized(world, job, group))
}

/// The group after the Job's number of pods was changed: a gang of all of them, unless the Job says how many.
fn resized(world: &mut SimulatedCluster<'_>, job: &Value, group: &Arc<Value>) -> Arc<Value> {
    let gang = &job["spec"]["scheduling"]["schedulingPolicy"]["gang"];
    let wanted = number(gang, "/minCount").unwrap_or_else(|| number(job, "/spec/parallelism").unwrap_or(1).max(1));
    let has = number(group, "/spec/schedulingPolicy/gang/minCount").unwrap_or(wanted);
    if !gang.is_object() || has == wanted {
        return group.clone();
    }
    let mut changed = (**group).clone();
    changed["spec"]["schedulingPolicy"]["gang"]["minCount"] = json!(wanted);
    world.write(changed.clone());
    Arc::new(changed)
}
